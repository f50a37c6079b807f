// Random histories of lanes: each step is done to the server and to the model, and both are compared after it.

import fc from 'fast-check';
import { expect } from 'vitest';
import type { Job } from '../../src/index.ts';
import { createTestClock, type TestClock } from '../../src/testing/index.ts';
import type { Bundle } from './bundle.ts';
import { LaneModel } from './lane-model.ts';
import { type LaneHand, laneHand } from './lanes.ts';

// Far above what passes while a test runs, so that a due time is never a matter of milliseconds.
const UNIT_MS = 10_000_000;
const LANES = ['a', 'b', 'c'];
const ATTEMPTS = 3;

interface Step {
  readonly kind: (typeof kinds)[number];
  /** Chooses among the jobs or lanes that the step can be done to. */
  readonly choice: number;
  readonly number: number;
}

// What is repeated happens more often.
const kinds = [
  ...['add', 'add', 'add', 'take', 'take', 'take', 'complete', 'complete', 'fail', 'fail'],
  ...[
    'add later',
    'advance',
    'give back',
    'stall',
    'remove',
    'reprocess',
    'pause',
    'resume',
    'limit',
    'drain',
  ],
] as const;

const stepOf = fc.record({
  kind: fc.constantFrom(...kinds),
  choice: fc.nat({ max: 1000 }),
  number: fc.integer({ min: -3, max: 3 }),
});

const rulesOf = fc.record({
  concurrency: fc.constantFrom(1, 1, 2),
  skips: fc.boolean(),
  halts: fc.boolean(),
});

const pick = <T>(list: readonly T[], choice: number): T | undefined => list[choice % list.length];

class History {
  readonly #hand: LaneHand;
  readonly #bundle: Bundle;
  readonly #model: LaneModel;
  readonly #clock: TestClock;
  readonly #running = new Map<string, Job>();
  #now = 0;
  #ids = 0;

  constructor(
    bundle: Bundle,
    clock: TestClock,
    rules: { concurrency: number; skips: boolean; halts: boolean },
  ) {
    this.#bundle = bundle;
    this.#clock = clock;
    this.#model = new LaneModel(rules);
    this.#hand = laneHand(bundle, {
      clock: 'client',
      laneConcurrency: rules.concurrency,
      laneOnRetry: rules.skips ? 'skip' : 'block',
      laneOnFailure: rules.halts ? 'halt' : 'continue',
    });
  }

  ready(): Promise<unknown> {
    return this.#hand.queue.getVersion();
  }

  async do({ kind, choice, number }: Step): Promise<void> {
    const model = this.#model;
    const { queue } = this.#hand;
    const lane = pick(LANES, choice)!;
    const active = pick(model.inState('active'), choice)?.id;
    switch (kind) {
      case 'add':
        return this.#add(lane, number, 0);
      case 'add later':
        return this.#add(lane, number, 1 + (choice % 3));
      case 'take':
        return this.#take();
      case 'complete':
        if (active === undefined) return;
        await this.#hand.complete(this.#ended(active));
        return model.finish(active, 'completed');
      case 'fail':
        if (active === undefined) return;
        return this.#fail(active);
      case 'give back':
        if (active === undefined) return;
        await this.#ended(active).moveToWait('hand');
        return model.giveBack(active);
      case 'stall':
        if (active === undefined) return;
        return this.#stall(active);
      case 'advance':
        this.#now += 1;
        return this.#clock.advance(UNIT_MS);
      case 'remove': {
        const id = pick([...model.jobs.keys()], choice);
        if (id === undefined) return;
        const isActive = model.jobs.get(id)!.state === 'active';
        expect(await queue.remove(id)).toBe(isActive ? 0 : 1);
        return isActive ? undefined : model.remove(id);
      }
      case 'reprocess': {
        const job = pick(model.inState('completed', 'failed'), choice);
        if (!job) return;
        await (await queue.getJob(job.id))!.retry(job.state as 'completed' | 'failed');
        return model.reprocess(job.id);
      }
      case 'pause':
        await queue.pauseLane(lane);
        return model.pause(lane);
      case 'resume':
        await queue.resumeLane(lane);
        return model.resume(lane);
      case 'limit': {
        const concurrency = number > 0 ? number : undefined;
        await queue.setLaneConcurrency(lane, concurrency ?? null);
        return model.limit(lane, concurrency);
      }
      case 'drain':
        // Rarely, or there would be little to see.
        if (number !== 3) return;
        await queue.drain();
        return model.drain();
    }
  }

  /** Everything that lanes are made of, on both sides. */
  async compare(title: string): Promise<void> {
    const { admin } = this.#bundle.server;
    const { queue } = this.#hand;
    const model = this.#model;
    const key = (suffix: string) => queue.toKey(suffix);
    const [wait, active, waiting, listed] = await Promise.all([
      admin.lrange(key('wait'), 0, -1),
      admin.lrange(key('active'), 0, -1),
      admin.zrange(key('de'), '0', '-1'),
      queue.getLanes(),
    ]);
    const found = {
      wait: wait.reverse(),
      active: active.sort(),
      waiting: waiting.sort(),
      lanes: await Promise.all(
        listed.map(async ({ lane, out, isPaused, isHalted, depth }) => ({
          lane,
          out,
          isPaused,
          isHalted,
          depth,
          resting: (await queue.getLaneJobs(lane, { start: out.length })).map(({ id }) => id),
        })),
      ),
    };
    const expected = {
      wait: model.wait,
      active: model
        .inState('active')
        .map(({ id }) => id)
        .sort(),
      waiting: model
        .inState('resting', 'later')
        .map(({ id }) => id)
        .sort(),
      lanes: LANES.map((name) => {
        const { out, isPaused, isHalted } = model.lane(name);
        const resting = model.resting(name).map(({ id }) => id);
        return { lane: name, out, isPaused, isHalted, depth: resting.length, resting };
      }).filter(({ out, isPaused, isHalted, depth }) => out.length + depth > 0 || isPaused || isHalted),
    };
    expect(found, title).toEqual(expected);
  }

  /** Lets everything run to its end: nothing is stuck, nothing is left. */
  async end(): Promise<void> {
    for (const name of LANES) {
      await this.do({ kind: 'resume', choice: LANES.indexOf(name), number: 0 });
      await this.do({ kind: 'limit', choice: LANES.indexOf(name), number: 0 });
    }
    for (let n = 0; n < 4; n++) await this.do({ kind: 'advance', choice: 0, number: 0 });
    expect((await this.#hand.queue.auditLanes()).findings).toEqual([]);
    for (;;) {
      await this.#take();
      const [id] = this.#running.keys();
      if (id === undefined) break;
      await this.do({ kind: 'complete', choice: 0, number: 0 });
    }
    expect(this.#model.inState('resting', 'later', 'ready', 'active')).toEqual([]);
    await this.compare('at the end');
    expect(await this.#hand.leftovers()).toEqual([]);
  }

  async #add(lane: string, order: number, units: number): Promise<void> {
    // Of one width: jobs due in the same millisecond come in the order of their ids.
    const id = `j${String(++this.#ids).padStart(4, '0')}`;
    const delay = units * UNIT_MS - UNIT_MS / 2;
    await this.#hand.queue.add(
      'n',
      {},
      {
        jobId: id,
        lane,
        orderMs: order,
        attempts: ATTEMPTS,
        ...(units > 0 ? { delay } : {}),
      },
    );
    this.#model.add(id, lane, order, units > 0 ? this.#now + units : 0);
  }

  async #take(): Promise<void> {
    let job: Job | undefined;
    // One fetch looks at a bounded number of jobs that are not their lane's turn.
    do job = await this.#hand.take();
    while (!job && (await this.#bundle.server.admin.llen(this.#hand.queue.toKey('wait'))) > 0);
    this.#model.promote(this.#now);
    expect(job?.id).toBe(this.#model.take());
    if (job) this.#running.set(job.id!, job);
  }

  async #fail(id: string): Promise<void> {
    const job = this.#ended(id);
    const isLast = job.attemptsMade + 1 >= ATTEMPTS;
    await this.#hand.fail(job);
    if (isLast) return this.#model.finish(id, 'failed');
    this.#model.promote(this.#now);
    this.#model.retry(id);
  }

  async #stall(id: string): Promise<void> {
    await this.#hand.tick();
    this.#model.promote(this.#now);
    await this.#bundle.server.admin.del(this.#hand.queue.toKey(`${id}:lock`));
    expect(await this.#hand.tick()).toEqual([id]);
    this.#ended(id);
    this.#model.giveBack(id);
  }

  #ended(id: string): Job {
    const job = this.#running.get(id)!;
    this.#running.delete(id);
    return job;
  }
}

/** `runs` histories of about `length` steps each; how many steps were compared. */
export async function checkLaneHistories(bundle: Bundle, runs: number, length: number): Promise<number> {
  let count = 0;
  const seed = process.env.YOKE_TEST_SEED ? { seed: Number(process.env.YOKE_TEST_SEED) } : {};
  await fc.assert(
    fc.asyncProperty(
      rulesOf,
      fc.array(stepOf, { minLength: length, maxLength: length }),
      async (rules, steps) => {
        const clock = createTestClock();
        try {
          const history = new History(bundle, clock, rules);
          await history.ready();
          for (const [n, step] of steps.entries()) {
            await history.do(step);
            await history.compare(`step ${n + 1}: ${step.kind}`);
            count++;
          }
          await history.end();
        } finally {
          clock.restore();
        }
      },
    ),
    { numRuns: runs, endOnFailure: true, ...seed },
  );
  return count;
}
