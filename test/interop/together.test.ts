// Workers of two libraries on one queue: every job is run and completed exactly once, and both get their share.

import { expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';
import { gate, useLibraries } from './libraries.ts';

const bundle = useBundle();
const { yoke, six, five } = useLibraries(bundle);

const JOBS = 5000;

it.each([six, five])('yoke and $name complete 5,000 jobs, each exactly once', async (peer) => {
  const name = bundle.name();
  const queue = yoke.queue(name);
  const peerQueue = peer.queue(name);
  const runs = new Map<string, string[]>();
  const completions = new Map<string, number>();
  const done = gate();
  const errors: unknown[] = [];
  let completed = 0;

  for (const library of [yoke, peer]) {
    const worker = library.worker(
      name,
      async (job) => {
        const log = runs.get(job.id);
        if (log) log.push(library.name);
        else runs.set(job.id, [library.name]);
        await new Promise((resolve) => setImmediate(resolve));
        return job.data.n * 2;
      },
      { concurrency: 25 },
    );
    worker.on('error', (error: unknown) => errors.push(error));
    worker.on('completed', (job: { id: string }) => {
      completions.set(job.id, (completions.get(job.id) ?? 0) + 1);
      if (++completed === JOBS) done.open();
    });
  }
  // Both produce while both consume: plain jobs, and some of every kind of readiness.
  const opts = (n: number) =>
    n % 10 === 0
      ? { priority: 1 + (n % 3) }
      : n % 10 === 1
        ? { delay: n % 50 }
        : n % 10 === 2
          ? { lifo: true }
          : {};
  for (let from = 0; from < JOBS; from += 500) {
    const batch = Array.from({ length: 500 }, (_, i) => ({
      name: 'double',
      data: { n: from + i },
      opts: opts(from + i),
    }));
    await ((from / 500) % 2 ? queue : peerQueue).addBulk(batch);
  }
  await done.opened;

  await eventually(async () => {
    expect(
      await queue.getJobCounts('waiting', 'active', 'prioritized', 'delayed', 'failed', 'completed'),
    ).toEqual({
      waiting: 0,
      active: 0,
      prioritized: 0,
      delayed: 0,
      failed: 0,
      completed: JOBS,
    });
  });
  expect(errors).toEqual([]);
  expect(runs.size).toBe(JOBS);
  expect([...runs].filter(([, log]) => log.length !== 1)).toEqual([]);
  expect([...completions].filter(([, count]) => count !== 1)).toEqual([]);
  const sharers = new Set([...runs.values()].flat());
  expect(sharers).toEqual(new Set(['yoke', peer.name]));
  const stored = await queue.getCompleted();
  expect(stored).toHaveLength(JOBS);
  for (const job of stored) {
    expect(job.returnvalue).toBe(job.data.n * 2);
    expect(job.attemptsMade).toBe(1);
    expect(job.stalledCounter).toBe(0);
  }
  const locks = (await bundle.server.admin.keys(`bull:${name}:*:lock`)).length;
  expect(locks).toBe(0);
});

it.each([six, five])(
  'while the yoke worker and the $name worker both sleep, each wakes for a job that comes',
  async (peer) => {
    const name = bundle.name();
    const queue = yoke.queue(name);
    const ran: string[] = [];
    // A handler that holds its job keeps its only slot, so the second job has to find the other worker.
    const held = gate();
    for (const library of [yoke, peer]) {
      const worker = library.worker(
        name,
        async () => {
          ran.push(library.name);
          await held.opened;
        },
        { drainDelay: 60 },
      );
      const isDrained = nextEvent(worker, 'drained');
      await worker.waitUntilReady();
      await isDrained;
    }

    await queue.add('one', {});
    await queue.add('two', {});

    try {
      await eventually(() => expect([...ran].sort()).toEqual([peer.name, 'yoke'].sort()));
    } finally {
      held.open();
    }
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(2));
  },
);
