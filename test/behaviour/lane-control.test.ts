// Looking at lanes, stopping, emptying and healing them.

import { describe, expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';
import { type LaneHand, laneHand, taken } from '../support/lanes.ts';

const bundle = useBundle();
const ids = (jobs: { id?: string }[]) => jobs.map(({ id }) => id);

describe('counts and getters', () => {
  it('jobs that rest are waiting and come after those that are out', async () => {
    const hand = laneHand(bundle);
    const { queue } = hand;
    await hand.add('a1 b1 a2 b2 a3');
    await queue.add('plain', {}, { jobId: 'p' });
    await hand.add('a4', { delay: 60_000 });
    expect(await queue.getJobCounts('waiting', 'wait', 'delayed', 'active')).toEqual({
      waiting: 6,
      wait: 6,
      delayed: 1,
      active: 0,
    });
    expect(await queue.count()).toBe(7);
    expect(ids(await queue.getWaiting())).toEqual(['a1', 'b1', 'p', 'a2', 'a3', 'b2']);
    expect(ids(await queue.getWaiting(1, 3))).toEqual(['b1', 'p', 'a2']);
    expect(ids(await queue.getWaiting(3, 4))).toEqual(['a2', 'a3']);
    expect(ids(await queue.getWaiting(5, 20))).toEqual(['b2']);
    expect(ids(await queue.getWaiting(6, 9))).toEqual([]);
    expect(ids(await queue.getWaiting(-2, -1))).toEqual(['a3', 'b2']);
    expect(ids(await queue.getJobs('waiting'))).toEqual(['p', 'b1', 'a1', 'b2', 'a3', 'a2']);
    expect(await queue.getRanges(['waiting'], 2, 3)).toEqual(['a1', 'b2']);
    expect(ids(await queue.getDelayed())).toEqual(['a4']);
    expect(ids(await queue.getJobs(['waiting', 'delayed'])).sort()).toEqual([
      'a1',
      'a2',
      'a3',
      'a4',
      'b1',
      'b2',
      'p',
    ]);
    for (const id of ['a1', 'a3']) expect(await queue.getJobState(id)).toBe('waiting');
    expect(await queue.getJobState('a4')).toBe('delayed');
    expect(await queue.waitForEmpty(0)).toBe(false);
  });

  it('a job knows its lane and its place', async () => {
    const { queue } = laneHand(bundle);
    const added = await queue.add('n', {}, { lane: 'user:42', orderMs: -5 });
    expect(added).toMatchObject({ lane: 'user:42', orderMs: -5 });
    const job = (await queue.getJob(added.id!))!;
    expect(job).toMatchObject({ lane: 'user:42', orderMs: -5, opts: { lane: 'user:42', orderMs: -5 } });
    const byDefault = await queue.add('n', {}, { lane: 'x' });
    expect((await queue.getJob(byDefault.id!))!.orderMs).toBe(byDefault.orderMs);
    expect(byDefault.orderMs).toBe(byDefault.timestamp);
    const plain = await queue.add('n', {});
    expect([plain.lane, (await queue.getJob(plain.id!))!.lane]).toEqual([undefined, undefined]);
  });

  it('lanes are listed by name, a page at a time', async () => {
    const hand = laneHand(bundle);
    await hand.add('c1 a1 b1');
    await hand.add('a2', { orderMs: 77 });
    expect(await hand.queue.getLaneCount()).toBe(3);
    expect((await hand.queue.getLanes()).map(({ lane }) => lane)).toEqual(['a', 'b', 'c']);
    expect(await hand.queue.getLanes({ start: 0, end: 0 })).toEqual([
      {
        lane: 'a',
        depth: 1,
        out: ['a1'],
        oldestOrderMs: 77,
        isPaused: false,
        isHalted: false,
        concurrency: undefined,
      },
    ]);
    expect((await hand.queue.getLanes({ start: 1, end: 5 })).map(({ lane }) => lane)).toEqual(['b', 'c']);
    await hand.add('a0', { orderMs: 1 });
    expect(ids(await hand.queue.getLaneJobs('a'))).toEqual(['a1', 'a0', 'a2']);
    expect(ids(await hand.queue.getLaneJobs('a', { start: 1, end: 1 }))).toEqual(['a0']);
    expect(ids(await hand.queue.getLaneJobs('none'))).toEqual([]);
    await expect(hand.queue.getLaneJobs('')).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  it('waiting is told with the lane', async () => {
    const { queue } = laneHand(bundle);
    const events = bundle.events(queue.name);
    await events.waitUntilReady();
    const told = nextEvent(events, 'waiting');
    await queue.add('n', {}, { lane: 'l' });
    expect((await told)[0]).toMatchObject({ lane: 'l' });
  });

  it('groupId is the lane where the queue says so', async () => {
    const { queue } = laneHand(bundle, { groupIdAsLane: true });
    expect((await queue.add('n', {}, { groupId: 'g' } as object)).lane).toBe('g');
    expect(await queue.getLaneCount()).toBe(1);
  });

  it('also the groupId of the queue’s defaults, whether or not the job has options', async () => {
    const { queue } = laneHand(bundle, {
      groupIdAsLane: true,
      defaultJobOptions: { groupId: 'g' } as object,
    });
    expect((await queue.add('n', {})).lane).toBe('g');
    expect((await queue.add('n', {}, { attempts: 2 })).lane).toBe('g');
    expect(await queue.getLanes()).toMatchObject([{ lane: 'g', depth: 1 }]);
  });
});

describe('pausing', () => {
  it('a paused lane starts nothing, also not what is out already; others go on', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2 b1 b2');
    await hand.queue.pauseLane('a');
    expect(await hand.queue.getLanes()).toMatchObject([{ lane: 'a', isPaused: true }, { lane: 'b' }]);
    expect(await hand.drainByHand()).toEqual(['b1', 'b2']);
    await hand.add('a0', { orderMs: 1 });
    await hand.add('a3');
    expect(await hand.take()).toBeUndefined();
    expect(await hand.queue.getJobCounts('waiting')).toEqual({ waiting: 4 });
    await hand.queue.resumeLane('a');
    // It never ran, so the earlier one goes first.
    expect(await hand.drainByHand()).toEqual(['a0', 'a1', 'a2', 'a3']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('a job that ran and waits to run again keeps its place before an earlier one', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2', { orderMs: 10, attempts: 2 });
    await hand.fail(await taken(hand, 'a1'));
    await hand.queue.pauseLane('a');
    expect(await hand.take()).toBeUndefined();
    await hand.add('a0', { orderMs: 1 });
    await hand.queue.resumeLane('a');
    expect(await hand.drainByHand()).toEqual(['a1', 'a0', 'a2']);
  });

  it('a running job of a paused lane ends in peace', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2');
    const a1 = await taken(hand, 'a1');
    await hand.queue.pauseLane('a');
    await hand.complete(a1);
    expect(await hand.take()).toBeUndefined();
    await hand.queue.resumeLane('a');
    expect(await hand.drainByHand()).toEqual(['a2']);
  });

  it('an empty lane can be paused before its first job', async () => {
    const hand = laneHand(bundle);
    await hand.queue.pauseLane('a');
    await hand.add('a1');
    expect(await hand.take()).toBeUndefined();
    expect(await hand.queue.getLaneCount()).toBe(1);
    await hand.queue.resumeLane('a');
    await hand.queue.resumeLane('a');
    expect(await hand.drainByHand()).toEqual(['a1']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('a resumed lane wakes a worker that sleeps', async () => {
    const queue = bundle.queue();
    await queue.pauseLane('a');
    const started: string[] = [];
    const worker = bundle.worker(queue.name, async (job) => {
      started.push(job.id!);
    });
    await nextEvent(worker, 'drained').catch(() => {});
    await queue.add('n', {}, { lane: 'a', jobId: 'x' });
    await queue.add('n', {}, { jobId: 'plain' });
    await eventually(() => expect(started).toEqual(['plain']));
    await queue.resumeLane('a');
    await eventually(() => expect(started).toEqual(['plain', 'x']));
  });

  it('a paused queue releases and starts nothing', async () => {
    const hand = laneHand(bundle);
    await hand.queue.pause();
    await hand.add('a1 a2');
    expect(await hand.take()).toBeUndefined();
    await hand.queue.resume();
    expect(await hand.drainByHand()).toEqual(['a1', 'a2']);
  });
});

describe('emptying', () => {
  it('removeLane removes what nobody runs and says how many', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2 a3 b1 b2');
    expect(await hand.queue.removeLane('b')).toBe(2);
    const a1 = await taken(hand, 'a1');
    expect(await hand.queue.removeLane('a')).toBe(2);
    expect(await hand.queue.getLanes()).toMatchObject([{ lane: 'a', out: ['a1'], depth: 0 }]);
    await hand.complete(a1);
    expect(await hand.leftovers()).toEqual([]);
    expect(await hand.queue.removeLane('none')).toBe(0);
    await hand.queue.pauseLane('c');
    await hand.add('c1');
    expect(await hand.queue.removeLane('c')).toBe(1);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('removeLane takes any number', async () => {
    const hand = laneHand(bundle);
    await hand.queue.addBulk(
      Array.from({ length: 2500 }, () => ({ name: 'n', data: {}, opts: { lane: 'big' } })),
    );
    expect(await hand.queue.removeLane('big')).toBe(2500);
    expect(await hand.leftovers()).toEqual([]);
    expect(await hand.queue.count()).toBe(0);
  });

  it('drain takes lanes along, delayed jobs only where asked', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2 a3 b1');
    await hand.add('a4', { delay: 60_000 });
    const a1 = await taken(hand, 'a1');
    await hand.queue.drain();
    expect(await hand.queue.getJobCounts('waiting', 'delayed', 'active')).toEqual({
      waiting: 0,
      delayed: 1,
      active: 1,
    });
    await hand.complete(a1);
    expect(await hand.take()).toBeUndefined();
    await hand.queue.drain(true);
    expect(await hand.leftovers()).toEqual([]);
    expect(await bundle.server.admin.exists(hand.queue.toKey('a4'))).toBe(0);
    await hand.add('a5');
    expect(await hand.drainByHand()).toEqual(['a5']);
  });

  it('clean takes waiting and delayed jobs of lanes, and the lane goes on', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2 a3');
    await hand.add('a4', { delay: 60_000 });
    expect(await hand.queue.clean(60_000, 0, 'wait')).toEqual([]);
    // Those that rest are looked at before those that are out.
    expect(await hand.queue.clean(-1, 1, 'wait')).toEqual(['a2']);
    expect(ids(await hand.queue.getLaneJobs('a'))).toEqual(['a1', 'a3']);
    expect((await hand.queue.clean(-1, 0, 'wait')).sort()).toEqual(['a1', 'a3']);
    expect(await hand.queue.clean(-1, 0, 'delayed')).toEqual(['a4']);
    expect(await hand.leftovers()).toEqual([]);
    await hand.add('a5 a6');
    expect(await hand.drainByHand()).toEqual(['a5', 'a6']);
  });

  it('obliterate leaves nothing', async () => {
    const hand = laneHand(bundle, { laneConcurrency: 2 });
    await hand.add('a1 a2 a3 b1 b2');
    await hand.add('a4', { delay: 60_000 });
    await taken(hand, 'a1');
    await hand.queue.pauseLane('c');
    await hand.queue.obliterate({ force: true, count: 2 });
    const left = await bundle.server.admin.keys(`${hand.queue.qualifiedName}:*`);
    expect(left.filter((key) => !key.includes(':meta:replay:'))).toEqual([]);
  });

  it('releaseLanes makes ordinary jobs of all', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2 a3');
    await hand.add('b1', { priority: 3 });
    await hand.add('b2', { delay: 60_000 });
    await hand.queue.pauseLane('c');
    await hand.add('c1');
    const a1 = await taken(hand, 'a1');
    expect(await hand.queue.releaseLanes()).toBe(4);
    expect(await hand.leftovers()).toEqual([]);
    expect(await hand.queue.getJobCounts('waiting', 'prioritized', 'delayed', 'active')).toEqual({
      waiting: 3,
      prioritized: 1,
      delayed: 1,
      active: 1,
    });
    expect(await hand.takeAll()).toEqual(['a2', 'a3', 'c1', 'b1']);
    await hand.complete(a1);
    expect((await hand.queue.getJob('a2'))!.lane).toBeUndefined();
    expect(await hand.leftovers()).toEqual([]);
  });
});

describe('healing', () => {
  it('a lane whose job ended or vanished behind its back goes on at the next tick', async () => {
    const hand = laneHand(bundle);
    const { admin } = bundle.server;
    const { queue } = hand;
    await hand.add('a1 a2 b1 b2 c1 c2 d1 d2 d3');
    await hand.takeAll();
    // As a worker does that knows nothing of lanes.
    await admin.lrem(queue.toKey('active'), 0, 'a1');
    await admin.zadd(queue.toKey('completed'), Date.now(), 'a1');
    // Somebody deleted a record, and an id.
    await admin.del(queue.toKey('b1'));
    await admin.lrem(queue.toKey('active'), 0, 'b1');
    await admin.lrem(queue.toKey('active'), 0, 'c1');
    await admin.del(queue.toKey('d2'));
    const found = [
      { lane: 'a', jobId: 'a1', problem: 'finished' },
      { lane: 'b', jobId: 'b1', problem: 'gone' },
      { lane: 'c', jobId: 'c1', problem: 'lost' },
      { lane: 'd', jobId: 'd2', problem: 'gone' },
    ];
    expect(await queue.auditLanes()).toEqual({ checked: 4, findings: found });
    expect(await hand.take()).toBeUndefined();
    await hand.tick();
    expect(await queue.auditLanes()).toEqual({ checked: 4, findings: [] });
    expect(await hand.drainByHand()).toEqual(['a2', 'b2', 'c1', 'c2']);
    await hand.complete((await queue.getJob('d1'))!);
    expect(await hand.drainByHand()).toEqual(['d3']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('a job that failed elsewhere halts its lane where the queue wants that', async () => {
    const hand = laneHand(bundle, { laneOnFailure: 'halt' });
    await hand.add('a1 a2');
    await hand.takeAll();
    await bundle.server.admin.lrem(hand.queue.toKey('active'), 0, 'a1');
    await bundle.server.admin.zadd(hand.queue.toKey('failed'), Date.now(), 'a1');
    await hand.tick();
    expect(await hand.queue.getLanes()).toMatchObject([{ isHalted: true, out: [], depth: 1 }]);
  });

  it('a lane that forgot to go on is found, and healed where asked', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2');
    await hand.complete(await taken(hand, 'a1'));
    await bundle.server.admin.hdel(hand.queue.toKey('meta:lane-out'), 'a');
    await bundle.server.admin.lrem(hand.queue.toKey('wait'), 0, 'a2');
    await bundle.server.admin.zadd(hand.queue.toKey('meta:lane:a'), 1, '0000000000000002a2');
    expect((await hand.queue.auditLanes({ heal: true })).findings).toEqual([
      { lane: 'a', jobId: '', problem: 'stuck' },
    ]);
    expect(await hand.drainByHand()).toEqual(['a2']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('looks at a thousand lanes per tick, in turn', async () => {
    const hand = laneHand(bundle);
    const lanes = Array.from({ length: 2300 }, (_, n) => `l${String(n).padStart(4, '0')}`);
    await hand.queue.addBulk(
      lanes.flatMap((lane) =>
        [1, 2].map((n) => ({ name: 'n', data: {}, opts: { lane, jobId: `${lane}-${n}` } })),
      ),
    );
    // All that are out vanish.
    await bundle.server.admin.del(
      ...lanes.map((lane) => hand.queue.toKey(`${lane}-1`)),
      hand.queue.toKey('wait'),
    );
    const waiting = () => bundle.server.admin.llen(hand.queue.toKey('wait'));
    const seen: number[] = [];
    for (let tick = 0; tick < 3; tick++) {
      await hand.tick();
      seen.push(await waiting());
    }
    expect(seen).toEqual([1000, 2000, 2300]);
    expect((await hand.queue.auditLanes()).checked).toBe(2300);
  });

  describe('more than a thousand lanes with three jobs each that ended elsewhere', () => {
    const lanes = Array.from({ length: 1100 }, (_, n) => `l${String(n).padStart(4, '0')}`);
    const ended = lanes.flatMap((lane) => [1, 2, 3].map((n) => `${lane}-${n}`));

    async function endedElsewhere() {
      const { queue } = laneHand(bundle, { laneConcurrency: 3 });
      const { admin } = bundle.server;
      // A queue goes through its lanes when it has written its rules: that is over before there are any.
      await eventually(async () =>
        expect(await admin.hget(queue.toKey('meta'), 'yoke.lanes')).toMatch(/^3 /),
      );
      await queue.getLaneCount();
      await queue.addBulk(
        lanes.flatMap((lane) =>
          [1, 2, 3, 4].map((n) => ({ name: 'n', data: {}, opts: { lane, jobId: `${lane}-${n}` } })),
        ),
      );
      await admin.del(queue.toKey('wait'));
      await admin.zadd(queue.toKey('completed'), ...ended.flatMap((id) => ['1', id]));
      return { queue, waiting: () => admin.lrange(queue.toKey('wait'), 0, -1) };
    }
    const fourths = lanes.map((lane) => `${lane}-4`);

    it('are all reported, and all go on where asked', async () => {
      const { queue, waiting } = await endedElsewhere();
      const found = ended.map((jobId) => ({ lane: jobId.slice(0, 5), jobId, problem: 'finished' }));
      const { checked, findings } = await queue.auditLanes();
      expect(checked).toBe(1100);
      expect(findings.filter(({ problem }) => problem === 'finished')).toEqual(found);
      await queue.auditLanes({ heal: true });
      expect((await waiting()).sort()).toEqual(fourths);
      expect(await queue.auditLanes()).toEqual({ checked: 1100, findings: [] });
    });

    it('all go on by new rules', async () => {
      const { queue, waiting } = await endedElsewhere();
      bundle.queue(queue.name, { laneConcurrency: 4 });
      await eventually(async () => expect((await waiting()).sort()).toEqual(fourths));
    });
  });

  it('an id without a record in the lane is passed over', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2 a3');
    await bundle.server.admin.del(hand.queue.toKey('a2'));
    expect(await hand.drainByHand()).toEqual(['a1', 'a3']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('our own sweep of orphans leaves jobs of lanes alone', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2');
    await hand.add('a3', { delay: 60_000 });
    expect(await hand.queue.removeOrphanedJobs()).toBe(0);
    expect(await hand.drainByHand()).toEqual(['a1', 'a2']);
  });
});

it('a lane can have any name', async () => {
  const names = [
    'a:b',
    '{x}',
    'x}y{',
    '%1',
    'line\nbreak',
    'lock',
    'out',
    '-out',
    's',
    'ж💡',
    ' ',
    '0',
    '\u0000',
    '"',
  ];
  const queue = bundle.queue();
  const started: string[] = [];
  await queue.addBulk([1, 2].flatMap((n) => names.map((lane) => ({ name: 'n', data: n, opts: { lane } }))));
  expect((await queue.getLanes()).map(({ lane }) => lane).sort()).toEqual([...names].sort());
  for (const lane of names) expect(await queue.getLaneJobs(lane)).toHaveLength(2);
  bundle.worker(queue.name, async (job) => {
    started.push(`${job.lane}${job.data}`);
  });
  await eventually(async () => expect(await queue.getCompletedCount()).toBe(2 * names.length));
  for (const lane of names) expect(started.indexOf(`${lane}1`)).toBeLessThan(started.indexOf(`${lane}2`));
  const keys = await bundle.server.admin.keys(`${queue.qualifiedName}:meta:l[ai]ne*`);
  expect(keys).toEqual([]);
});

describe('a queue whose settings were deleted', () => {
  /** The lanes are there, and nothing says that there are lanes. */
  const forget = (hand: LaneHand) => bundle.server.admin.del(hand.queue.toKey('meta'));

  it('a lane whose job was lost with them goes on, also where the next add comes before the upkeep', async () => {
    const hand = laneHand(bundle);
    const { queue } = hand;
    const add = async (data: string) => (await queue.add('n', data, { lane: 'a' })).id!;
    const first = await add('1');
    const second = await add('2');
    await forget(hand);
    await bundle.server.admin.del(queue.toKey(first), queue.toKey('wait'));

    const third = await add('3');
    expect(await queue.getJobCounts('waiting')).toEqual({ waiting: 2 });
    await hand.tick();
    expect(await hand.drainByHand()).toEqual([second, third]);
    await hand.tick();
    expect(await hand.leftovers()).toEqual([]);
  });

  it('the upkeep finds its lanes by itself, whatever they have used', async () => {
    const hand = laneHand(bundle);
    const { queue } = hand;
    await hand.add('a1 a2 b1 b2', { orderMs: 5 });
    await queue.pauseLane('b');
    await hand.add('c1', { delay: 1 });
    await hand.add('d1', { delay: 600_000 });
    await hand.add('e1 e2', { priority: 3 });
    await queue.setLaneConcurrency('f', 2);
    await forget(hand);
    await bundle.server.admin.del(queue.toKey('a1'), queue.toKey('wait'), queue.toKey('prioritized'));
    await hand.tick();

    expect(await queue.getJobCounts('waiting', 'prioritized', 'delayed')).toEqual({
      waiting: 5,
      prioritized: 1,
      delayed: 1,
    });
    expect((await hand.drainByHand()).sort()).toEqual(['a2', 'c1', 'e1', 'e2']);
    await hand.add('f1 f2 f3');
    expect(await hand.takeAll()).toEqual(['f1', 'f2']);
    await queue.resumeLane('b');
    expect(await hand.drainByHand()).toEqual(['b1', 'b2']);
    expect((await queue.auditLanes()).findings).toEqual([]);
  });

  it('is obliterated with its lanes', async () => {
    const hand = laneHand(bundle);
    const { queue } = hand;
    await queue.addBulk(['1', '2', '3'].map((data) => ({ name: 'n', data, opts: { lane: 'a' } })));
    await hand.add('a1 a2 b1 b2', { orderMs: 5 });
    await hand.add('c1', { delay: 600_000 });
    await queue.setLaneConcurrency('d', 2);
    await queue.pauseLane('e');
    await forget(hand);

    await queue.obliterate({ force: true });
    const keys = await bundle.server.admin.keys(`${queue.qualifiedName}:*`);
    expect(keys.filter((key) => !key.includes(':meta:replay:'))).toEqual([]);
  });

  it('the first add to any lane finds the others', async () => {
    const hand = laneHand(bundle);
    const { queue } = hand;
    await hand.add('a1 a2 b1', { orderMs: 5 });
    await hand.queue.pauseLane('b');
    await forget(hand);

    // Into another lane.
    await hand.add('c1');
    expect(await hand.drainByHand()).toEqual(['a1', 'c1', 'a2']);
    expect(await queue.getLanes()).toMatchObject([{ lane: 'b', isPaused: true, depth: 1 }]);
  });
});
