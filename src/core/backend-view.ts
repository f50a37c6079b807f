// What BullMQ 6 calls a queue's backend, as far as tools look at it: the client, facts about the server, and the
// troubles of the connection. One per object, because tools remember things by it.

import type { RedisClient } from '../store/client.ts';
import type { Connection } from '../store/connection.ts';

const eventOfConnection: Record<string, string> = { error: 'error', close: 'down', ready: 'ready' };

export class BackendView {
  readonly #connection: Connection;
  readonly #blocking: Connection;

  constructor(connection: Connection, blocking: Connection = connection) {
    this.#connection = connection;
    this.#blocking = blocking;
  }

  get client(): Promise<RedisClient> {
    return this.#connection.ready();
  }

  /** The one that waits for work; the ordinary one where nothing waits. */
  get blockingClient(): Promise<RedisClient> {
    return this.#blocking.ready();
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
