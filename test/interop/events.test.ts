// QueueEvents of each library hears the jobs of the others, with the same names and fields.

import { describe, expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { eventually } from '../support/eventually.ts';
import { type Any, type Library, useLibraries } from './libraries.ts';

const bundle = useBundle();
const { yoke, six, five } = useLibraries(bundle);

const NAMES = [
  'added',
  'waiting',
  'active',
  'progress',
  'completed',
  'failed',
  'retries-exhausted',
  'delayed',
  'removed',
  'duplicated',
  'cleaned',
  'paused',
  'resumed',
  'drained',
] as const;

type Entry = [event: string, args: Any];

interface Heard {
  readonly entries: Entry[];
  readonly ids: unknown[];
}

async function record(library: Library, name: string): Promise<Heard> {
  const heard: Heard = { entries: [], ids: [] };
  const listener = library.events(name);
  for (const event of NAMES) {
    listener.on(event, (args: Any, id: unknown) => {
      heard.entries.push([event, event === 'drained' ? undefined : args]);
      // The id of the stream entry comes last; `drained` has nothing else to tell.
      heard.ids.push(event === 'drained' ? args : id);
    });
  }
  await listener.waitUntilReady();
  return heard;
}

/** A little life of a queue, one step after another, so that its events have one order. */
async function live(name: string, producer: Library, consumer: Library): Promise<{ dueAt: number }> {
  const queue = producer.queue(name);
  const settled = (job: Any, state: string) =>
    eventually(async () => expect(await queue.getJobState(job.id)).toBe(state));
  const worker = consumer.worker(name, async (job) => {
    if (job.name === 'bad') throw new Error('bad luck');
    if (job.name === 'telling') await job.updateProgress({ at: [1, 2] });
    return { of: job.name };
  });
  await worker.waitUntilReady();
  await settled(await queue.add('telling', {}), 'completed');
  await settled(await queue.add('bad', {}, { attempts: 2 }), 'failed');
  await queue.pause();
  await queue.add('same', {}, { jobId: 'same' });
  await queue.add('same', {}, { jobId: 'same' });
  const delayed = await queue.add('later', {}, { delay: 3_600_000, timestamp: 1_900_000_000_000 });
  await (await queue.getJob(delayed.id)).remove();
  const urgent = await queue.add('urgent', {}, { priority: 3 });
  await queue.resume();
  await settled(urgent, 'completed');
  await queue.clean(0, 0, 'completed');
  await worker.close();
  return { dueAt: 1_900_000_000_000 + 3_600_000 };
}

describe('what is heard is the same whoever works and whoever listens', () => {
  const pairs = [
    { worker: yoke, producer: yoke },
    { worker: six, producer: yoke },
    { worker: yoke, producer: six },
    { worker: yoke, producer: five },
  ];

  it.each(pairs)('$producer.name produces, $worker.name works', async ({ producer, worker }) => {
    const name = bundle.name();
    const heard = await Promise.all([yoke, six, five].map((library) => record(library, name)));
    const { dueAt } = await live(name, producer, worker);

    const isWhole = ({ entries }: Heard) => entries.some(([event]) => event === 'cleaned');
    await eventually(() => expect(heard.every(isWhole)).toBe(true));

    const expected: Entry[] = [
      ['added', { jobId: '1', name: 'telling' }],
      ['waiting', { jobId: '1' }],
      ['active', { jobId: '1', prev: 'waiting' }],
      ['progress', { jobId: '1', data: { at: [1, 2] } }],
      ['completed', { jobId: '1', returnvalue: { of: 'telling' }, prev: 'active' }],
      ['added', { jobId: '2', name: 'bad' }],
      ['waiting', { jobId: '2' }],
      ['active', { jobId: '2', prev: 'waiting' }],
      ['waiting', { jobId: '2', prev: 'active' }],
      ['active', { jobId: '2', prev: 'waiting' }],
      ['failed', { jobId: '2', failedReason: 'bad luck', prev: 'active' }],
      ['retries-exhausted', { jobId: '2', attemptsMade: '2' }],
      ['paused', {}],
      ['added', { jobId: 'same', name: 'same' }],
      ['waiting', { jobId: 'same' }],
      ['duplicated', { jobId: 'same' }],
      ['added', { jobId: '5', name: 'later' }],
      ['delayed', { jobId: '5', delay: dueAt }],
      ['removed', { jobId: '5', prev: 'delayed' }],
      ['added', { jobId: '6', name: 'urgent' }],
      ['waiting', { jobId: '6' }],
      ['resumed', {}],
      ['active', { jobId: 'same', prev: 'waiting' }],
      ['completed', { jobId: 'same', returnvalue: { of: 'same' }, prev: 'active' }],
      ['active', { jobId: '6', prev: 'waiting' }],
      ['completed', { jobId: '6', returnvalue: { of: 'urgent' }, prev: 'active' }],
      ['cleaned', { count: '3' }],
    ];
    for (const { entries, ids } of heard) {
      expect(ids.filter((id) => !/^\d+-\d+$/.test(String(id)))).toEqual([]);
      expect(entries.filter(([event]) => event !== 'drained')).toEqual(expected);
      // Drained is told when the last job of a burst has finished; how many bursts there were is a matter of time.
      expect(entries.filter(([event]) => event === 'drained').length).toBeGreaterThanOrEqual(1);
    }
    expect(heard[1]).toEqual(heard[0]);
    expect(heard[2]).toEqual(heard[0]);
  });
});

describe('waiting for a job that another library runs', () => {
  const pairs = [
    { waiter: yoke, worker: six },
    { waiter: yoke, worker: five },
    { waiter: six, worker: yoke },
    { waiter: five, worker: yoke },
  ];

  it.each(pairs)('$waiter.name waits for $worker.name', async ({ waiter, worker }) => {
    const name = bundle.name();
    const queue = waiter.queue(name);
    const events = waiter.events(name);
    await events.waitUntilReady();
    worker.worker(name, async (job) => {
      if (job.data.n < 0) throw new Error('too low');
      return { doubled: job.data.n * 2 };
    });

    const good = await queue.add('double', { n: 4 });
    const removed = await queue.add('double', { n: 5 }, { removeOnComplete: true, delay: 100 });
    const bad = await queue.add('double', { n: -1 }, { delay: 50 });
    const waitings = [good, bad, removed].map((job: Any) => job.waitUntilFinished(events, 20_000));
    const outcomes = await Promise.allSettled(waitings);

    expect(outcomes[0]).toEqual({ status: 'fulfilled', value: { doubled: 8 } });
    expect(outcomes[1]).toMatchObject({ status: 'rejected', reason: { message: 'too low' } });
    expect(outcomes[2]).toEqual({ status: 'fulfilled', value: { doubled: 10 } });
    // Also when it has long been finished.
    expect(await good.waitUntilFinished(events)).toEqual({ doubled: 8 });
    await expect(bad.waitUntilFinished(events)).rejects.toThrow('too low');
  });
});
