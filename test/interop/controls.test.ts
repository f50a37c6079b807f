// What one library sets on a queue, the others obey: pause and resume, global concurrency; and who works here.

import { describe, expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';
import { type Any, gate, type Library, useLibraries } from './libraries.ts';

const bundle = useBundle();
const { yoke, six, five } = useLibraries(bundle);

describe('pause and resume', () => {
  it.each([
    { pauser: yoke, resumer: six },
    { pauser: six, resumer: yoke },
    { pauser: yoke, resumer: yoke },
    { pauser: five, resumer: yoke },
    { pauser: five, resumer: six },
  ])('paused by $pauser.name, nobody works until $resumer.name resumes', async ({ pauser, resumer }) => {
    const name = bundle.name();
    const queue = yoke.queue(name);
    const peer = six.queue(name);
    const pausing = pauser.queue(name);
    const ran: string[] = [];
    const workers: Any[] = [];
    for (const library of [yoke, six, five]) {
      const worker = library.worker(name, async (job) => void ran.push(job.id), { drainDelay: 60 });
      const isDrained = nextEvent(worker, 'drained');
      await worker.waitUntilReady();
      await isDrained;
      workers.push(worker);
    }

    await pausing.pause();
    expect(await queue.isPaused()).toBe(true);
    expect(await peer.isPaused()).toBe(true);
    const jobs = [
      await queue.add('one', {}),
      await peer.add('two', {}),
      await pausing.add('three', {}, { priority: 1 }),
    ];
    // A delayed job comes due while the queue is paused; looking at the queue by hand fetches nothing.
    jobs.push(await queue.add('four', {}, { delay: 20 }));
    const byHand = yoke.worker(name, async () => {}, { autorun: false });
    await new Promise((resolve) => setTimeout(resolve, 100)); // Time for workers that did not obey to run the jobs.
    expect(await byHand.getNextJob('token', { block: false })).toBeUndefined();
    expect(ran).toEqual([]);

    await resumer.queue(name).resume();

    await eventually(() => expect([...ran].sort()).toEqual(jobs.map((job) => job.id).sort()));
    expect(await queue.isPaused()).toBe(false);
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(4));
    expect(await bundle.server.admin.exists(`bull:${name}:paused`)).toBe(0);
  });

  it('jobs that bullmq 5 parked in its paused list are counted, read, removed and, on resume, run first', async () => {
    const name = bundle.name();
    const queue = yoke.queue(name);
    const old = five.queue(name);
    for (const job of ['a', 'b', 'c', 'd']) await old.add(job, {}, { jobId: job });
    await old.pause();
    await old.add('e', {}, { jobId: 'e' });
    await queue.add('f', {}, { jobId: 'f' });
    expect(await bundle.server.admin.lrange(`bull:${name}:paused`, 0, -1)).toEqual(['e', 'd', 'c', 'b', 'a']);

    expect(await queue.getJobCounts('waiting', 'paused')).toEqual({ waiting: 1, paused: 5 });
    expect(await queue.count()).toBe(6);
    expect((await queue.getJobs(['paused'], 0, -1, true)).map((job: Any) => job.id)).toEqual([
      'a',
      'b',
      'c',
      'd',
      'e',
    ]);
    expect(await queue.getJobState('b')).toBe('waiting');
    expect(await queue.remove('c')).toBe(1);
    await (await queue.getJob('d')).changePriority({ priority: 7 });
    await queue.resume();

    const ran: string[] = [];
    yoke.worker(name, async (job) => void ran.push(job.id));
    await eventually(() => expect(ran).toHaveLength(5));
    expect(ran).toEqual(['a', 'b', 'e', 'f', 'd']);
  });

  it('drain and obliterate reach the jobs that bullmq 5 parked', async () => {
    const name = bundle.name();
    const queue = yoke.queue(name);
    const old = five.queue(name);
    await old.pause();
    await old.add('parked', {});
    await queue.drain();
    expect(await queue.count()).toBe(0);
    expect(await queue.getJobCounts('paused')).toEqual({ paused: 0 });
    await old.add('parked', {});
    await queue.obliterate();
    expect(
      (await bundle.server.admin.keys(`bull:${name}:*`)).filter((key) => !key.includes(':meta:')),
    ).toEqual([]);
  });
});

describe('global concurrency', () => {
  it.each([
    { setter: yoke, title: 'yoke' },
    { setter: six, title: 'bullmq 6' },
    { setter: five, title: 'bullmq 5' },
  ])('set by $title, all workers together stay below it', async ({ setter }) => {
    const name = bundle.name();
    const queue = yoke.queue(name);
    await setter.queue(name).setGlobalConcurrency(3);
    let running = 0;
    let most = 0;
    const by = new Set<string>();
    const handler = (library: Library) => async () => {
      most = Math.max(most, ++running);
      by.add(library.name);
      await new Promise((resolve) => setTimeout(resolve, 5)); // Work that takes a while, so that runs overlap.
      running--;
    };
    await queue.addBulk(Array.from({ length: 60 }, () => ({ name: 'job', data: {} })));
    for (const library of [yoke, six, five]) library.worker(name, handler(library), { concurrency: 5 });

    await eventually(async () => expect(await queue.getCompletedCount()).toBe(60));

    expect(most).toBeLessThanOrEqual(3);
    expect(most).toBeGreaterThan(1);
    expect(await queue.getGlobalConcurrency()).toBe(3);
    await queue.removeGlobalConcurrency();
    expect(await six.queue(name).getGlobalConcurrency()).toBeNull();
  });

  it('isMaxed answers the same in both libraries', async () => {
    const name = bundle.name();
    const queue = yoke.queue(name);
    const peer = six.queue(name);
    await peer.setGlobalConcurrency(1);
    const held = gate();
    const worker = yoke.worker(name, () => held.opened, { concurrency: 2 });
    const isActive = nextEvent(worker, 'active');
    await queue.addBulk([
      { name: 'a', data: {} },
      { name: 'b', data: {} },
    ]);
    await isActive;

    expect([await queue.isMaxed(), await peer.isMaxed()]).toEqual([true, true]);
    held.open();
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(2));
    expect([await queue.isMaxed(), await peer.isMaxed()]).toEqual([false, false]);
  });
});

it('every library finds the workers of all of them by their client names', async () => {
  const name = `${bundle.name()} with spaces é`;
  const other = bundle.name();
  const queues = [yoke, six, five].map((library) => library.queue(name));
  for (const library of [yoke, six, five]) {
    await library.worker(name, async () => {}).waitUntilReady();
    await library
      .worker(name, async () => {}, { name: `named-${library.name.replace(' ', '-')}` })
      .waitUntilReady();
    await library.worker(other, async () => {}).waitUntilReady();
    await library.events(name).waitUntilReady();
  }

  const raw = `bull:${Buffer.from(name).toString('base64')}`;
  const expected = [
    raw,
    raw,
    raw,
    `${raw}:w:named-bullmq-5`,
    `${raw}:w:named-bullmq-6`,
    `${raw}:w:named-yoke`,
  ];
  for (const queue of queues) {
    const workers = await eventually(async () => {
      const found = await queue.getWorkers();
      expect(found).toHaveLength(6);
      return found;
    });
    expect(workers.map((worker: Any) => worker.rawname).sort()).toEqual(expected);
    expect(new Set(workers.map((worker: Any) => worker.name))).toEqual(new Set([name]));
    for (const worker of workers) expect(Number(worker.id)).toBeGreaterThan(0);
    expect(await queue.getWorkersCount()).toBe(6);
    expect(await queue.getQueueEvents()).toHaveLength(3);
  }
});
