// Lanes on a queue that BullMQ works on too. Its workers and dashboards know nothing of lanes: what they do to a job
// is let through by the gate or noticed by the upkeep.

import { describe, expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { eventually } from '../support/eventually.ts';
import { laneHand, taken } from '../support/lanes.ts';
import { useLibraries } from './libraries.ts';

const bundle = useBundle();
const { six, five } = useLibraries(bundle);

describe.each([six, five])('beside $name:', (peer) => {
  it('its retry of a failed job goes through the gate', async () => {
    const hand = laneHand(bundle);
    const dashboard = peer.queue(hand.queue.name);
    await hand.add('a1 a2 a3');
    await hand.fail(await taken(hand, 'a1'));
    const a2 = await taken(hand, 'a2');
    await (await dashboard.getJob('a1')).retry();
    // It lies in wait, and it is not its turn: back into the lane, to its own place.
    expect(await hand.take()).toBeUndefined();
    expect(await hand.queue.getLanes()).toMatchObject([{ out: ['a2'], depth: 2 }]);
    await hand.complete(a2);
    expect(await hand.drainByHand()).toEqual(['a1', 'a3']);
    // With nobody else out it passes at once.
    await (await dashboard.getJob('a1')).retry('completed');
    expect(await hand.drainByHand()).toEqual(['a1']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('its promotion of a job that backs off lets that one run and no other', async () => {
    const hand = laneHand(bundle);
    const dashboard = peer.queue(hand.queue.name);
    await hand.add('a1 a2', { attempts: 2, backoff: 600_000 });
    await hand.fail(await taken(hand, 'a1'));
    expect(await hand.take()).toBeUndefined();
    await (await dashboard.getJob('a1')).promote();
    const a1 = await taken(hand, 'a1');
    expect(await hand.take()).toBeUndefined();
    await hand.complete(a1);
    expect(await hand.drainByHand()).toEqual(['a2']);
  });

  it('its worker runs released heads and promotes one that backs off; the upkeep notices what it finished', async () => {
    const hand = laneHand(bundle);
    const started: string[] = [];
    await hand.add('a1 a2 a3 b1 b2', { attempts: 2, backoff: 50 });
    peer.worker(
      hand.queue.name,
      async (job) => {
        started.push(job.id);
        if (job.id === 'a2' && job.attemptsMade === 0) throw new Error('once');
      },
      { concurrency: 4 },
    );
    await eventually(async () => {
      await hand.tick();
      expect(await hand.queue.getCompletedCount()).toBe(5);
    });
    const ofA = started.filter((id) => id.startsWith('a'));
    expect(ofA).toEqual(['a1', 'a2', 'a2', 'a3']);
    expect(started.filter((id) => id.startsWith('b'))).toEqual(['b1', 'b2']);
    await hand.tick();
    expect(await hand.leftovers()).toEqual([]);
  });

  it('a job that it removes holds nothing up', async () => {
    const hand = laneHand(bundle);
    const dashboard = peer.queue(hand.queue.name);
    await hand.add('a1 a2 a3 a4');
    // One that rests: its lane passes over it. One that is out: the upkeep lets the next go.
    await dashboard.remove('a2');
    await dashboard.remove('a1');
    expect(await hand.take()).toBeUndefined();
    await hand.tick();
    expect(await hand.drainByHand()).toEqual(['a3', 'a4']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('one that it removes and that is added again under its id runs once, and holds nobody up', async () => {
    const hand = laneHand(bundle);
    const dashboard = peer.queue(hand.queue.name);
    await hand.add('a1 a2 a3');
    const a1 = await taken(hand, 'a1');
    await dashboard.remove('a2');
    await hand.add('a2');
    await hand.complete(a1);
    // It has the place of the one that was removed, and its own again when it has run.
    expect(await hand.drainByHand()).toEqual(['a2', 'a3']);
    expect(await hand.queue.getJobCounts('completed', 'active', 'waiting')).toEqual({
      completed: 3,
      active: 0,
      waiting: 0,
    });
    expect(await hand.leftovers()).toEqual([]);
  });

  it('what its obliterate leaves of lanes keeps none from going on', async () => {
    const hand = laneHand(bundle);
    const { queue } = hand;
    const add = async (data: string) => (await queue.add('n', data, { lane: 'a' })).id!;
    await add('1');
    await add('2');
    await peer.queue(queue.name).obliterate({ force: true });
    expect(await hand.leftovers()).toContain('meta:lane-out');

    // Ids begin anew there, and a job of the same id is still believed to be out.
    const again = await add('3');
    await hand.tick();
    expect(await hand.drainByHand()).toContain(again);
    await hand.tick();
    expect(await hand.leftovers()).toEqual([]);
  });

  it('what its obliterate leaves of lanes, ours removes', async () => {
    const hand = laneHand(bundle);
    const { queue } = hand;
    await queue.addBulk([1, 2, 3].map((data) => ({ name: 'n', data, opts: { lane: 'a' } })));
    await hand.add('b1 b2 b3', { orderMs: 5 });
    await hand.add('c1', { delay: 600_000 });
    await peer.queue(queue.name).obliterate({ force: true });
    await queue.obliterate({ force: true });
    const keys = await bundle.server.admin.keys(`${queue.qualifiedName}:*`);
    expect(keys.filter((key) => !key.includes(':meta:replay:'))).toEqual([]);
  });

  it('it sees options and record of a job of a lane as of any', async () => {
    const hand = laneHand(bundle);
    await hand.queue.add('n', { a: 1 }, { jobId: 'x', lane: 'l', orderMs: 5 });
    const job = await peer.queue(hand.queue.name).getJob('x');
    expect(job).toMatchObject({ data: { a: 1 }, opts: { lane: 'l', orderMs: 5 } });
    expect(await job.getState()).toBe('waiting');
  });
});

it('the sweep of bullmq 6 spares what rests in lanes', async () => {
  const hand = laneHand(bundle);
  await hand.add('a1 a2 a3 b1 b2');
  await hand.add('a4', { delay: 600_000 });
  await hand.queue.pauseLane('b');
  expect(await six.queue(hand.queue.name).removeOrphanedJobs()).toBe(0);
  expect(await hand.drainByHand()).toEqual(['a1', 'a2', 'a3']);
  await hand.queue.resumeLane('b');
  expect(await hand.drainByHand()).toEqual(['b1', 'b2']);
  expect(await hand.queue.getDelayedCount()).toBe(1);
});

it('iterations of its scheduler run in the lane of their template', async () => {
  const hand = laneHand(bundle);
  const peer = six.queue(hand.queue.name);
  await peer.upsertJobScheduler('tick', { every: 50 }, { name: 'n', opts: { lane: 'a' } });
  await hand.add('a1');
  // The first iteration is BullMQ's and knows no lane; fetched here, it stores one that does.
  await eventually(async () => {
    const job = await hand.take();
    expect(job?.repeatJobKey).toBe('tick');
  });
  await taken(hand, 'a1');
  // Due, and not its turn.
  await eventually(async () => {
    expect(await hand.take()).toBeUndefined();
    expect((await hand.queue.getLaneJobs('a')).map(({ repeatJobKey }) => repeatJobKey)).toContain('tick');
  });
  await peer.removeJobScheduler('tick');
});
