// Reads and writes the queue's event stream.

import type { Connection } from './connection.ts';

export interface StreamEvent {
  /** Stream entry id. */
  readonly id: string;
  readonly name: string;
  readonly fields: Record<string, string>;
}

// A blocking read that outlasts its own timeout by this much has lost its server.
const GRACE_MS = 1000;

export class EventStore {
  readonly #connection: Connection;
  readonly #key: string;

  constructor(connection: Connection, root: string) {
    this.#connection = connection;
    this.#key = `${root}:events`;
  }

  /** Events after `lastId`, waiting up to `blockMs` for the first; none after that time. */
  async read(lastId: string, blockMs: number): Promise<StreamEvent[]> {
    const client = this.#connection.client ?? (await this.#connection.ready());
    const timer = setTimeout(() => this.#connection.drop(), blockMs + GRACE_MS);
    try {
      return decode(await client.call('XREAD', ['BLOCK', blockMs, 'STREAMS', this.#key, lastId]));
    } finally {
      clearTimeout(timer);
    }
  }

  /** The newest entry's id, so that reading can start after it and miss nothing; `0-0` for an empty stream. */
  async newestId(): Promise<string> {
    const client = await this.#connection.ready();
    const rows = (await client.call('XREVRANGE', [this.#key, '+', '-', 'COUNT', 1])) as [string, unknown][];
    return rows[0]?.[0] ?? '0-0';
  }

  async publish(fields: readonly string[], maxEvents: number): Promise<void> {
    const client = this.#connection.client ?? (await this.#connection.ready());
    await client.call('XADD', [this.#key, 'MAXLEN', '~', maxEvents, '*', ...fields]);
  }
}

function decode(reply: unknown): StreamEvent[] {
  // RESP3 answers with a map, RESP2 with a list of pairs.
  const streams = Array.isArray(reply) ? (reply as [string, unknown][]) : Object.entries((reply as object) ?? {});
  const [stream] = streams;
  if (!stream) return [];
  return (stream[1] as [string, string[]][]).map(([id, flat]) => {
    const fields: Record<string, string> = {};
    for (let i = 0; i < flat.length; i += 2) fields[flat[i]!] = flat[i + 1]!;
    const { event: name = '', ...rest } = fields;
    return { id, name, fields: rest };
  });
}
