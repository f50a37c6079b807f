// Moves time for tests. Queues and workers made with `clock: 'client'` tell the server what time it is, so shifting
// this process's Date moves delays, backoff and retention. Leases are counted by the server: see expireLeases.

import type { QueueBase } from '../core/queue-base.ts';

export interface TestClock {
  /** Moves time forward by `ms` and wakes workers that sleep until something is due on these queues. */
  advance(ms: number, ...queues: QueueBase[]): Promise<void>;
  /** Gives the real Date back. */
  restore(): void;
}

/** Takes over Date.now until `restore`. Time goes on by itself, too. */
export function createTestClock(): TestClock {
  const realNow = Date.now;
  let shiftMs = 0;
  Date.now = () => realNow() + shiftMs;
  return {
    async advance(ms, ...queues) {
      shiftMs += ms;
      await Promise.all(queues.map((queue) => queue.leases.signal()));
    },
    restore() {
      Date.now = realNow;
    },
  };
}
