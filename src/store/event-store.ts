// Reads the queue's event stream.

import { blockingRead } from './blocking-read.ts';
import type { Connection } from './connection.ts';

export interface StreamEvent {
  /** Stream entry id. */
  readonly id: string;
  readonly name: string;
  readonly fields: Record<string, string>;
}

// A question that does not block; past this the link is dropped and it is asked again.
const ANSWER_MS = 5000;

export class EventStore {
  readonly #connection: Connection;
  readonly #key: string;

  constructor(connection: Connection, root: string) {
    this.#connection = connection;
    this.#key = `${root}:events`;
  }

  /** Events after `lastId`, waiting up to `blockMs` for the first; none after that time. */
  async read(lastId: string, blockMs: number): Promise<StreamEvent[]> {
    return decode(
      await blockingRead(
        this.#connection,
        'XREAD',
        ['BLOCK', blockMs, 'STREAMS', this.#key, lastId],
        blockMs,
      ),
    );
  }

  /** The newest entry's id, so that reading can start after it and miss nothing; `0-0` for an empty stream. */
  async newestId(): Promise<string> {
    for (;;) {
      const rows = await blockingRead(
        this.#connection,
        'XREVRANGE',
        [this.#key, '+', '-', 'COUNT', 1],
        ANSWER_MS,
      );
      if (Array.isArray(rows)) return (rows as [string, unknown][])[0]?.[0] ?? '0-0';
    }
  }
}

function decode(reply: unknown): StreamEvent[] {
  return entriesOf(reply).map(([id, flat]) => {
    const fields: Record<string, string> = {};
    for (let i = 0; i < flat.length; i += 2) fields[flat[i]!] = flat[i + 1]!;
    const { event: name = '', ...rest } = fields;
    return { id, name, fields: rest };
  });
}

// Of the one stream that was asked for. RESP2 answers with a list of pairs, RESP3 with a map, which a cluster's
// client hands on as a flat list.
function entriesOf(reply: unknown): [string, string[]][] {
  if (!Array.isArray(reply))
    return (Object.values((reply as object | null) ?? {})[0] ?? []) as [string, string[]][];
  const [first, second] = reply;
  if (first === undefined) return [];
  return (Array.isArray(first) ? first[1] : second) as [string, string[]][];
}
