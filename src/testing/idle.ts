// Waits until a queue has nothing left to do.

import type { Queue } from '../queue/queue.ts';

export interface IdleOptions {
  /** Reject after this many ms. Default 10,000. */
  timeoutMs?: number;
  /** Delayed jobs count as work too. Default true. */
  withDelayed?: boolean;
}

/** Resolves when nothing waits or runs; rejects with the counts when that takes too long. */
export async function whenIdle(
  queue: Queue,
  { timeoutMs = 10_000, withDelayed = true }: IdleOptions = {},
): Promise<void> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const counts = await queue.getJobCounts('waiting', 'active', 'prioritized', 'delayed');
    const left =
      (counts.waiting ?? 0) +
      (counts.active ?? 0) +
      (counts.prioritized ?? 0) +
      (withDelayed ? (counts.delayed ?? 0) : 0);
    if (left === 0) return;
    if (performance.now() > end)
      throw new Error(`Queue "${queue.name}" is not idle after ${timeoutMs} ms: ${JSON.stringify(counts)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
