// One side produces, the other consumes, in both directions and for every kind of job.

import { describe, expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';
import { type Any, useLibraries } from './libraries.ts';

const bundle = useBundle();
const { yoke, six, five } = useLibraries(bundle);

const pairs = [
  { producer: yoke, consumer: six },
  { producer: six, consumer: yoke },
  { producer: yoke, consumer: five },
  { producer: five, consumer: yoke },
];

describe.each(pairs)('$producer.name produces, $consumer.name consumes:', ({ producer, consumer }) => {
  it('runs standard, lifo, prioritized and custom jobs in one and the same order', async () => {
    const name = bundle.name();
    const queue = producer.queue(name);
    await queue.add('first', { n: 1 });
    await queue.add('low', { n: 2 }, { priority: 10 });
    await queue.add('high', { n: 3 }, { priority: 1 });
    await queue.addBulk([
      { name: 'bulk-a', data: { n: 4 } },
      { name: 'bulk-b', data: { n: 5 }, opts: { jobId: 'custom' } },
    ]);
    await queue.add('top', { n: 6 }, { lifo: true });
    await queue.add('again', { n: 7 }, { jobId: 'custom' });
    await queue.add('high-too', { n: 8 }, { priority: 1 });
    const ran: string[] = [];
    const seen: Any[] = [];

    const worker = consumer.worker(name, async (job) => {
      ran.push(job.name);
      seen.push({ id: job.id, data: job.data, priority: job.priority, attemptsMade: job.attemptsMade });
      return { echo: job.data };
    });
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(7));
    await worker.close();

    expect(ran).toEqual(['top', 'first', 'bulk-a', 'bulk-b', 'high', 'high-too', 'low']);
    expect(seen[3]).toEqual({ id: 'custom', data: { n: 5 }, priority: 0, attemptsMade: 0 });
    expect(seen[6].priority).toBe(10);
    const stored = await queue.getJob('custom');
    expect(stored.returnvalue).toEqual({ echo: { n: 5 } });
    expect(stored.attemptsMade).toBe(1);
    expect(stored.attemptsStarted).toBe(1);
    expect(stored.finishedOn).toBeGreaterThanOrEqual(stored.processedOn);
    expect(await stored.getState()).toBe('completed');
    expect(await queue.getJobCounts('waiting', 'active', 'prioritized', 'delayed', 'failed')).toMatchObject({
      waiting: 0,
      active: 0,
      prioritized: 0,
      delayed: 0,
      failed: 0,
    });
  });

  it('wakes an idle worker for a new job and for a delayed one when it is due', async () => {
    const name = bundle.name();
    const ran: { name: string; at: number; dueAt: number }[] = [];
    const worker = consumer.worker(
      name,
      async (job) => {
        ran.push({ name: job.name, at: Date.now(), dueAt: job.timestamp + (job.opts.delay ?? 0) });
      },
      { drainDelay: 60 },
    );
    const isDrained = nextEvent(worker, 'drained');
    await worker.waitUntilReady();
    await isDrained;
    const queue = producer.queue(name);

    await queue.add('later', {}, { delay: 400 });
    await queue.add('sooner', {}, { delay: 150 });
    await queue.add('now', {});

    // The worker sleeps for a minute unless a marker wakes it, so coming here at all is the proof.
    await eventually(() => expect(ran.map((entry) => entry.name)).toEqual(['now', 'sooner', 'later']));
    for (const entry of ran) expect(entry.at).toBeGreaterThanOrEqual(entry.dueAt - 1);
  });

  it('retries with backoff, keeps traces, progress and logs, and fails for good at the last attempt', async () => {
    const name = bundle.name();
    const queue = producer.queue(name);
    const doomed = await queue.add('doomed', {}, { attempts: 3, backoff: { type: 'fixed', delay: 30 } });
    const healing = await queue.add(
      'healing',
      {},
      { attempts: 5, backoff: { type: 'exponential', delay: 10 } },
    );
    const plain = await queue.add('plain', {}, { attempts: 2 });
    const hopeless = await queue.add('hopeless', {}, { attempts: 4 });
    const attempts: Record<string, number[]> = { doomed: [], healing: [], plain: [], hopeless: [] };

    consumer.worker(name, async (job) => {
      attempts[job.name]!.push(job.attemptsMade);
      await job.updateProgress({ attempt: job.attemptsMade });
      await job.log(`attempt ${job.attemptsMade}`);
      if (job.name === 'hopeless') {
        const error = new Error('never');
        error.name = 'UnrecoverableError';
        throw error;
      }
      if (job.name === 'doomed' || job.attemptsMade === 0) throw new Error(`${job.name} ${job.attemptsMade}`);
      return 'well';
    });
    await eventually(async () => {
      expect(await queue.getJobCounts('completed', 'failed')).toMatchObject({ completed: 2, failed: 2 });
    });

    expect(attempts).toEqual({ doomed: [0, 1, 2], healing: [0, 1], plain: [0, 1], hopeless: [0] });
    const failed = await queue.getJob(doomed.id);
    expect(failed.failedReason).toBe('doomed 2');
    expect(failed.stacktrace).toHaveLength(3);
    expect(failed.stacktrace[0]).toContain('doomed 0');
    expect(failed.attemptsMade).toBe(3);
    expect(failed.attemptsStarted).toBe(3);
    expect(failed.progress).toEqual({ attempt: 2 });
    expect(await failed.isFailed()).toBe(true);
    expect((await queue.getJobLogs(doomed.id)).logs).toEqual(['attempt 0', 'attempt 1', 'attempt 2']);
    expect((await queue.getJob(healing.id)).returnvalue).toBe('well');
    expect((await queue.getJob(plain.id)).attemptsMade).toBe(2);
    expect((await queue.getJob(hopeless.id)).attemptsMade).toBe(1);
  });

  it('keeps as many finished jobs as the producer asked for', async () => {
    const name = bundle.name();
    const queue = producer.queue(name);
    // Ids of one digit: of those that finish in one millisecond the one with the lower text counts as older.
    for (let i = 0; i < 4; i++) await queue.add(`kept-${i}`, {}, { removeOnComplete: 2 });
    for (let i = 0; i < 3; i++) await queue.add(`failed-${i}`, {}, { removeOnFail: { count: 1 } });
    const gone = await queue.add('gone', {}, { removeOnComplete: true });
    const old = await queue.add('aged', {}, { removeOnComplete: { age: 3600, count: 100 } });
    consumer.worker(name, async (job) => {
      if (job.name.startsWith('failed')) throw new Error('no');
    });

    await eventually(async () => expect(await queue.getJobState(old.id)).toBe('completed'));

    expect((await queue.getCompleted()).map((job: Any) => job.name)).toEqual(['aged', 'kept-3', 'kept-2']);
    expect((await queue.getFailed()).map((job: Any) => job.name)).toEqual(['failed-2']);
    expect(await queue.getJob(gone.id)).toBeUndefined();
    // Nothing is left of the removed ones.
    const records = (await bundle.server.admin.keys(`bull:${name}:*`)).filter((key) =>
      /:\d+(:|$)/.test(key.slice(5 + name.length)),
    );
    expect(records).toHaveLength(4);
  });

  it('passes awkward payloads through unchanged', async () => {
    const name = bundle.name();
    const queue = producer.queue(name);
    const data = {
      empty: [],
      nested: { list: [[], {}] },
      text: '\u0000 \u{1f600} é "quotes" \\ \n',
      big: 9007199254740991,
      tiny: 1e-7,
      nothing: null,
    };
    const job = await queue.add('awkward', data);
    let received: unknown;
    const worker = consumer.worker(name, async (got) => {
      received = got.data;
      return got.data;
    });

    await nextEvent(worker, 'completed');

    expect(received).toEqual(data);
    expect((await queue.getJob(job.id)).returnvalue).toEqual(data);
  });
});
