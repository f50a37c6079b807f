// A worker whose handlers are quick takes a few jobs before it has a slot for them. Nobody loses by it: they run in their
// order, what has to wait goes back as new, and who runs one job at a time sees one job at a time.

import { describe, expect, it } from 'vitest';
import type { Job, Queue, Worker, WorkerOptions } from '../../src/index.ts';
import { whenIdle } from '../../src/testing/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually } from '../support/eventually.ts';

const bundle = useBundle();

// Far more than a worker wants to see of quick handlers before it looks ahead.
const QUICK = 1500;
const BEHIND = 200;

interface Scene {
  readonly queue: Queue;
  readonly worker: Worker;
  /** Ids in the order in which their handlers began. */
  readonly started: string[];
  /** The handlers that do not return at once. */
  readonly stuck: Job[];
  readonly release: () => void;
}

/** A queue of quick jobs, then some that hold every slot, then others. Resolves when every slot is held. */
async function untilStuck(concurrency: number, opts: Partial<WorkerOptions> = {}): Promise<Scene> {
  const queue = bundle.queue();
  const rows = Array.from({ length: QUICK + concurrency + BEHIND }, (_, i) => ({
    name: i >= QUICK && i < QUICK + concurrency ? 'stuck' : 'quick',
    data: { n: i },
    opts: { jobId: `j${i}` },
  }));
  await queue.addBulk(rows);
  const started: string[] = [];
  const stuck: Job[] = [];
  let noteAllStuck = () => {};
  const allStuck = new Promise<void>((resolve) => {
    noteAllStuck = resolve;
  });
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const worker = bundle.worker(
    queue.name,
    async (job) => {
      started.push(job.id!);
      if (job.name !== 'stuck') return;
      stuck.push(job);
      if (stuck.length === concurrency) noteAllStuck();
      await released;
    },
    { concurrency, skipStalledCheck: true, ...opts },
  );
  await allStuck;
  return { queue, worker, started, stuck, release };
}

const idsFrom = (first: number, count: number) => Array.from({ length: count }, (_, i) => `j${first + i}`);

describe('a worker with quick handlers', () => {
  it.each([1, 4])(
    'takes jobs ahead at concurrency %i, and gives them back as new when no slot becomes free',
    async (slots) => {
      const { queue, started, release } = await untilStuck(slots);
      // Those ahead are its own for a moment, then nobody's.
      await eventually(async () => expect(await queue.getActiveCount()).toBe(slots));
      expect(await queue.getWaitingCount()).toBe(BEHIND);
      const back = (await queue.getJobs(['waiting'], 0, -1, true)).map(({ id }) => id);
      expect(back).toEqual(idsFrom(QUICK + slots, BEHIND));
      for (const job of await queue.getJobs(['waiting'], 0, -1))
        expect(job).toMatchObject({ attemptsStarted: 0, processedOn: undefined, stalledCounter: 0 });
      const events = await bundle.server.admin.xrange(`bull:${queue.name}:events`, '-', '+');
      const returned = events.filter(([, row]) => row.includes('waiting') && row.includes('active'));
      expect(returned.length).toBeGreaterThan(0);

      const other = bundle.worker(queue.name, async () => 'elsewhere', { concurrency: 4 });
      await eventually(async () => expect(await queue.getWaitingCount()).toBe(0));
      release();
      await whenIdle(queue);
      expect(started).toEqual(idsFrom(0, QUICK + slots));
      expect(await queue.getCompletedCount()).toBe(QUICK + slots + BEHIND);
      expect(await queue.getJob(`j${QUICK + slots}`)).toMatchObject({
        attemptsStarted: 1,
        attemptsMade: 1,
        returnvalue: 'elsewhere',
      });
      expect(other.isRunning()).toBe(true);
    },
  );

  it.each([1, 4])('of %i slots goes on with them in their order when one becomes free', async (slots) => {
    const { queue, started, release } = await untilStuck(slots);
    release();
    await whenIdle(queue);
    expect(started).toEqual(idsFrom(0, QUICK + slots + BEHIND));
  });

  it.each([
    ['close', (worker: Worker) => worker.close()],
    ['pause', (worker: Worker) => worker.pause(true)],
  ])('gives them back at once on %s', async (_, end) => {
    const { queue, worker, release, started } = await untilStuck(4);
    const ended = end(worker);
    await eventually(async () => expect(await queue.getActiveCount()).toBe(4));
    release();
    await ended;
    await eventually(async () => expect(await queue.getActiveCount()).toBe(0));
    expect(started).toHaveLength(QUICK + 4);
    expect(await queue.getWaitingCount()).toBe(BEHIND);
  });

  it('takes none where it is told not to, or where a stall is the end', async () => {
    for (const [concurrency, opts] of [
      [1, { fetchAhead: false }],
      [3, { fetchAhead: false }],
      [3, { maxStalledCount: 0 }],
    ] as const) {
      const { queue, release } = await untilStuck(concurrency, opts);
      expect(await queue.getActiveCount()).toBe(concurrency);
      expect(await queue.getWaitingCount()).toBe(BEHIND);
      release();
      await whenIdle(queue);
    }
  });

  it('takes none beyond what the whole queue may run', async () => {
    const queue = bundle.queue();
    await queue.setGlobalConcurrency(3);
    await queue.addBulk(Array.from({ length: QUICK }, (_, n) => ({ name: 'quick', data: { n } })));
    let most = 0;
    bundle.worker(
      queue.name,
      async (job) => {
        if (job.data.n % 50 === 0) most = Math.max(most, await queue.getActiveCount());
      },
      { concurrency: 8 },
    );
    await whenIdle(queue);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(3);
  });
});

it('at concurrency 1 the queue has the outcome of a job before the next begins', async () => {
  const queue = bundle.queue();
  await queue.addBulk(Array.from({ length: QUICK }, (_, n) => ({ name: 'quick', data: { n } })));
  const states = new Set<string>();
  let mostActive = 0;
  let last: string | undefined;
  bundle.worker(
    queue.name,
    async (job) => {
      // Most of them return at once, or the worker would not take any ahead.
      if (job.data.n % 7 === 0 && last) {
        const [state, activeCount] = await Promise.all([queue.getJobState(last), queue.getActiveCount()]);
        states.add(state);
        mostActive = Math.max(mostActive, activeCount);
      }
      last = job.id;
    },
    { concurrency: 1 },
  );
  await whenIdle(queue);
  expect([...states]).toEqual(['completed']);
  expect(mostActive).toBeGreaterThan(1);
});

it('at concurrency 1 a job is completed before the next begins', async () => {
  const queue = bundle.queue();
  await queue.addBulk(Array.from({ length: QUICK }, (_, n) => ({ name: 'quick', data: { n } })));
  const told: string[] = [];
  const worker = bundle.worker(queue.name, async () => {}, { concurrency: 1 });
  worker.on('active', (job) => told.push(`begins ${job.id}`));
  worker.on('completed', (job) => told.push(`completed ${job.id}`));
  await whenIdle(queue);
  await eventually(() => expect(told).toHaveLength(2 * QUICK));
  expect(told).toEqual(
    Array.from({ length: QUICK }, (_, i) => [`begins ${i + 1}`, `completed ${i + 1}`]).flat(),
  );
});
