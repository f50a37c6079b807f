// redis-server or valkey-server as a private child process. It listens on a unix socket or on loopback, in a
// process group of its own so that Ctrl-C reaches the application first, and it never keeps this process alive.

import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, closeSync, constants, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { askServer, pingServer } from './ask-server.ts';
import { endServerWithOwner } from './owner-watch.ts';
import { blockUntil, isProcessAlive } from './process-exit.ts';
import { describeAddress, freePort, type ServerAddress } from './server-address.ts';
import { ServerError } from './server-error.ts';
import type { ServerInstance, ServerStart } from './server-instance.ts';

export interface NativeServerStart extends ServerStart {
  /** Set where others may adopt the server after this process died; otherwise it dies at once. */
  lock?: { file: string; token: string };
}

// Starting takes some 20 ms; a slow disk or a busy machine may need a hundred times that. A server that says
// it is loading its data is given all the time it needs.
const startTimeoutMs = 15_000;

// A server that ignores SIGTERM this long is stuck in a script.
const stopTimeoutMs = 5_000;

const pollMs = 10;

/**
 * The server program to use: `YOKE_SERVER_BINARY`, or else `redis-server` or `valkey-server` on the PATH.
 * Throws if `YOKE_SERVER_BINARY` names something that cannot be run.
 */
export function nativeServerBinary(): string | undefined {
  const named = process.env.YOKE_SERVER_BINARY;
  if (named) {
    if (isExecutable(named)) return resolve(named);
    throw new ServerError(
      'SERVER_NOT_FOUND',
      `YOKE_SERVER_BINARY names ${named}, which is not an executable file`,
    );
  }
  const dirs = (process.env.PATH ?? '').split(delimiter).filter((dir) => dir !== '');
  const suffix = process.platform === 'win32' ? '.exe' : '';
  for (const name of ['redis-server', 'valkey-server']) {
    for (const dir of dirs) {
      const candidate = resolve(dir, name + suffix);
      if (isExecutable(candidate)) return candidate;
    }
  }
  return undefined;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Starts the server and resolves once it answers and has loaded its data. */
export async function startNativeServer(start: NativeServerStart): Promise<ServerInstance> {
  const binary = nativeServerBinary();
  if (binary === undefined) {
    throw new ServerError('SERVER_NOT_FOUND', 'neither redis-server nor valkey-server is on the PATH');
  }
  if ('path' in start.address || start.address.port !== 0) return launch(binary, start, start.address);

  // Between our finding a port and the server's binding it, somebody else may take it.
  for (let attempt = 1; ; attempt++) {
    const address = { host: start.address.host, port: await freePort() };
    try {
      return await launch(binary, start, address);
    } catch (error) {
      if (attempt === 5 || !/address already in use/i.test(String(error))) throw error;
    }
  }
}

async function launch(
  binary: string,
  start: NativeServerStart,
  address: ServerAddress,
): Promise<ServerInstance> {
  // A file rather than a pipe: it catches complaints about the configuration too, costs this process no
  // handle, and still works after its owner is gone.
  const logFile = join(start.dir, 'server.log');
  const log = openSync(logFile, 'w', 0o600);
  const child = spawn(binary, configuration(start, address), {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: start.dir,
  });
  closeSync(log);

  let startFailure: Error | undefined;
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', (error) => {
      startFailure = error;
      resolve();
    });
  });
  const pid = child.pid;
  if (pid === undefined) {
    await exited;
    throw new ServerError('SERVER_START_FAILED', `${binary} could not be run`, { cause: startFailure });
  }
  const dismissWatch = endServerWithOwner(pid, start.lock);
  exited.then(dismissWatch);

  try {
    await untilReady(child, address);
  } catch (error) {
    child.kill('SIGKILL');
    await exited;
    const output = readFileSync(logFile, 'utf8').trim().split('\n').slice(-20).join('\n');
    throw new ServerError(
      'SERVER_START_FAILED',
      `${binary} did not start at ${describeAddress(address)}: ${(error as Error).message}\n${output}`,
      { cause: error },
    );
  }
  child.unref();

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (hasExited(child)) return;
    // Referenced again, or a program that only waits for this would exit in the middle of it.
    child.ref();
    child.kill(signal);
    const overdue = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
    await exited;
    clearTimeout(overdue);
  }

  return {
    kind: 'native',
    address,
    pid,
    // Without persistence there is nothing to flush.
    stop: () => end(start.persistence ? 'SIGTERM' : 'SIGKILL'),
    kill: () => end('SIGKILL'),
    stopNow() {
      if (hasExited(child)) return;
      child.kill(start.persistence ? 'SIGTERM' : 'SIGKILL');
      dismissWatch();
      if (start.persistence) awaitSocketRemoval(address);
    },
  };
}

function configuration(start: NativeServerStart, address: ServerAddress): string[] {
  const listen =
    'path' in address
      ? ['--port', '0', '--unixsocket', address.path, '--unixsocketperm', '700']
      : ['--port', `${address.port}`, '--bind', address.host];
  return [
    ...listen,
    ...['--dir', start.dir],
    ...['--save', ''],
    ...['--appendonly', start.persistence ? 'yes' : 'no'],
    ...['--appendfsync', 'everysec'],
    ...['--maxmemory-policy', 'noeviction'],
    ...['--loglevel', 'warning'],
    ...['--daemonize', 'no'],
    ...start.args,
  ];
}

async function untilReady(child: ChildProcess, address: ServerAddress): Promise<void> {
  let deadline = Date.now() + startTimeoutMs;
  for (;;) {
    if (hasExited(child)) {
      throw new Error(`it exited with ${child.signalCode ?? `code ${child.exitCode}`}`);
    }
    const liveness = await pingServer(address);
    if (liveness === 'ready') {
      // An older server may answer at the same port while ours fails to bind it. One that wants a password
      // does not say who it is, and is believed.
      const pid = await serverProcessId(address);
      if (pid === undefined || pid === child.pid) return;
    }
    if (liveness === 'loading') deadline = Date.now() + startTimeoutMs;
    if (Date.now() > deadline) throw new Error(`it did not answer within ${startTimeoutMs} ms`);
    await delay(pollMs);
  }
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function serverProcessId(address: ServerAddress): Promise<number | undefined> {
  const [info] = await askServer(address, [['INFO', 'server']]).catch(() => []);
  if (info instanceof Error) return undefined;
  const found = /^process_id:(\d+)/m.exec(String(info));
  return found ? Number(found[1]) : undefined;
}

/**
 * The process id of the server at `address`, provided that it keeps its data in `dir` and runs where we can
 * signal it (not in another container that shares the directory). That, and not a number in a file, is the
 * proof that it is ours to stop.
 */
export async function identifyNativeServer(address: ServerAddress, dir: string): Promise<number | undefined> {
  const [setting] = await askServer(address, [['CONFIG', 'GET', 'dir']]).catch(() => []);
  if (!Array.isArray(setting) || setting[1] !== dir) return undefined;
  const pid = await serverProcessId(address);
  return pid !== undefined && isProcessAlive(pid) ? pid : undefined;
}

/** Takes charge of a server process that `identifyNativeServer` found, after its owner died. */
export function adoptNativeServer(
  address: ServerAddress,
  pid: number,
  lock: { file: string; token: string },
): ServerInstance {
  const dismissWatch = endServerWithOwner(pid, lock);

  async function end(signal: NodeJS.Signals): Promise<void> {
    const deadline = Date.now() + stopTimeoutMs;
    let sent: NodeJS.Signals | undefined;
    // It is nobody's child here, so its end shows only at its address.
    while ((await pingServer(address)) !== 'absent') {
      const wanted = Date.now() > deadline ? 'SIGKILL' : signal;
      if (sent !== wanted && (await serverProcessId(address)) === pid) {
        signalIfAlive(pid, wanted);
        sent = wanted;
      }
      if (!isProcessAlive(pid)) break;
      await delay(pollMs);
    }
    dismissWatch();
  }

  return {
    kind: 'native',
    address,
    pid,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    stopNow() {
      signalIfAlive(pid, 'SIGTERM');
      dismissWatch();
      awaitSocketRemoval(address);
    },
  };
}

function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It went first.
  }
}

// The server removes its socket after its last flush, so a successor that starts now finds all data. Watching
// the process id instead would not do: an exited child keeps its id until we could reap it.
function awaitSocketRemoval(address: ServerAddress): void {
  if ('path' in address) blockUntil(() => !existsSync(address.path), stopTimeoutMs);
}
