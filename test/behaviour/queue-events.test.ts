import { describe, expect, it } from 'vitest';
import { QueueEvents, QueueEventsProducer } from '../../src/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';

const bundle = useBundle();

const names = [
  'added',
  'waiting',
  'delayed',
  'active',
  'progress',
  'completed',
  'failed',
  'retries-exhausted',
  'removed',
  'duplicated',
  'paused',
  'resumed',
  'cleaned',
] as const;

/** All events from now on, in order: name and arguments. */
async function listening(name: string) {
  const events = bundle.events(name);
  const told: [string, unknown][] = [];
  const ids: string[] = [];
  for (const event of names) {
    events.on(event, ((args: unknown, id: string) => {
      told.push([event, args]);
      ids.push(id);
    }) as never);
  }
  events.on('drained', (id) => {
    told.push(['drained', undefined]);
    ids.push(id);
  });
  await events.waitUntilReady();
  return { events, told, ids };
}

describe('QueueEvents', () => {
  it('tells a job’s way with decoded arguments and rising ids', async () => {
    const queue = bundle.queue();
    const { told, ids } = await listening(queue.name);
    const job = await queue.add('mail', {});
    bundle.worker(queue.name, async (current) => {
      await current.updateProgress({ half: true });
      return { sent: 1 };
    });
    await eventually(() => expect(told.map(([event]) => event)).toContain('drained'));
    expect(told).toEqual([
      ['added', { jobId: job.id, name: 'mail' }],
      ['waiting', { jobId: job.id }],
      ['active', { jobId: job.id, prev: 'waiting' }],
      ['progress', { jobId: job.id, data: { half: true } }],
      ['completed', { jobId: job.id, returnvalue: { sent: 1 }, prev: 'active' }],
      ['drained', undefined],
    ]);
    expect(ids.every((id) => /^\d+-\d+$/.test(id))).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('tells failed and retries-exhausted only for the last attempt', async () => {
    const queue = bundle.queue();
    const { told } = await listening(queue.name);
    const job = await queue.add('n', {}, { attempts: 2 });
    bundle.worker(queue.name, async () => {
      throw new Error('bad');
    });
    await eventually(() => expect(told.map(([event]) => event)).toContain('retries-exhausted'));
    expect(told.filter(([event]) => event === 'failed')).toEqual([
      ['failed', { jobId: job.id, failedReason: 'bad', prev: 'active' }],
    ]);
    expect(told).toContainEqual(['retries-exhausted', { jobId: job.id, attemptsMade: '2' }]);
    expect(told).toContainEqual(['waiting', { jobId: job.id, prev: 'active' }]);
  });

  it('tells delayed with the due time, duplicated, removed, cleaned, paused and resumed', async () => {
    const queue = bundle.queue();
    const { told } = await listening(queue.name);
    const delayed = await queue.add('n', {}, { jobId: 'd', delay: 100_000 });
    await queue.add('n', {}, { jobId: 'd' });
    await queue.remove('d');
    await queue.add('n', {}, { jobId: 'w', timestamp: 1000 });
    await queue.clean(0, 0, 'wait');
    await queue.pause();
    await queue.resume();
    await eventually(() => expect(told.at(-1)?.[0]).toBe('resumed'));
    expect(told).toContainEqual(['delayed', { jobId: 'd', delay: delayed.timestamp + 100_000 }]);
    expect(told).toContainEqual(['duplicated', { jobId: 'd' }]);
    expect(told).toContainEqual(['removed', { jobId: 'd', prev: 'delayed' }]);
    expect(told).toContainEqual(['cleaned', { count: '1' }]);
    expect(told).toContainEqual(['paused', {}]);
  });

  it('tells every event of a job also under the job’s own name', async () => {
    const queue = bundle.queue();
    const events = bundle.events(queue.name);
    await events.waitUntilReady();
    const mine = nextEvent(events, 'completed:mine');
    await queue.addBulk([
      { name: 'n', data: {}, opts: { jobId: 'other' } },
      { name: 'n', data: {}, opts: { jobId: 'mine' } },
    ]);
    bundle.worker(queue.name, async (job) => job.id);
    const [args, id] = await mine;
    expect(args).toEqual({ jobId: 'mine', returnvalue: 'mine', prev: 'active' });
    expect(id).toMatch(/^\d+-\d+$/);
  });

  it('starts now by default, or at the place it is given', async () => {
    const queue = bundle.queue();
    await queue.add('n', {}, { jobId: 'before' });
    const seen: string[] = [];
    const late = bundle.events(queue.name);
    late.on('added', ({ jobId }) => seen.push(jobId));
    await late.waitUntilReady();
    const early = bundle.events(queue.name, { lastEventId: '0', autorun: false });
    const first = nextEvent(early, 'added');
    const run = early.run();
    await expect(early.run()).rejects.toThrow('Queue Events is already running.');
    expect((await first)[0]).toMatchObject({ jobId: 'before' });
    await queue.add('n', {}, { jobId: 'after' });
    await eventually(() => expect(seen).toEqual(['after']));
    await early.close();
    await run;
  });

  it('closes at once while it waits, and a listener that throws does not stop it', async () => {
    const queue = bundle.queue();
    const events = bundle.events(queue.name, { blockingTimeout: 60_000 });
    const errors: Error[] = [];
    let count = 0;
    events.on('error', (error) => errors.push(error));
    events.on('added', () => {
      count++;
      throw new Error('in a listener');
    });
    await events.waitUntilReady();
    await queue.add('n', {});
    await queue.add('n', {});
    await eventually(() => expect(count).toBe(2));
    expect(errors).toHaveLength(2);
    await events.close();
    expect(events.closing).toBeDefined();
  });

  it('refuses a client with a key prefix', () => {
    expect(() => new QueueEvents('q', { connection: { keyPrefix: 'x:' } })).toThrow(
      'BullMQ: ioredis does not support ioredis prefixes, use the prefix option instead.',
    );
  });
});

describe('QueueEventsProducer', () => {
  it('publishes events of one’s own that readers hear', async () => {
    const name = bundle.name();
    const events = bundle.events(name);
    await events.waitUntilReady();
    const producer = bundle.track(new QueueEventsProducer(name, { connection: bundle.server.connection }));
    const custom = nextEvent(events, 'custom');
    const ofJob = nextEvent(events, 'custom:7');
    await producer.publishEvent({ eventName: 'custom', text: 'hello', jobId: '7' });
    const [args, id] = await custom;
    expect(args).toEqual({ text: 'hello', jobId: '7' });
    expect(id).toMatch(/^\d+-\d+$/);
    expect((await ofJob)[0]).toEqual(args);
  });

  it('keeps about as many events as asked, and refuses one without a name', async () => {
    const name = bundle.name();
    const producer = bundle.track(new QueueEventsProducer(name, { connection: bundle.server.connection }));
    for (let i = 0; i < 300; i++) await producer.publishEvent({ eventName: 'e', i }, 10);
    expect(await bundle.server.admin.xlen(producer.keys.events!)).toBeLessThan(250);
    await expect(producer.publishEvent({ eventName: '' })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });
});
