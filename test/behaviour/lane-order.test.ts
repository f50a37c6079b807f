// Order and exclusion of a lane survive retries, stalls, delays, manual retries and lowered limits.

import { afterEach, describe, expect, it } from 'vitest';
import { DelayedError, RateLimitError } from '../../src/index.ts';
import { createTestClock, expireLeases, type TestClock } from '../../src/testing/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually } from '../support/eventually.ts';
import { laneHand, taken } from '../support/lanes.ts';

const bundle = useBundle();
let clock: TestClock | undefined;
afterEach(() => {
  clock?.restore();
  clock = undefined;
});
const timed = (opts = {}) => {
  clock = createTestClock();
  return laneHand(bundle, { clock: 'client', ...opts });
};

describe('a lane', () => {
  it('gives one job at a time, and the lanes take turns', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2 a3 b1 c1 b2');
    const first = [await taken(hand, 'a1'), await taken(hand, 'b1'), await taken(hand, 'c1')];
    expect(await hand.take()).toBeUndefined();
    await hand.complete(first[1]!);
    await hand.complete(first[0]!);
    await hand.complete(first[2]!);
    expect(await hand.drainByHand()).toEqual(['b2', 'a2', 'a3']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('a late arrival goes before those that wait, and behind one that was released', async () => {
    const hand = laneHand(bundle);
    await hand.add('a2', { orderMs: 20 });
    await hand.add('a4', { orderMs: 40 });
    await hand.add('a3', { orderMs: 30 });
    await hand.add('a1', { orderMs: 10 });
    expect(await hand.drainByHand()).toEqual(['a2', 'a1', 'a3', 'a4']);
  });

  it('carries the priority of its first job', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2', { priority: 9 });
    await hand.add('b1 b2', { priority: 2 });
    await hand.add('c1');
    await hand.add('a3', { priority: 1 });
    expect(await hand.drainByHand()).toEqual(['c1', 'b1', 'b2', 'a1', 'a2', 'a3']);
  });

  it('the first priority in a queue that had none counts when a worker hands the lane over', async () => {
    const queue = bundle.queue();
    await queue.add('first', {}, { lane: 'a' });
    const second = await queue.add('second', {}, { lane: 'a' });
    await queue.add('other', {}, { priority: 4 });
    await second.changePriority({ priority: 9 });
    const started: string[] = [];
    bundle.worker(queue.name, async (job) => started.push(job.name));
    await eventually(() => expect(started).toEqual(['first', 'other', 'second']));
  });

  it('a priority that is changed while the job rests counts when it goes out', async () => {
    const hand = laneHand(bundle);
    const [, a2] = await hand.add('a1 a2', { priority: 5 });
    await hand.add('b1 b2', { priority: 4 });
    await a2!.changePriority({ priority: 1 });
    expect(await hand.drainByHand()).toEqual(['b1', 'b2', 'a1', 'a2']);
    await hand.add('a3 a4', { priority: 5 });
    await hand.add('b3 b4', { priority: 4 });
    await hand.queue.getJob('a4').then((job) => job!.changePriority({ priority: 1 }));
    expect(await hand.drainByHand()).toEqual(['b3', 'b4', 'a3', 'a4']);
  });

  it('goes on when its job is removed, also one from the middle', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2 a3 a4');
    expect(await hand.queue.remove('a3')).toBe(1);
    expect(await hand.queue.remove('a1')).toBe(1);
    expect(await hand.drainByHand()).toEqual(['a2', 'a4']);
    expect(await hand.leftovers()).toEqual([]);
    expect(await hand.queue.remove('a2')).toBe(1);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('adds of one id twice add once', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2 a2 a1');
    expect(await hand.drainByHand()).toEqual(['a1', 'a2']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('is not held up by retention that keeps nothing', async () => {
    const hand = laneHand(bundle, { defaultJobOptions: { removeOnComplete: true } });
    await hand.add('a1 a2');
    expect(await hand.drainByHand()).toEqual(['a1', 'a2']);
    expect(await bundle.server.admin.exists(hand.queue.toKey('a1'))).toBe(0);
    expect(await hand.leftovers()).toEqual([]);
  });
});

describe('a failing job', () => {
  it('blocks its lane while it backs off, and nothing earlier overtakes it', async () => {
    const hand = timed();
    await hand.add('a2 a3', { orderMs: 20, attempts: 2, backoff: 1000 });
    await hand.fail(await taken(hand, 'a2'));
    await hand.add('a1', { orderMs: 10 });
    expect(await hand.queue.getJobState('a2')).toBe('delayed');
    expect(await hand.take()).toBeUndefined();
    await clock!.advance(1001);
    expect(await hand.drainByHand()).toEqual(['a2', 'a1', 'a3']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('blocks it also when it runs again at once', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2 b1', { attempts: 3 });
    await hand.fail(await taken(hand, 'a1'));
    expect(await hand.takeAll()).toEqual(['b1', 'a1']);
  });

  it('lets its lane go on once it has failed for good', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2');
    await hand.fail(await taken(hand, 'a1'));
    expect(await hand.drainByHand()).toEqual(['a2']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('steps aside where the queue wants that, and comes back to its own place', async () => {
    const hand = timed({ laneOnRetry: 'skip' });
    await hand.add('a1 a2 a3 a4', { attempts: 2, backoff: 1000 });
    await hand.fail(await taken(hand, 'a1'));
    expect(await hand.queue.getJobState('a1')).toBe('delayed');
    expect((await hand.queue.getDelayed()).map(({ id }) => id)).toEqual(['a1']);
    const a2 = await taken(hand, 'a2');
    await clock!.advance(1001);
    expect(await hand.take()).toBeUndefined();
    await hand.complete(a2);
    expect(await hand.drainByHand()).toEqual(['a1', 'a3', 'a4']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('steps aside without a backoff too: the next goes first', async () => {
    const hand = laneHand(bundle, { laneOnRetry: 'skip' });
    await hand.add('a1 a2 a3', { attempts: 2 });
    await hand.fail(await taken(hand, 'a1'));
    expect(await hand.drainByHand()).toEqual(['a2', 'a1', 'a3']);
    await hand.add('b1', { attempts: 2 });
    await hand.fail(await taken(hand, 'b1'));
    expect(await hand.drainByHand()).toEqual(['b1']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('halts its lane where the queue wants that; resumed, the lane goes on', async () => {
    const hand = laneHand(bundle, { laneOnFailure: 'halt' });
    await hand.add('a1 a2 b1');
    await hand.fail(await taken(hand, 'a1'));
    expect(await hand.takeAll()).toEqual(['b1']);
    expect(await hand.queue.getLanes()).toMatchObject([
      { lane: 'a', isHalted: true, isPaused: false, depth: 1, out: [] },
      { lane: 'b', isHalted: false, depth: 0, out: ['b1'] },
    ]);
    await hand.add('a3');
    expect(await hand.take()).toBeUndefined();
    // The failed one, retried by hand, has its old place.
    await (await hand.queue.getJob('a1'))!.retry();
    await hand.queue.resumeLane('a');
    expect(await hand.drainByHand()).toEqual(['a1', 'a2', 'a3']);
  });

  it('a halted lane stays listed when it is empty, and leaves nothing once resumed', async () => {
    const hand = laneHand(bundle, { laneOnFailure: 'halt' });
    await hand.add('a1');
    await hand.fail(await taken(hand, 'a1'));
    expect(await hand.queue.getLanes()).toMatchObject([{ lane: 'a', isHalted: true, depth: 0, out: [] }]);
    await hand.queue.resumeLane('a');
    expect(await hand.leftovers()).toEqual([]);
  });

  it('that stalls twice fails, and its lane goes on', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2');
    for (let stall = 0; stall < 2; stall++) {
      await taken(hand, 'a1');
      await hand.tick();
      await expireLeases(hand.queue);
      expect(await hand.tick()).toEqual(['a1']);
      // Whatever happens to it, it is the only one out.
      expect(await hand.queue.getLanes()).toMatchObject([{ out: ['a1'], depth: 1 }]);
    }
    const doomed = await taken(hand, 'a1');
    expect(doomed.deferredFailure).toBeDefined();
    await hand.fail(doomed);
    expect(await hand.drainByHand()).toEqual(['a2']);
  });
});

describe('a job that comes back', () => {
  it('keeps its place when it is retried by hand', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2 a3');
    await hand.fail(await taken(hand, 'a1'));
    const a2 = await taken(hand, 'a2');
    await (await hand.queue.getJob('a1'))!.retry();
    expect(await hand.queue.getJobState('a1')).toBe('waiting');
    await hand.complete(a2);
    expect(await hand.drainByHand()).toEqual(['a1', 'a3']);
    await hand.queue.retryJobs({ state: 'completed', timestamp: Date.now() + 60_000 });
    // The first that comes back goes out at once, the others go in their order.
    const [, ...others] = await hand.drainByHand();
    expect(others).toHaveLength(2);
    expect(others).toEqual([...others].sort());
    expect(await hand.leftovers()).toEqual([]);
  });

  it('stays out when its handler postpones it', async () => {
    const hand = timed();
    await hand.add('a1 a2');
    const job = await taken(hand, 'a1');
    await job.moveToDelayed(Date.now() + 1000, 'hand');
    expect(await hand.take()).toBeUndefined();
    await clock!.advance(1001);
    expect(await hand.drainByHand()).toEqual(['a1', 'a2']);
  });

  it('stays out when it is handed back', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2');
    await (await taken(hand, 'a1')).moveToWait('hand');
    expect(await hand.drainByHand()).toEqual(['a1', 'a2']);
  });

  it('stays out through rate limits and postponements of a running worker', async () => {
    const queue = bundle.queue();
    const started: string[] = [];
    const worker = bundle.worker(
      queue.name,
      async (job, token) => {
        started.push(job.id!);
        if (started.length === 1) {
          await worker.rateLimit(20);
          throw new RateLimitError();
        }
        if (started.length === 3) {
          await job.moveToDelayed(Date.now() + 20, token);
          throw new DelayedError();
        }
      },
      { concurrency: 4, limiter: { max: 100, duration: 1000 } },
    );
    await queue.addBulk(
      ['a', 'b', 'c'].map((id) => ({ name: 'n', data: 0, opts: { jobId: id, lane: 'x' } })),
    );
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(3));
    expect(started).toEqual(['a', 'a', 'b', 'b', 'c']);
  });
});

describe('a delayed job', () => {
  it('enters its lane when it is due and does not block it before', async () => {
    const hand = timed();
    await hand.add('a1', { orderMs: 1, delay: 1000 });
    await hand.add('a2 a3', { orderMs: 2 });
    expect(await hand.queue.getJobState('a1')).toBe('delayed');
    const a2 = await taken(hand, 'a2');
    await clock!.advance(1001);
    expect(await hand.take()).toBeUndefined();
    expect(await hand.queue.getJobState('a1')).toBe('waiting');
    await hand.complete(a2);
    expect(await hand.drainByHand()).toEqual(['a1', 'a3']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('those due together go in the order of their lane', async () => {
    const hand = timed();
    await hand.add('a3', { orderMs: 3, delay: 100 });
    await hand.add('a1', { orderMs: 1, delay: 300 });
    await hand.add('a2', { orderMs: 2, delay: 200 });
    await clock!.advance(301);
    expect(await hand.drainByHand()).toEqual(['a1', 'a2', 'a3']);
  });

  it('can be promoted, put off and removed', async () => {
    const hand = timed();
    const [a1, , a3] = await hand.add('a1 a2 a3', { delay: 1000 });
    await a1!.promote();
    expect(await hand.drainByHand()).toEqual(['a1']);
    await a3!.changeDelay(5000);
    await clock!.advance(1001);
    expect(await hand.drainByHand()).toEqual(['a2']);
    expect(await hand.queue.getJobCounts('delayed', 'waiting')).toEqual({ delayed: 1, waiting: 0 });
    await a3!.remove();
    expect(await hand.leftovers()).toEqual([]);
    await hand.add('a4 a5', { delay: 1000 });
    await hand.queue.promoteJobs();
    expect(await hand.drainByHand()).toEqual(['a4', 'a5']);
  });

  it('that comes due with the upkeep enters its lane once', async () => {
    const hand = timed({ laneConcurrency: 2 });
    await hand.add('a1');
    const a1 = await taken(hand, 'a1');
    await hand.add('a2', { delay: 1000 });
    await clock!.advance(1000);
    await hand.tick();
    expect(await hand.queue.getWaitingCount()).toBe(1);
    expect(await hand.takeAll()).toEqual(['a2']);
    await hand.complete(a1);
  });

  it('wakes a worker that sleeps', async () => {
    const queue = bundle.queue();
    const started: number[] = [];
    bundle.worker(queue.name, async () => {
      started.push(performance.now());
    });
    const from = performance.now();
    await queue.add('n', {}, { lane: 'a', delay: 150 });
    await eventually(() => expect(started).toHaveLength(1));
    expect(started[0]! - from).toBeGreaterThanOrEqual(145);
  });
});

describe('an ordering delay', () => {
  it('holds jobs back so that earlier ones can still sort in front', async () => {
    const hand = timed({ orderingDelayMs: 1_000_000 });
    const now = Date.now();
    await hand.add('a2', { orderMs: now - 100_000 });
    await hand.add('a3', { orderMs: now + 60_000_000 });
    expect(await hand.take()).toBeUndefined();
    await clock!.advance(500_000);
    await hand.add('a1', { orderMs: now - 400_000 });
    expect(await hand.take()).toBeUndefined();
    await clock!.advance(120_000);
    // The one from 400 s ago is due; the next is not.
    const a1 = await taken(hand, 'a1');
    await hand.complete(a1);
    expect(await hand.take()).toBeUndefined();
    await clock!.advance(300_000);
    await hand.complete(await taken(hand, 'a2'));
    expect(await hand.take()).toBeUndefined();
    // An order in the future counts from the arrival.
    await clock!.advance(120_000);
    expect(await hand.drainByHand()).toEqual(['a3']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('that is over when the upkeep comes lets the job out once', async () => {
    const hand = timed({ orderingDelayMs: 1000 });
    await hand.add('a1 a2');
    await clock!.advance(1000);
    await hand.tick();
    expect((await hand.queue.auditLanes()).findings).toEqual([]);
    expect(await hand.queue.getWaitingCount()).toBe(2);
    expect(await hand.takeAll()).toEqual(['a1']);
  });

  it('does not hold back what has run, and nothing goes before that', async () => {
    const hand = timed({ orderingDelayMs: 1000 });
    await hand.add('a2', { orderMs: 20, attempts: 2 });
    const a2 = await taken(hand, 'a2');
    await hand.add('a1', { orderMs: 10 });
    await hand.fail(a2);
    expect(await hand.drainByHand()).toEqual(['a2', 'a1']);
    await (await hand.queue.getJob('a2'))!.retry('completed');
    expect(await hand.drainByHand()).toEqual(['a2']);
  });

  it('wakes a worker that sleeps', async () => {
    const queue = bundle.queue(undefined, { orderingDelayMs: 200 });
    const started: number[] = [];
    bundle.worker(queue.name, async (job) => {
      started.push(job.data);
    });
    await queue.add('n', 2, { lane: 'a' });
    await queue.add('n', 1, { lane: 'a', orderMs: Date.now() - 100 });
    await eventually(() => expect(started).toEqual([1, 2]));
  });
});

describe('laneConcurrency', () => {
  it('lets as many out, then one once it is lowered', async () => {
    const hand = laneHand(bundle, { laneConcurrency: 3 });
    await hand.add('a1 a2 a3 a4 a5 a6');
    const [a1, a2] = [await taken(hand, 'a1'), await taken(hand, 'a2')];
    const lowered = bundle.queue(hand.queue.name, { laneConcurrency: 1 });
    await lowered.getVersion();
    // The third is out and has not started: it goes back to its place.
    expect(await hand.take()).toBeUndefined();
    await hand.complete(a2!);
    expect(await hand.take()).toBeUndefined();
    await hand.complete(a1!);
    const a3 = await taken(hand, 'a3');
    expect(await hand.take()).toBeUndefined();
    await hand.complete(a3);
    expect(await hand.drainByHand()).toEqual(['a4', 'a5', 'a6']);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('lets more out as soon as it is raised', async () => {
    const hand = laneHand(bundle);
    await hand.add('a1 a2 a3 b1 b2');
    await taken(hand, 'a1');
    const raised = bundle.queue(hand.queue.name, { laneConcurrency: 2 });
    await raised.getVersion();
    expect((await hand.takeAll()).sort()).toEqual(['a2', 'b1', 'b2']);
  });

  it('can be a single lane’s own', async () => {
    const hand = laneHand(bundle);
    await hand.queue.setLaneConcurrency('a', 2);
    await hand.add('a1 a2 a3 b1 b2');
    expect(await hand.takeAll()).toEqual(['a1', 'a2', 'b1']);
    await hand.queue.setLaneConcurrency('b', 2);
    expect(await hand.takeAll()).toEqual(['b2']);
    await hand.queue.setLaneConcurrency('a', null);
    await hand.queue.setLaneConcurrency('b', null);
    expect(await bundle.server.admin.exists(hand.queue.toKey('meta:lane-settings'))).toBe(0);
  });
});
