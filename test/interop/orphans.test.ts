// The sweep for orphaned records: BullMQ's harms nothing of a queue that Yoke uses, and Yoke's removes orphans only.

import { describe, expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';
import { type Keyspace, snapshot } from '../support/keyspace.ts';
import { gate, useLibraries } from './libraries.ts';

const bundle = useBundle();
const { yoke, six } = useLibraries(bundle);

const everything = (name: string): Promise<Keyspace> =>
  snapshot(bundle.server.admin, `bull:${name}:`, { ignore: () => false });

/** A queue with something in every place that a queue has. */
async function fullQueue(): Promise<{ name: string; children: string; release: () => void }> {
  const name = bundle.name();
  const children = bundle.name();
  const queue = yoke.queue(name);
  const peer = six.queue(name);
  const worker = yoke.worker(name, async (job) => {
    await job.log('seen');
    if (job.name === 'bad') throw new Error('bad');
  });
  await queue.add('good', { a: 1 });
  await queue.add('bad', {});
  await queue.add('good', {}, { jobId: 'custom' });
  await queue.add('good', {}, { jobId: 'three:part:id' });
  await eventually(async () =>
    expect(await queue.getJobCounts('completed', 'failed')).toEqual({ completed: 3, failed: 1 }),
  );
  await worker.close();

  const held = gate();
  const holder = yoke.worker(name, () => held.opened, { limiter: { max: 100, duration: 600_000 } });
  // Closed before the worker, which would wait for its job.
  bundle.track({ close: async () => held.open() });
  const isActive = nextEvent(holder, 'active');
  await queue.add('held', {}, { lifo: true });
  await isActive;
  await queue.add('waits', {});
  const logged = await queue.add('later', {}, { delay: 600_000 });
  await logged.log('a row');
  await queue.add('urgent', {}, { priority: 2 });
  await peer.add('only-one', {}, { deduplication: { id: 'd', ttl: 600_000 } });
  await peer.upsertJobScheduler('nightly', { pattern: '0 0 * * *' }, { data: { a: 1 } });
  await six
    .flows()
    .add({ name: 'parent', queueName: name, children: [{ name: 'child', queueName: children }] });
  await eventually(async () =>
    expect(await bundle.server.admin.exists(`bull:${name}:stalled-check`)).toBe(1),
  );
  return { name, children, release: held.open };
}

describe('the sweep of bullmq 6', () => {
  it('changes nothing of a queue that yoke uses, not even its memory of past calls', async () => {
    const { name, children, release } = await fullQueue();
    const sweepers = [six.queue(name), six.queue(children)];
    for (const queue of sweepers) await queue.waitUntilReady();
    await eventually(async () =>
      expect(await bundle.server.admin.hget(`bull:${children}:meta`, 'version')).not.toBeNull(),
    );
    const before = await everything(name);
    const childrenBefore = await everything(children);
    expect(Object.keys(before).filter((key) => key.startsWith('meta:replay:')).length).toBeGreaterThanOrEqual(
      2,
    );
    expect(Object.keys(before)).toEqual(
      expect.arrayContaining(['three:part:id', 'three:part:id:logs', 'custom:logs']),
    );

    for (const queue of sweepers) expect(await queue.removeOrphanedJobs()).toBe(0);

    expect(await everything(name)).toEqual(before);
    expect(await everything(children)).toEqual(childrenBefore);
    // And work goes on.
    release();
    await eventually(async () =>
      expect(await yoke.queue(name).getJobCounts('waiting', 'active', 'prioritized')).toEqual({
        waiting: 0,
        active: 0,
        prioritized: 0,
      }),
    );
  });
});

describe('the sweep of yoke', () => {
  it('removes records that lie nowhere and nothing else', async () => {
    const { admin } = bundle.server;
    const { name } = await fullQueue();
    const queue = yoke.queue(name);
    await queue.waitUntilReady();
    const isState = (key: string) => !key.startsWith('meta:');
    const before = await everything(name);
    await admin.hset(`bull:${name}:9001`, { name: 'lost', data: '{}', opts: '{}' });
    await admin.rpush(`bull:${name}:9001:logs`, 'row');
    await admin.sadd(`bull:${name}:9002:dependencies`, 'bull:other:1');
    await admin.hset(`bull:${name}:lost-custom`, { name: 'lost', data: '{}', opts: '{}' });
    // Not a key of this queue, though its name begins like one.
    await admin.set(`bull:${name}x:9003`, 'kept');

    expect(await queue.removeOrphanedJobs(10, 1)).toBe(1);
    expect(await queue.removeOrphanedJobs(10)).toBe(2);
    expect(await queue.removeOrphanedJobs()).toBe(0);

    const state = (space: Keyspace) =>
      Object.fromEntries(Object.entries(space).filter(([key]) => isState(key)));
    expect(state(await everything(name))).toEqual(state(before));
    expect(await admin.get(`bull:${name}x:9003`)).toBe('kept');
  });

  it('takes no part of a job id for a record of its own', async () => {
    const { admin } = bundle.server;
    const queue = yoke.queue(bundle.name());
    await queue.add('job', {}, { jobId: 'a:logs:b' });
    await admin.hset(`bull:${queue.name}:metrics:failed`, 'count', 1);

    expect(await queue.removeOrphanedJobs()).toBe(0);
    expect(await queue.getJobState('a:logs:b')).toBe('waiting');
    expect(await admin.exists(`bull:${queue.name}:metrics:failed`)).toBe(1);
  });
});
