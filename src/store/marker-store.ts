// Blocks on the queue's marker, on a connection of its own. The marker is a hint, never a token of ownership.

import { blockingRead } from './blocking-read.ts';
import type { Connection } from './connection.ts';

export type Wake =
  /** Something may be runnable now. */
  | { readonly kind: 'work' }
  /** A delayed job is due at this time; whoever popped it must be awake then. */
  | { readonly kind: 'due'; readonly dueAt: number }
  | { readonly kind: 'timeout' };

export class MarkerStore {
  readonly #connection: Connection;
  readonly #key: string;

  constructor(connection: Connection, root: string) {
    this.#connection = connection;
    this.#key = `${root}:marker`;
  }

  /**
   * Waits for a marker, at most this long. A link that broke counts as a timeout once it is back. `yields`: whether an
   * answer is due that matters more than a marker.
   */
  async wait(timeoutMs: number, yields?: () => boolean): Promise<Wake> {
    // The server counts 0 as for ever, and older ones do not trust less than 2 ms.
    const seconds = Math.max(timeoutMs, 2) / 1000;
    const args = [this.#key, seconds];
    const reply = await blockingRead(this.#connection, 'bzpopmin', args, timeoutMs, yields);
    if (!Array.isArray(reply)) return { kind: 'timeout' };
    const [, member, score] = reply as [string, string, string];
    return member === '1' ? { kind: 'due', dueAt: Math.trunc(Number(score)) } : { kind: 'work' };
  }
}
