// Opens, watches and closes one connection, and knows who owns it. A user's own instance is used as it is and
// never closed; what we open ourselves reconnects within a second and can be dropped when a call hangs.

import { EventEmitter } from 'node:events';
import { Redis, type RedisOptions } from 'ioredis';
import { ConnectionClosedError, yokeError } from '../model/errors.ts';
import { developmentServer } from '../server/development-server.ts';
import { isClient, isCluster, keyPrefixOf, type RedisClient } from './client.ts';
import { checkServer, type ServerFacts } from './server-check.ts';
import { translateServerError } from './server-errors.ts';

/** An ioredis instance or Cluster, ioredis options, a URL, or nothing for the development server. */
export type ConnectionInput = RedisClient | RedisOptions | { url: string } | string | undefined;

export interface ConnectionSettings {
  /** Blocks on reads: never shared with other calls. */
  readonly isBlocking: boolean;
  readonly skipVersionCheck: boolean;
  readonly isStrict: boolean;
  readonly clientName?: string;
  /** Told of what is wrong with the server but not fatal. */
  readonly warn: (message: string) => void;
}

// An outage ends when the server is back, not when a long pause between two tries is over.
const MAX_RETRY_DELAY_MS = 1000;

function retryDelayMs(tries: number): number {
  return Math.min(20 * 2 ** Math.min(tries, 10), MAX_RETRY_DELAY_MS);
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
  readonly #listeners: [string, (...args: never[]) => void][] = [];

  constructor(input: ConnectionInput, settings: ConnectionSettings) {
    super();
    this.setMaxListeners(0);
    this.#input = input;
    this.#settings = settings;
    this.isOwned = !isClient(input) || settings.isBlocking;
    if (isClient(input)) {
      if (keyPrefixOf(input)) throw yokeError('KEY_PREFIX_REFUSED', {});
      if (settings.isBlocking && input.options?.maxRetriesPerRequest) throw yokeError('MAX_RETRIES_PER_REQUEST', {});
    } else if (typeof input === 'object' && (input as RedisOptions).keyPrefix) {
      throw yokeError('KEY_PREFIX_REFUSED', {});
    }
  }

  /** The client once it is ready; opens on first use. */
  async ready(): Promise<RedisClient> {
    this.#opening ??= this.#open();
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

  /** Cuts a link that hangs. ioredis reconnects and sends unanswered calls again. A user's instance is left alone. */
  drop(): void {
    if (this.isOwned) (this.#client?.stream as { destroy?: () => void } | undefined)?.destroy?.();
  }

  async close(force = false): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.emit('closed');
    const client = this.#client;
    if (client) {
      for (const [event, listener] of this.#listeners) client.off(event, listener);
      if (this.isOwned) {
        client.on('error', () => {});
        if (force || client.status !== 'ready') client.disconnect();
        else await Promise.race([client.quit().catch(() => client.disconnect()), sleepThen(1000, () => client.disconnect())]);
      }
    }
    await this.#release?.();
    this.removeAllListeners('ready');
  }

  async #open(): Promise<RedisClient> {
    const client = await this.#create();
    if (this.#isClosed) {
      if (this.isOwned) client.disconnect();
      throw new ConnectionClosedError();
    }
    this.#client = client;
    this.#watch(client);
    await this.#untilReady(client);
    this.#facts = await checkServer(client, {
      isSkipped: this.#settings.skipVersionCheck,
      isStrict: this.#settings.isStrict,
      warn: this.#settings.warn,
    });
    return client;
  }

  async #create(): Promise<RedisClient> {
    const own: RedisOptions = {
      maxRetriesPerRequest: null,
      retryStrategy: retryDelayMs,
      connectionName: this.#settings.clientName,
    };
    const input = this.#input ?? process.env.REDIS_URL;
    if (isClient(input)) {
      if (!this.#settings.isBlocking) return input;
      if (isCluster(input)) return input.duplicate(undefined, { redisOptions: own });
      return input.duplicate({ maxRetriesPerRequest: null, connectionName: this.#settings.clientName });
    }
    if (input === undefined) return this.#developmentClient(own);
    if (typeof input === 'string') return new Redis(input, own) as unknown as RedisClient;
    const options = this.#settings.isBlocking ? { ...own, ...input, maxRetriesPerRequest: null } : { ...own, ...input };
    if (this.#settings.clientName) options.connectionName = this.#settings.clientName;
    const url = (input as { url?: string }).url;
    return (url ? new Redis(url, options) : new Redis(options)) as unknown as RedisClient;
  }

  async #developmentClient(own: RedisOptions): Promise<RedisClient> {
    const server = await developmentServer();
    let release = server.release;
    this.#release = () => release();
    const client = new Redis({ ...own, ...server.connection });
    // Another process may have owned the server and ended: whoever notices first takes over.
    client.on('close', () => {
      if (this.#isClosed) return;
      developmentServer().then(
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
    listen('close', () => this.emit('down'));
    listen('ready', () => {
      this.#readyAt = performance.now();
      this.emit('ready');
    });
  }

  async #untilReady(client: RedisClient): Promise<void> {
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
