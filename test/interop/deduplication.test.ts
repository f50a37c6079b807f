// Deduplicated jobs are created by BullMQ and run by Yoke: the key lives exactly as long as it should, and the last add
// that was swallowed while its job was active runs afterwards.

import { describe, expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';
import { type Any, gate, useLibraries } from './libraries.ts';

const bundle = useBundle();
const { yoke, six, five } = useLibraries(bundle);

const dedup = (rule: object = {}) => ({ deduplication: { id: 'same', ...rule } });

describe.each([six, five])('$name adds, yoke runs:', (maker) => {
  it('the id is free again when the job has completed, failed for good or been removed', async () => {
    const name = bundle.name();
    const queue = maker.queue(name);
    const own = yoke.queue(name);
    const first = await queue.add('job', { n: 1 }, { ...dedup(), attempts: 2 });
    expect((await queue.add('job', { n: 2 }, dedup())).id).toBe(first.id);
    expect(await own.getDeduplicationJobId('same')).toBe(first.id);
    const held: string[] = [];
    const worker = yoke.worker(name, async (job) => {
      held.push(`${job.data.n}:${await own.getDeduplicationJobId('same')}`);
      if (job.data.n === 1) throw new Error('no');
    });
    await eventually(async () => expect(await own.getFailedCount()).toBe(1));
    expect(await own.getDeduplicationJobId('same')).toBeNull();

    const second = await queue.add('job', { n: 3 }, dedup());
    await eventually(async () => expect(await own.getCompletedCount()).toBe(1));
    expect(await own.getDeduplicationJobId('same')).toBeNull();
    // Between two attempts of one job the id stayed taken.
    expect(held).toEqual([`1:${first.id}`, `1:${first.id}`, `3:${second.id}`]);

    await worker.close();
    const third = await queue.add('job', { n: 4 }, dedup());
    await own.remove(third.id);
    expect(await own.getDeduplicationJobId('same')).toBeNull();
    const fourth = await queue.add('job', { n: 5 }, dedup());
    expect(fourth.id).not.toBe(third.id);
    await own.drain();
    expect(await queue.getDeduplicationJobId('same')).toBeNull();
  });

  it('a key with a time to live outlasts its job', async () => {
    const name = bundle.name();
    const queue = maker.queue(name);
    const first = await queue.add('job', {}, dedup({ ttl: 60_000 }));
    const worker = yoke.worker(name, async () => {});
    await nextEvent(worker, 'completed');

    expect(await yoke.queue(name).getDeduplicationJobId('same')).toBe(first.id);
    expect((await queue.add('job', {}, dedup({ ttl: 60_000 }))).id).toBe(first.id);
    await yoke.queue(name).removeDeduplicationKey('same');
    expect((await queue.add('job', {}, dedup({ ttl: 60_000 }))).id).not.toBe(first.id);
  });

  it('of delayed jobs that replace each other, yoke runs the last', async () => {
    const name = bundle.name();
    const queue = maker.queue(name);
    const rule = { ...dedup({ ttl: 60_000, extend: true, replace: true }), delay: 50 };
    for (const n of [1, 2, 3]) await queue.add('job', { n }, rule);
    const ran: number[] = [];
    yoke.worker(name, async (job) => void ran.push(job.data.n));

    await eventually(async () => expect(await queue.getCompletedCount()).toBe(1));

    expect(ran).toEqual([3]);
    expect(await queue.getJobCounts('delayed', 'waiting', 'active')).toMatchObject({
      delayed: 0,
      waiting: 0,
      active: 0,
    });
  });

  it.each([
    { how: 'completes', fails: false, opts: {} },
    { how: 'fails', fails: true, opts: {} },
    { how: 'completes', fails: false, opts: { delay: 40 } },
    { how: 'completes', fails: false, opts: { priority: 3 } },
  ])(
    'with keepLastIfActive the last swallowed add ($opts) runs after the active one $how',
    async ({ fails, opts }) => {
      const name = bundle.name();
      const queue = maker.queue(name);
      const own = yoke.queue(name);
      const heard: Any[] = [];
      const events = yoke.events(name);
      events.on('deduplicated', (args: Any) => heard.push(args));
      await events.waitUntilReady();
      const held = gate();
      const ran: Any[] = [];
      const worker = yoke.worker(name, async (job) => {
        ran.push({ id: job.id, data: job.data, name: job.name, deduplicationId: job.deduplicationId });
        if (job.name !== 'first') return;
        await held.opened;
        if (fails) throw new Error('down');
      });
      const isActive = nextEvent(worker, 'active');
      const first = await queue.add('first', { list: [] }, dedup({ keepLastIfActive: true }));
      await isActive;
      await queue.add('swallowed', { n: 1 }, dedup({ keepLastIfActive: true }));
      await queue.add('last', { list: [], n: 2 }, { ...dedup({ keepLastIfActive: true }), ...opts });
      expect(await own.count()).toBe(0);
      held.open();

      await eventually(() => expect(ran).toHaveLength(2));

      const [, last] = ran;
      expect(last).toEqual({
        id: expect.any(String),
        data: { list: [], n: 2 },
        name: 'last',
        deduplicationId: 'same',
      });
      expect(last.id).not.toBe(first.id);
      await eventually(async () => expect(await own.getJobState(last.id)).toBe('completed'));
      expect(await own.getDeduplicationJobId('same')).toBeNull();
      expect(await bundle.server.admin.exists(`bull:${name}:dn:same`)).toBe(0);
      await eventually(() => expect(heard).toHaveLength(2));
      expect(heard.map(({ jobId, deduplicationId }) => [jobId, deduplicationId])).toEqual([
        [first.id, 'same'],
        [first.id, 'same'],
      ]);
      expect(heard[1].deduplicatedJobId).toBe(last.id);
    },
  );
});
