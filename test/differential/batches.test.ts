// A mixed load run by real workers: BullMQ's one job at a time, Yoke's with all jobs at once, so that many finishes
// and fetches share one call. Every job must end in the same state.

import type { Job, JobsOptions } from 'bullmq';
import { UnrecoverableError } from 'bullmq';
import { expect, it, vi } from 'vitest';
import type * as yoke from '../../src/index.ts';
import { eventually } from '../support/eventually.ts';
import { type Space, withoutOrder } from './compare.ts';
import { advance, level, type Pair, spacesOf, useServer, withSides } from './scenario.ts';
import type { Side } from './sides.ts';
import { failure } from './steps.ts';

useServer();

type Deed = 'complete' | 'fail' | 'fail once' | 'fail twice' | 'never' | 'postpone';

const kinds: [Deed, JobsOptions][] = [
  ['complete', {}],
  ['complete', { priority: 3 }],
  ['complete', { lifo: true, removeOnComplete: true }],
  ['complete', { delay: 500 }],
  ['fail', {}],
  ['fail', { removeOnFail: true }],
  ['fail once', { attempts: 3 }],
  ['fail once', { attempts: 3, priority: 2 }],
  ['fail once', { attempts: 3, backoff: 1000 }],
  ['fail twice', { attempts: 2 }],
  ['fail twice', { attempts: 3, backoff: { type: 'exponential', delay: 300 } }],
  ['never', { attempts: 5 }],
  ['postpone', {}],
];

const ROUNDS = 6;
const COUNT = kinds.length * ROUNDS;
const DELAYED = ROUNDS;

async function handle(job: Job, token?: string): Promise<unknown> {
  const deed: Deed = job.data.deed;
  if (deed === 'complete') return { of: job.id };
  if (deed === 'never') throw Object.assign(new UnrecoverableError('never'), { stack: 'never' });
  if (deed === 'postpone') {
    if (job.attemptsStarted > 1) return 'later';
    await job.moveToDelayed(Date.now() + 700, token);
    throw failure('postponed', 'DelayedError');
  }
  if (deed === 'fail once' && job.attemptsMade > 0) return 'at last';
  if (deed === 'fail twice' && job.attemptsMade > 1) return 'at last';
  throw failure(`${deed} ${job.attemptsMade}`);
}

/** Holds first attempts until so many have started, so that they end in one turn. */
function together(count: number): typeof handle {
  let started = 0;
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  return async (job, token) => {
    if (++started === count) open();
    if (job.attemptsStarted === 1) await gate;
    return handle(job, token);
  };
}

async function untilIdle(side: Side, names = ['main']): Promise<void> {
  await eventually(async () => {
    for (const name of names) {
      const due = (Date.now() + 1) * 4096 - 1;
      expect(await side.redis.zcount(side.key('delayed', name), '-inf', due)).toBe(0);
      const counts = await side.queue(name).getJobCounts('waiting', 'prioritized', 'active');
      expect(counts).toEqual({ waiting: 0, prioritized: 0, active: 0 });
    }
  });
}

/** BullMQ runs what is ready one by one, Yoke all `count` jobs together; resolves to the most finishes in one call. */
async function runBoth(pair: Pair, count: number): Promise<number> {
  const slow = pair.bullmq.runningWorker('main', handle, { skipStalledCheck: true });
  await untilIdle(pair.bullmq);
  await slow.close();

  const handler = count > 0 ? together(count) : handle;
  const fast = pair.yoke.runningWorker('main', handler, { skipStalledCheck: true, concurrency: 200 });
  const exchange = vi.spyOn((fast as unknown as yoke.Worker).leases, 'post');
  await untilIdle(pair.yoke);
  await fast.close();
  const verbs = ['complete', 'complete-', 'fail', 'retry', 'delay'];
  const finishes = exchange.mock.calls.map(
    ([argv]) => argv.filter((word: string) => verbs.includes(word)).length,
  );
  return Math.max(...finishes);
}

// Markers are hints that workers take and put back as they come and go; a queue may run dry several times on the way;
// the turn within a priority is the order of arrival.
function states(space: Space): Space {
  const kept = Object.entries(withoutOrder(space)).filter(([suffix]) => !suffix.endsWith(':marker'));
  for (const [suffix, key] of kept) {
    if (suffix.endsWith(':prioritized')) key.value = key.value.map(([id]: [string, number]) => id).sort();
    if (suffix.endsWith(':events')) key.value = key.value.filter((row: string[]) => row[1] !== 'drained');
  }
  return Object.fromEntries(kept);
}

it('a mixed load ends in the same states, however many jobs share a call', async () => {
  await withSides(['main'], async (pair) => {
    const jobs = Array.from({ length: COUNT }, (_, i) => {
      const [deed, opts] = kinds[i % kinds.length]!;
      return { name: deed, data: { deed }, opts };
    });
    for (const { name, data, opts } of jobs) await pair.bullmq.queue().add(name, data, opts);
    await Promise.all(jobs.map(({ name, data, opts }) => pair.yoke.queue().add(name, data, opts)));
    const [bullmqAdded, yokeAdded] = await spacesOf(pair);
    level(bullmqAdded, yokeAdded, []);
    expect(yokeAdded, 'after the adds').toEqual(bullmqAdded);

    let mostFinishes = 0;
    for (let phase = 0; phase < 4; phase++) {
      // The first phase holds all jobs until the last one is there, so that they end together.
      mostFinishes = Math.max(mostFinishes, await runBoth(pair, phase === 0 ? COUNT - DELAYED : 0));
      const [bullmqSpace, yokeSpace] = await spacesOf(pair);
      level(bullmqSpace, yokeSpace, []);
      expect(states(yokeSpace), `after phase ${phase + 1}`).toEqual(states(bullmqSpace));
      advance(1000);
    }
    expect(mostFinishes, 'finishes in one call').toBeGreaterThan(10);
    expect(await pair.yoke.queue().getJobCounts('delayed', 'failed')).toEqual({
      delayed: 0,
      failed: expect.any(Number),
    });
  });
});

it('as many jobs are kept, however many end in one call', async () => {
  await withSides(['main'], async (pair) => {
    const jobs = Array.from({ length: 60 }, (_, i) => {
      const deed = i % 2 ? 'fail' : 'complete';
      return {
        name: deed,
        data: { deed },
        opts: { removeOnComplete: 7, removeOnFail: { count: 5, age: 60 } },
      };
    });
    await pair.bullmq.queue().addBulk(jobs);
    await pair.yoke.queue().addBulk(jobs);
    await runBoth(pair, jobs.length);
    const [bullmqSpace, yokeSpace] = await spacesOf(pair);
    level(bullmqSpace, yokeSpace, []);
    expect(states(yokeSpace)).toEqual(states(bullmqSpace));
    expect(await pair.yoke.queue().getJobCounts('completed', 'failed')).toEqual({ completed: 7, failed: 5 });
  });
});

it('children that end in one call settle their parents like children that end one by one', async () => {
  const policies: JobsOptions[] = [
    {},
    { failParentOnFailure: true },
    { continueParentOnFailure: true },
    { ignoreDependencyOnFailure: true },
    { removeDependencyOnFailure: true },
    { failParentOnFailure: true, removeOnFail: true },
    // Without a priority: a child that goes without a policy puts its parent into the plain list, in both libraries,
    // so that a prioritized parent's place depends on which child is the last.
    { removeOnFail: true },
  ];
  await withSides(['main', 'other'], async (pair) => {
    for (const side of [pair.bullmq, pair.yoke]) {
      for (const [index, policy] of policies.entries()) {
        await side.flows.add({
          name: 'parent',
          queueName: 'other',
          opts: { jobId: `parent ${index}`, priority: index % 2 },
          children: [0, 1, 2].map((n) => ({
            name: 'child',
            queueName: 'main',
            data: { deed: n === 1 ? 'fail' : 'complete' },
            opts: { jobId: `child ${index}.${n}`, ...policy },
          })),
        });
      }
    }
    await runBoth(pair, policies.length * 3);
    const [bullmqSpace, yokeSpace] = await spacesOf(pair);
    level(bullmqSpace, yokeSpace, []);
    expect(states(yokeSpace)).toEqual(states(bullmqSpace));
  });
});
