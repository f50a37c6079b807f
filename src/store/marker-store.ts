// Blocks on the queue's marker, on a connection of its own. The marker is a hint, never a token of ownership.

import type { Connection } from './connection.ts';

export type Wake =
  /** Something may be runnable now. */
  | { readonly kind: 'work' }
  /** A delayed job is due at this time; whoever popped it must be awake then. */
  | { readonly kind: 'due'; readonly dueAt: number }
  | { readonly kind: 'timeout' };

// A blocking read that outlasts its own timeout by this much has lost its server.
const GRACE_MS = 1000;

export class MarkerStore {
  readonly #connection: Connection;
  readonly #key: string;

  constructor(connection: Connection, root: string) {
    this.#connection = connection;
    this.#key = `${root}:marker`;
  }

  /** Waits for a marker, at most this long. Rejects when the connection breaks. */
  async wait(timeoutMs: number): Promise<Wake> {
    const client = this.#connection.client ?? (await this.#connection.ready());
    // The server counts 0 as for ever, and older ones do not trust less than 2 ms.
    const seconds = Math.max(timeoutMs, 2) / 1000;
    const reply = await withDeadline(client.call('BZPOPMIN', [this.#key, seconds]), timeoutMs + GRACE_MS, () => this.#connection.drop());
    if (!Array.isArray(reply)) return { kind: 'timeout' };
    const [, member, score] = reply as [string, string, string];
    return member === '1' ? { kind: 'due', dueAt: Math.trunc(Number(score)) } : { kind: 'work' };
  }
}

// The client library would send a blocking read again after a reconnect and could hang for good, so a read that
// is overdue is given up here and its link dropped.
function withDeadline(reply: Promise<unknown>, ms: number, onSilence: () => void): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      onSilence();
      resolve(null);
    }, ms);
    reply.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
