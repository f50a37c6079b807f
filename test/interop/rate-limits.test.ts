// A rate limit holds for all workers of a queue together, whichever library set it. What is checked is the time that
// the server itself wrote beside each start.

import { describe, expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { eventually } from '../support/eventually.ts';
import { type Any, type Library, useLibraries } from './libraries.ts';

const bundle = useBundle();
const { yoke, six, five } = useLibraries(bundle);

const MAX = 3;
const WINDOW_MS = 250;

/** When jobs were started, by the clock of the server. */
async function startTimes(name: string): Promise<number[]> {
  const entries = await bundle.server.admin.xrange(`bull:${name}:events`, '-', '+');
  return entries.filter(([, fields]) => fields[1] === 'active').map(([id]) => Number(id.split('-')[0]));
}

/** How many starts fell into each window; a window opens with the first start after the last one has closed. */
function perWindow(times: number[]): number[] {
  const counts: number[] = [];
  let openedAt = Number.NEGATIVE_INFINITY;
  for (const time of times) {
    // The server rounds both times to milliseconds on its own.
    if (time >= openedAt + WINDOW_MS - 2) {
      openedAt = time;
      counts.push(0);
    }
    counts[counts.length - 1]!++;
  }
  return counts;
}

async function runAll(name: string, count: number, workers: Library[], opts: object): Promise<string[]> {
  const queue = yoke.queue(name);
  await queue.addBulk(Array.from({ length: count }, () => ({ name: 'job', data: {} })));
  const by: string[] = [];
  for (const library of workers)
    library.worker(name, async () => void by.push(library.name), { concurrency: 10, ...opts });
  await eventually(async () => expect(await queue.getCompletedCount()).toBe(count));
  return by;
}

describe('a limiter of the workers', () => {
  it.each([
    { workers: [yoke], title: 'yoke alone' },
    { workers: [yoke, six], title: 'yoke and bullmq 6' },
    { workers: [yoke, five], title: 'yoke and bullmq 5' },
  ])('holds for $title', async ({ workers }) => {
    const name = bundle.name();

    const by = await runAll(name, 3 * MAX, workers, { limiter: { max: MAX, duration: WINDOW_MS } });

    const counts = perWindow(await startTimes(name));
    expect(Math.max(...counts)).toBeLessThanOrEqual(MAX);
    expect(by).toHaveLength(3 * MAX);
  });
});

describe('a limit of the queue', () => {
  it.each([
    { setter: six, workers: [yoke], title: 'bullmq 6 and obeyed by yoke' },
    { setter: five, workers: [yoke], title: 'bullmq 5 and obeyed by yoke' },
    { setter: yoke, workers: [six], title: 'yoke and obeyed by bullmq 6' },
    { setter: yoke, workers: [yoke, six, five], title: 'yoke and obeyed by all' },
  ])('is set by $title', async ({ setter, workers }) => {
    const name = bundle.name();
    await setter.queue(name).setGlobalRateLimit(MAX, WINDOW_MS);

    await runAll(name, 3 * MAX, workers, {});

    expect(Math.max(...perWindow(await startTimes(name)))).toBeLessThanOrEqual(MAX);
    expect(await yoke.queue(name).getGlobalRateLimit()).toEqual({ max: MAX, duration: WINDOW_MS });
    await yoke.queue(name).removeGlobalRateLimit();
    expect(await six.queue(name).getGlobalRateLimit()).toBeNull();
  });

  it('of so many at once is used up by one fetch of yoke and no more', async () => {
    const name = bundle.name();
    await six.queue(name).setGlobalRateLimit(2, 60_000);
    const queue = yoke.queue(name);
    await queue.addBulk(Array.from({ length: 20 }, () => ({ name: 'job', data: {} })));
    yoke.worker(name, async () => {}, { concurrency: 10 });

    await eventually(async () => expect(await queue.getCompletedCount()).toBe(2));
    const ttl = await six.queue(name).getRateLimitTtl();
    expect(ttl).toBeGreaterThan(0);
    expect(await queue.getRateLimitTtl()).toBeLessThanOrEqual(ttl);
    expect(await queue.getJobCounts('waiting', 'active')).toEqual({ waiting: 18, active: 0 });
  });
});

describe('a limit that a handler sets by hand', () => {
  it.each([
    { limited: yoke, setter: six },
    { limited: yoke, setter: five },
    { limited: six, setter: yoke },
  ])(
    'by $setter.name in a worker of $limited.name: the job goes back unharmed and runs when it is over',
    async ({ limited, setter }) => {
      const name = bundle.name();
      const queue = setter.queue(name);
      const runs: Any[] = [];
      const { RateLimitError } =
        setter === yoke ? await import('../../src/index.ts') : await import('bullmq');
      const job = await queue.add('job', {}, { attempts: 1 });
      const second = await queue.add('job', {});
      limited.worker(
        name,
        async (running) => {
          runs.push({ id: running.id, made: running.attemptsMade });
          if (runs.length > 1) return;
          await queue.rateLimit(WINDOW_MS);
          throw new RateLimitError();
        },
        { limiter: { max: 100, duration: 1000 } },
      );

      await eventually(async () => expect(await queue.getCompletedCount()).toBe(2));

      expect(runs).toEqual([
        { id: job.id, made: 0 },
        { id: job.id, made: 0 },
        { id: second.id, made: 0 },
      ]);
      const [first, again] = await startTimes(name);
      expect(again! - first!).toBeGreaterThanOrEqual(WINDOW_MS - 2);
      expect((await queue.getJob(job.id)).attemptsMade).toBe(1);
      expect((await queue.getJob(job.id)).attemptsStarted).toBe(2);
    },
  );
});
