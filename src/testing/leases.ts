// Lets every lease of a queue run out now: what a test cannot reach by moving a clock, because the server counts.

import type { Queue } from '../queue/queue.ts';

/** The ids whose lease was ended. The next two rounds of the stall check recover them. */
export async function expireLeases(queue: Queue): Promise<string[]> {
  const ids = await queue.getRanges(['active'], 0, -1);
  const expired: string[] = [];
  for (const id of ids) {
    if (Number(await queue.session.command('DEL', [queue.toKey(`${id}:lock`)])) === 1) expired.push(id);
  }
  // The next look for stalled jobs need not wait for the interval of the last one.
  await queue.session.command('DEL', [queue.toKey('stalled-check')]);
  return expired;
}
