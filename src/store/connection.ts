// Opens, watches and closes one connection, and knows who owns it. A user's own instance is used as it is and
// never closed; what we open ourselves reconnects within a second and can be dropped when a call hangs.

import { EventEmitter } from 'node:events';
import { type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { ConnectionClosedError, yokeError } from '../model/errors.ts';
import { type DevelopmentServer, developmentServer } from '../server/development-server.ts';
import { isClient, isCluster, keyPrefixOf, type RedisClient } from './client.ts';
import { checkServer, type ServerFacts } from './server-check.ts';
import { translateServerError } from './server-errors.ts';

export type { ClusterOptions, RedisOptions };

/** An ioredis instance or Cluster, ioredis options, a URL, or nothing for the development server. */
export type ConnectionInput = RedisClient | RedisOptions | { url: string } | string | undefined;

export interface ConnectionSettings {
  /** Blocks on reads: never shared with other calls. */
  readonly isBlocking: boolean;
  readonly skipVersionCheck: boolean;
  readonly isStrict: boolean;
  readonly clientName?: string;
  /** Waits for a lost server whatever the user's options say: a worker's jobs cannot be told to come back later. */
  readonly isPatient?: boolean;
  /** Milliseconds a connection may take from its first packet to ready, and then to say what it is. Default: no limit. */
  readonly greetingTimeoutMs?: number;
  /** Told of what is wrong with the server but not fatal. */
  readonly warn: (message: string) => void;
}

// An outage ends when the server is back, not when a long pause between two tries is over.
const MAX_RETRY_DELAY_MS = 1000;
// A server that loads its data is asked this often whether it is done, whatever time it estimates.
const LOADING_RETRY_MS = 500;

// As ioredis says it itself where it does not send again.
const LINK_LOST_TEXT = 'Connection is closed.';

function retryDelayMs(tries: number): number {
  return Math.min(20 * 2 ** Math.min(tries, 10), MAX_RETRY_DELAY_MS);
}

function urlOfEnvironment(): string | undefined {
  return process.env.REDIS_URL || undefined;
}

/** In production nothing is assumed: no server was named, and none is started. */
export function lacksServer(input: ConnectionInput): boolean {
  return input === undefined && urlOfEnvironment() === undefined && process.env.NODE_ENV === 'production';
}

async function startedServer(): Promise<DevelopmentServer> {
  try {
    return await developmentServer();
  } catch (error) {
    throw yokeError('NO_SERVER', { reason: (error as Error).message }, { cause: error });
  }
}

export class Connection extends EventEmitter {
  readonly isOwned: boolean;
  readonly #settings: ConnectionSettings;
  readonly #input: ConnectionInput;
  #client: RedisClient | undefined;
  #facts: ServerFacts | undefined;
  #opening: Promise<RedisClient> | undefined;
  #release: (() => Promise<void>) | undefined;
  #isClosed = false;
  #readyAt = 0;
  #greeting: NodeJS.Timeout | undefined;
  readonly #listeners: [string, (...args: never[]) => void][] = [];

  constructor(input: ConnectionInput, settings: ConnectionSettings) {
    super();
    this.setMaxListeners(0);
    this.#input = input;
    this.#settings = settings;
    this.isOwned = !isClient(input) || settings.isBlocking;
    if (isClient(input)) {
      if (keyPrefixOf(input)) throw yokeError('KEY_PREFIX_REFUSED', {});
      if (settings.isBlocking && input.options?.maxRetriesPerRequest)
        throw yokeError('MAX_RETRIES_PER_REQUEST', {});
    } else if (typeof input === 'object' && (input as RedisOptions).keyPrefix) {
      throw yokeError('KEY_PREFIX_REFUSED', {});
    }
  }

  /** The client once it is ready; opens on first use. */
  async ready(): Promise<RedisClient> {
    // What failed once (a wrong password, a check cut off by an outage) may succeed the next time.
    this.#opening ??= this.#open().catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  /** The client without waiting, for the hot path; undefined until `ready` has resolved once. */
  get client(): RedisClient | undefined {
    return this.#facts ? this.#client : undefined;
  }

  get facts(): ServerFacts | undefined {
    return this.#facts;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isUp(): boolean {
    return this.#client?.status === 'ready';
  }

  /** When the link last became ready, on the monotonic clock. */
  get readyAt(): number {
    return this.#readyAt;
  }

  /** The user wants errors at once rather than a wait for the server to come back. */
  get isFailFast(): boolean {
    if (this.#settings.isPatient) return false;
    const options = this.#client?.options;
    return options?.enableOfflineQueue === false || typeof options?.maxRetriesPerRequest === 'number';
  }

  /** Resolves when the link is up, or after `timeoutMs`, or when it is closed. */
  async whenUp(timeoutMs: number): Promise<void> {
    if (this.isUp || this.#isClosed) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.off('ready', done);
        this.off('closed', done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      this.once('ready', done);
      this.once('closed', done);
    });
  }

  /** What the work comes to, or undefined once the link has been down for `ms` on end. */
  async unlessDownFor<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
    let timer: NodeJS.Timeout | undefined;
    let arm = () => {};
    const disarm = () => {
      clearTimeout(timer);
      timer = undefined;
    };
    const lost = new Promise<undefined>((resolve) => {
      arm = () => {
        timer ??= setTimeout(() => resolve(undefined), ms);
      };
    });
    this.on('down', arm);
    this.on('ready', disarm);
    if (!this.isUp) arm();
    try {
      return await Promise.race([work, lost]);
    } finally {
      disarm();
      this.off('down', arm);
      this.off('ready', disarm);
    }
  }

  /** Cuts a link that hangs; calls on it are rejected and ioredis reconnects. A user's instance is left alone. */
  drop(): void {
    if (!this.isOwned || !this.#client) return;
    for (const node of this.#client.nodes?.() ?? [this.#client]) node.stream?.destroy();
  }

  async close(force = false): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#greeting);
    this.emit('closed');
    const client = this.#client;
    if (client) {
      for (const [event, listener] of this.#listeners) client.off(event, listener);
      if (this.isOwned) {
        client.on('error', () => {});
        if (force || client.status !== 'ready') client.disconnect();
        else
          await Promise.race([
            client.quit().catch(() => client.disconnect()),
            sleepThen(1000, () => client.disconnect()),
          ]);
      }
    }
    await this.#release?.();
    this.removeAllListeners('ready');
  }

  async #open(): Promise<RedisClient> {
    const client = this.#client ?? (await this.#create());
    if (this.#isClosed) {
      if (this.isOwned) client.disconnect();
      throw new ConnectionClosedError();
    }
    if (!this.#client) {
      this.#client = client;
      this.#watch(client);
    }
    for (;;) {
      await this.#untilReady(client);
      const facts = await this.#unlessDown(() =>
        checkServer(client, {
          isSkipped: this.#settings.skipVersionCheck,
          isStrict: this.#settings.isStrict,
          warn: this.#settings.warn,
        }),
      );
      if (!facts) continue;
      this.#facts = facts;
      return client;
    }
  }

  // Undefined if the link breaks first: a connection that sends nothing again would leave the question open for ever, and
  // so would a link that swallows it.
  async #unlessDown<T>(ask: () => Promise<T>): Promise<T | undefined> {
    let onDown = () => {};
    const down = new Promise<undefined>((resolve) => {
      onDown = () => resolve(undefined);
      this.once('down', onDown);
      this.once('closed', onDown);
    });
    const deadline = this.#dropLater();
    try {
      return await Promise.race([ask(), down]);
    } finally {
      clearTimeout(deadline);
      this.off('down', onDown);
      this.off('closed', onDown);
    }
  }

  async #create(): Promise<RedisClient> {
    const own: RedisOptions = {
      maxRetriesPerRequest: null,
      retryStrategy: retryDelayMs,
      maxLoadingRetryTime: LOADING_RETRY_MS,
      connectionName: this.#settings.clientName,
    };
    // Nobody waits any more for a blocking read that was cut off or could not be sent.
    const reading: RedisOptions = this.#settings.isBlocking
      ? { autoResendUnfulfilledCommands: false, enableOfflineQueue: false }
      : {};
    const input = this.#input ?? urlOfEnvironment();
    if (isClient(input)) {
      if (!this.#settings.isBlocking) return input;
      if (isCluster(input)) return input.duplicate(undefined, { redisOptions: own });
      return input.duplicate({
        maxRetriesPerRequest: null,
        connectionName: this.#settings.clientName,
        ...reading,
      });
    }
    if (input === undefined) return this.#developmentClient({ ...own, ...reading });
    if (typeof input === 'string') return new Redis(input, { ...own, ...reading }) as unknown as RedisClient;
    const options = { ...own, ...input, ...reading };
    if (this.#settings.isPatient) options.maxRetriesPerRequest = null;
    if (this.#settings.clientName) options.connectionName = this.#settings.clientName;
    const url = (input as { url?: string }).url;
    return (url ? new Redis(url, options) : new Redis(options)) as unknown as RedisClient;
  }

  async #developmentClient(own: RedisOptions): Promise<RedisClient> {
    const server = await startedServer();
    let release = server.release;
    this.#release = () => release();
    const client = new Redis({ ...own, ...server.connection });
    // Another process may have owned the server and ended: whoever notices first takes over.
    client.on('close', () => {
      if (this.#isClosed) return;
      startedServer().then(
        (taken) => {
          const previous = release;
          release = taken.release;
          void previous();
        },
        (error) => this.emit('error', error),
      );
    });
    return client as unknown as RedisClient;
  }

  #watch(client: RedisClient): void {
    const listen = (event: string, listener: (...args: never[]) => void) => {
      client.on(event, listener);
      this.#listeners.push([event, listener]);
    };
    listen('error', (error: Error) => this.emit('error', translateServerError(error, 'connect')));
    listen('close', () => {
      clearTimeout(this.#greeting);
      // What is unanswered is rejected now rather than sent again by the client library: only its caller knows
      // whether it is still wanted then.
      if (this.isOwned && !this.isFailFast)
        client.flushQueue?.(new Error(LINK_LOST_TEXT), { offlineQueue: false });
      this.emit('down');
    });
    listen('ready', () => {
      clearTimeout(this.#greeting);
      this.#readyAt = performance.now();
      this.emit('ready');
    });
    listen('connecting', () => this.#expectGreeting());
    if (!this.isUp) this.#expectGreeting();
  }

  // The client library has a deadline for the connection, but none for the server's first words: behind a link that
  // swallows everything it would wait for ever.
  #expectGreeting(): void {
    clearTimeout(this.#greeting);
    this.#greeting = this.#dropLater();
  }

  #dropLater(): NodeJS.Timeout | undefined {
    const ms = this.#settings.greetingTimeoutMs;
    return this.isOwned && ms !== undefined ? setTimeout(() => this.drop(), ms).unref() : undefined;
  }

  async #untilReady(client: RedisClient): Promise<void> {
    if (this.#isClosed) throw new ConnectionClosedError();
    if (client.status === 'ready') {
      this.#readyAt = performance.now();
      return;
    }
    if (client.status === 'wait') client.connect().catch(() => {});
    await new Promise<void>((resolve, reject) => {
      const stop = () => {
        client.off('ready', onReady);
        client.off('end', onEnd);
        client.off('error', onError as never);
        this.off('closed', onEnd);
      };
      const onReady = () => {
        stop();
        resolve();
      };
      const onEnd = () => {
        stop();
        reject(new ConnectionClosedError());
      };
      // Waiting on helps against an outage, not against a wrong password.
      const onError = (error: Error) => {
        if (!/^(NOAUTH|WRONGPASS|NOPERM)/.test(error.message)) return;
        stop();
        reject(translateServerError(error, 'connect'));
      };
      client.once('ready', onReady);
      client.once('end', onEnd);
      client.on('error', onError as never);
      this.once('closed', onEnd);
    });
  }
}

function sleepThen(ms: number, action: () => void): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => {
      action();
      resolve();
    }, ms).unref();
  });
}
