// Job schedulers are made by BullMQ; Yoke workers run their iterations and keep them going, with the same ids, data and
// options that a BullMQ worker would have written.

import { describe, expect, it } from 'vitest';
import type { QueueOptions } from '../../src/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually } from '../support/eventually.ts';
import { laneHand, taken } from '../support/lanes.ts';
import { type Any, type Library, useLibraries } from './libraries.ts';

const bundle = useBundle();
const { yoke, six, five } = useLibraries(bundle);

/** Iterations that wait for their turn. */
async function pending(queue: Any): Promise<Any[]> {
  const jobs = await queue.getJobs(['delayed', 'waiting', 'prioritized']);
  return jobs.filter((job: Any) => job.repeatJobKey);
}

describe('an interval', () => {
  it.each([
    { maker: six, workers: [yoke], title: 'yoke alone' },
    { maker: six, workers: [yoke, six], title: 'yoke and bullmq 6' },
    { maker: five, workers: [yoke, five], title: 'yoke and bullmq 5' },
  ])('goes on under $title, one iteration at a time, until its limit', async ({ maker, workers }) => {
    const name = bundle.name();
    const queue = maker.queue(name);
    const every = 60;
    const limit = 5;
    const ran: Any[] = [];
    const crowds: number[] = [];
    for (const library of workers) {
      library.worker(name, async (job) => {
        ran.push({
          id: job.id,
          data: job.data,
          name: job.name,
          repeat: job.opts.repeat,
          key: job.repeatJobKey,
        });
        crowds.push((await pending(yoke.queue(name))).length);
        return job.opts.repeat.count;
      });
    }

    await queue.upsertJobScheduler(
      'tick',
      { every, limit },
      { name: 'beat', data: { list: [], n: 1 }, opts: { attempts: 3 } },
    );
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(limit));

    ran.sort((a, b) => a.repeat.count - b.repeat.count);
    expect(ran.map(({ repeat }) => repeat.count)).toEqual([1, 2, 3, 4, 5]);
    const slots = ran.map(({ id }) => Number(/^repeat:tick:(\d+)$/.exec(id)?.[1]));
    // Each slot once, in order, on the grid of the first.
    for (let i = 1; i < slots.length; i++) {
      expect(slots[i]! - slots[i - 1]!).toBeGreaterThan(0);
      expect((slots[i]! - slots[0]!) % every).toBe(0);
    }
    for (const run of ran) {
      expect(run).toMatchObject({
        name: 'beat',
        data: { list: [], n: 1 },
        key: 'tick',
        repeat: { every, limit },
      });
    }
    // Never two wait; none where another worker was quick to start the successor.
    expect(Math.max(...crowds)).toBeLessThanOrEqual(1);
    expect(await pending(queue)).toEqual([]);
    expect((await queue.getJobScheduler('tick')).iterationCount).toBe(limit);
    const last = await queue.getJob(ran[4].id);
    expect(last.opts.attempts).toBe(3);
  });

  it('a retried iteration does not schedule a second successor', async () => {
    const name = bundle.name();
    const queue = six.queue(name);
    await queue.upsertJobScheduler('far', { every: 600_000 }, { opts: { attempts: 3, backoff: 10 } });
    const ran: string[] = [];
    yoke.worker(name, async (job) => {
      ran.push(job.id);
      if (ran.length < 3) throw new Error('again');
    });

    await eventually(async () => expect(await queue.getCompletedCount()).toBe(1));

    expect(new Set(ran).size).toBe(1);
    expect(ran).toHaveLength(3);
    expect(await pending(queue)).toHaveLength(1);
  });

  it('removed by bullmq while yoke runs an iteration, it ends', async () => {
    const name = bundle.name();
    const queue = six.queue(name);
    await queue.upsertJobScheduler('brief', { every: 40 });
    yoke.worker(name, async () => void (await queue.removeJobScheduler('brief')));

    await eventually(async () => expect(await queue.getCompletedCount()).toBe(1));

    expect(await pending(queue)).toEqual([]);
    expect(await queue.getJobSchedulersCount()).toBe(0);
  });

  it('yoke refuses to remove the iteration that is due next, as bullmq does, and drains around it', async () => {
    const name = bundle.name();
    const queue = six.queue(name);
    await queue.upsertJobScheduler('kept', { every: 600_000, startDate: Date.now() + 600_000 });
    const own = yoke.queue(name);
    const [iteration] = await pending(own);

    await expect(iteration.remove()).rejects.toThrow(/belongs to a job scheduler/);
    await own.drain(true);
    await own.clean(0, 0, 'delayed');

    expect((await pending(queue)).map((job: Any) => job.id)).toEqual([iteration.id]);
  });
});

describe('with a lane in its template', () => {
  const HOUR = 3_600_000;

  /** A scheduler of which Yoke has run the first iteration; the next one, which Yoke has stored, is due in an hour. */
  async function begun(opts: QueueOptions = {}) {
    const hand = laneHand(bundle, opts);
    const { name } = hand.queue;
    let due = Date.now();
    const settings = { repeatStrategy: () => due };
    const queue = six.queue(name, { settings });
    const upsert = () => queue.upsertJobScheduler('daily', { pattern: '0 3 * * *' }, { opts: { lane: 'a' } });
    await upsert();
    due += HOUR;
    const worker = yoke.worker(name, async () => {}, { settings });
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(1));
    await worker.close();
    const [job] = await pending(hand.queue);
    expect(job).toMatchObject({ id: `repeat:daily:${due}`, lane: 'a', orderMs: due });
    const keys = async () =>
      (await bundle.server.admin.keys(`${hand.queue.qualifiedName}:repeat:daily*`)).sort();
    return { hand, queue, upsert, job: job as Any, keys };
  }

  it('bullmq makes it again, as an app does whenever it starts, and removes it with the iteration that waits', async () => {
    const { hand, queue, upsert, job, keys } = await begun();

    expect((await upsert()).id).toBe(job.id);
    expect(await pending(hand.queue)).toHaveLength(1);
    await queue.clean(0, 0, 'completed');
    await queue.removeJobScheduler('daily');

    expect(await keys()).toEqual([]);
    expect(await pending(hand.queue)).toEqual([]);
    expect(await hand.leftovers()).toEqual([]);
  });

  it('what bullmq removes as stored by yoke leaves nothing behind', async () => {
    const { hand, queue, keys } = await begun();
    await queue.clean(0, 0, 'completed');
    await queue.removeJobScheduler('daily');

    expect(await keys()).toEqual([]);
    await hand.tick();
    expect(await hand.leftovers()).toEqual([]);
  });

  it('the iteration counts once while it waits, and nobody takes it for lost or for one of those that go', async () => {
    const { hand, job } = await begun();
    const own = hand.queue;

    expect(await own.getJobCounts('delayed', 'waiting')).toEqual({ delayed: 1, waiting: 0 });
    expect(await own.getJobs('delayed')).toMatchObject([{ id: job.id }]);
    expect(await job.getState()).toBe('delayed');
    await own.drain(true);
    await own.clean(0, 0, 'delayed');
    expect(await own.removeLane('a')).toBe(0);
    await hand.tick();
    expect((await own.auditLanes()).findings).toEqual([]);

    expect(await pending(own)).toMatchObject([{ id: job.id, lane: 'a' }]);
    await own.obliterate({ force: true });
    expect(await own.getJob(job.id)).toBeUndefined();
    expect(await hand.leftovers()).toEqual([]);
  });

  it('once due it goes into its lane, behind whoever is out and before those who come after it', async () => {
    const { hand, job } = await begun();
    await hand.add('a1');
    await hand.add('a2', { orderMs: job.orderMs + 1 });
    const a1 = await taken(hand, 'a1');
    await job.promote();

    expect(await hand.take()).toBeUndefined();
    expect(await hand.queue.getLanes()).toMatchObject([{ lane: 'a', out: ['a1'], depth: 2 }]);
    expect(await hand.queue.getJobCounts('delayed', 'waiting')).toEqual({ delayed: 0, waiting: 2 });
    await hand.complete(a1);
    const iteration = await taken(hand, job.id);
    expect(await hand.take()).toBeUndefined();
    await hand.complete(iteration);
    expect(await hand.drainByHand()).toEqual(['a2']);
  });

  it('a lane that is paused keeps it', async () => {
    const { hand, job } = await begun();
    await hand.queue.pauseLane('a');
    await job.promote();
    expect(await hand.take()).toBeUndefined();
    await hand.queue.resumeLane('a');
    await taken(hand, job.id);
  });

  it('an ordering delay holds it back as any other, and wakes those who sleep', async () => {
    const { hand, job } = await begun({ orderingDelayMs: 400 });
    await job.promote();
    expect(await hand.take()).toBeUndefined();
    expect(await hand.queue.getLanes()).toMatchObject([{ lane: 'a', out: [], depth: 1 }]);
    await hand.add('a1', { orderMs: Date.now() - 1_000_000 });
    const started: string[] = [];
    yoke.worker(hand.queue.name, async (running) => void started.push(running.id));
    await eventually(() => expect(started).toEqual(['a1', job.id]));
  });

  it('released lanes make an ordinary job of it too', async () => {
    const { hand, job } = await begun();
    await hand.queue.releaseLanes();
    const released = await hand.queue.getJob(job.id);
    expect([released!.lane, released!.orderMs]).toEqual([undefined, undefined]);
    await released!.promote();
    await hand.complete(await taken(hand, job.id));
    expect(await hand.queue.getLanes()).toEqual([]);
  });
});

it('a repeatable job of bullmq 5 goes on under yoke with its data, and under bullmq 5 after that', async () => {
  const name = bundle.name();
  const queue = five.queue(name);
  await queue.add('old', { list: [], n: 1 }, { repeat: { every: 40 } });
  const ran: Any[] = [];
  const handler = async (job: Any) =>
    void ran.push({ id: job.id, data: job.data, name: job.name, count: job.opts.repeat.count });
  const worker = yoke.worker(name, handler);
  await eventually(() => expect(ran.length).toBeGreaterThanOrEqual(3));
  await worker.close();
  expect(await pending(queue)).toHaveLength(1);
  const count = ran.length;
  const old = five.worker(name, handler);
  await eventually(() => expect(ran.length).toBeGreaterThanOrEqual(count + 2));
  await old.close();

  expect(new Set(ran.map(({ id }) => id)).size).toBe(ran.length);
  expect(ran.map((run) => run.count)).toEqual(ran.map((_, i) => i + 1));
  for (const run of ran) expect(run).toMatchObject({ name: 'old', data: { list: [], n: 1 } });
  expect(await pending(queue)).toHaveLength(1);
});

it('yoke reads the schedulers that bullmq made as bullmq does', async () => {
  const name = bundle.name();
  const queue = six.queue(name);
  const own = yoke.queue(name);
  const startDate = Date.now() + 60_000;
  await queue.upsertJobScheduler('plain', { every: 60_000 });
  await queue.upsertJobScheduler('cron', {
    pattern: '0 3 * * *',
    tz: 'Europe/Paris',
    limit: 9,
    endDate: startDate * 2,
  });
  const template = {
    name: 'n',
    data: { a: [1] },
    opts: { attempts: 2, keepLogs: 3, removeOnComplete: true },
  };
  await queue.upsertJobScheduler('with:template', { every: 1000, startDate }, template);

  expect(await own.getJobSchedulersCount()).toBe(3);
  for (const isAscending of [true, false]) {
    expect(await own.getJobSchedulers(0, -1, isAscending)).toEqual(
      await queue.getJobSchedulers(0, -1, isAscending),
    );
  }
  expect(await own.getJobSchedulers(1, 1)).toEqual(await queue.getJobSchedulers(1, 1));
  for (const id of ['plain', 'cron', 'with:template', 'none']) {
    expect(await own.getJobScheduler(id)).toEqual(await queue.getJobScheduler(id));
  }
  expect((await own.getJobScheduler('with:template'))!.template).toEqual({
    data: template.data,
    opts: template.opts,
  });
});

describe('the successor that yoke writes equals the one that bullmq writes', () => {
  const inAYear = new Date().getFullYear() + 1;
  const rules: [string, object, object?][] = [
    ['a cron pattern in UTC', { pattern: '0 0 1 1 *', tz: 'UTC' }],
    ['a time zone', { pattern: '30 2 * * *', tz: 'Europe/Berlin' }],
    ['another time zone', { pattern: '15 6 * * 1-5', tz: 'America/New_York' }],
    ['seconds', { pattern: '10 20 3 * * *', tz: 'Asia/Kolkata' }],
    ['the last day of the month', { pattern: '0 12 L * *', tz: 'UTC' }],
    ['day of month or day of week', { pattern: '0 0 13 * 5', tz: 'UTC' }],
    ['month and day names', { pattern: '0 9 * JAN,JUL MON', tz: 'UTC' }],
    ['steps and ranges', { pattern: '*/20 8-18/5 * * *', tz: 'Australia/Lord_Howe' }],
    ['a predefined word', { pattern: '@monthly', tz: 'UTC' }],
    ['sunday as seven', { pattern: '0 5 * * 7', tz: 'UTC' }],
    [
      'a start in the future',
      { pattern: '0 0 * * *', tz: 'UTC', startDate: `${inAYear}-06-15T12:00:00.000Z` },
    ],
    ['an end in the future', { pattern: '0 0 * * *', tz: 'UTC', endDate: `${inAYear}-12-31T00:00:00.000Z` }],
    ['a limit', { pattern: '0 0 * * *', tz: 'UTC', limit: 3 }],
    [
      'options of all kinds',
      { pattern: '0 0 * * *', tz: 'UTC' },
      {
        priority: 5,
        attempts: 4,
        backoff: { type: 'fixed', delay: 5 },
        removeOnComplete: 3,
        keepLogs: 2,
        lifo: true,
      },
    ],
    ['an interval with an offset', { every: 3_600_000, offset: 1234 }],
  ];

  /** Runs the pending iteration now and tells what stands in the queue afterwards. */
  async function oneIteration(library: Library, rule: object, opts: object | undefined): Promise<Any> {
    const name = bundle.name();
    const queue = six.queue(name);
    await queue.upsertJobScheduler('s:1', rule as never, { name: 'beat', data: { n: [] }, opts });
    const [first] = await pending(queue);
    if (await first.isDelayed()) await first.promote();
    const worker = library.worker(name, async () => {});
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(1));
    await worker.close();
    const { admin } = bundle.server;
    const [next, ...more] = await pending(queue);
    expect(more).toEqual([]);
    const record = await admin.hgetall(`bull:${name}:${next.id}`);
    const stored = JSON.parse(record.opts!);
    // Both depend on when the iteration happened to run.
    const { timestamp: _timestamp, delay: _delay, ...fixed } = stored;
    return {
      id: next.id,
      record: { name: record.name, data: record.data, rjk: record.rjk, priority: record.priority },
      opts: fixed,
      // What a delayed job's options promise is what its record says.
      isDelayTold: Number(record.delay) === stored.delay,
      state: await next.getState(),
      definition: await admin.hgetall(`bull:${name}:repeat:s:1`),
      score: await admin.zscore(`bull:${name}:repeat`, 's:1'),
      counter: await admin.get(`bull:${name}:id`),
    };
  }

  it.each(rules)('%s', async (_title, rule, opts) => {
    // Two runs on two sides of an occurrence would differ; the second try cannot meet another one.
    await eventually(async () => {
      const [theirs, ours] = await Promise.all([
        oneIteration(six, rule, opts),
        oneIteration(yoke, rule, opts),
      ]);
      if ('every' in rule)
        for (const side of [theirs, ours]) side.definition.offset = Number(side.definition.offset);
      expect(ours).toEqual(theirs);
    }, 5000);
  });
});

it('a pattern of every second goes on under yoke and bullmq together', async () => {
  const name = bundle.name();
  const queue = six.queue(name);
  const ran: Any[] = [];
  for (const library of [yoke, six]) {
    library.worker(
      name,
      async (job) => void ran.push({ id: job.id, count: job.opts.repeat.count, at: Date.now() }),
    );
  }
  await queue.upsertJobScheduler('second', { pattern: '* * * * * *', limit: 3 });

  await eventually(async () => expect(await queue.getCompletedCount()).toBe(3));

  expect(ran.map(({ count }) => count)).toEqual([1, 2, 3]);
  const slots = ran.map(({ id }) => Number(id.split(':')[2]));
  for (const [i, slot] of slots.entries()) {
    expect(slot % 1000).toBe(0);
    expect(ran[i].at).toBeGreaterThanOrEqual(slot);
    if (i > 0) expect(slot).toBeGreaterThan(slots[i - 1]!);
  }
  expect(await pending(queue)).toEqual([]);
});
