// What BullMQ 6 calls a queue's backend, as far as tools look at it: the client, facts about the server, and the
// troubles of the connection. One per object, because tools remember things by it.

import type { RedisClient } from '../store/client.ts';
import type { Connection } from '../store/connection.ts';

const eventOfConnection: Record<string, string> = { error: 'error', close: 'down', ready: 'ready' };

export class BackendView {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get client(): Promise<RedisClient> {
    return this.#connection.ready();
  }

  /** The ordinary connection: the one that waits for work is the worker's own. */
  get blockingClient(): Promise<RedisClient> {
    return this.client;
  }

  get redisVersion(): string {
    return this.#connection.facts?.version ?? '';
  }

  get databaseType(): string {
    return this.#connection.facts?.databaseType ?? 'redis';
  }

  /** `error`, `close` or `ready` of the connection; other events never come. */
  on(event: string, listener: (...args: unknown[]) => void): this {
    const name = eventOfConnection[event];
    if (name) this.#connection.on(name, listener);
    return this;
  }
}
