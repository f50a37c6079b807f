import { describe, expect, it } from 'vitest';
import { BulkAddError, Job, Queue, Worker, YokeError } from '../../src/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';
import { snapshot } from '../support/keyspace.ts';

const bundle = useBundle();

/** A queue with one job in a worker's hands, and the way to let it go. */
async function withActiveJob(queue: Queue) {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const worker = bundle.worker(queue.name, () => gate);
  const active = nextEvent(worker, 'active');
  const job = await queue.add('held', {});
  await active;
  return { job, worker, release };
}

describe('what a queue says of itself', () => {
  it('has the names, keys and properties of BullMQ', async () => {
    const queue = bundle.queue();
    expect(queue.qualifiedName).toBe(`bull:${queue.name}`);
    expect(queue.keys['']).toBe(`bull:${queue.name}:`);
    expect(queue.keys.wait).toBe(`bull:${queue.name}:wait`);
    expect(queue.keys['waiting-children']).toBe(`bull:${queue.name}:waiting-children`);
    expect(queue.toKey('meta')).toBe(`bull:${queue.name}:meta`);
    expect(queue.token).toMatch(/^[0-9a-f-]{36}$/);
    expect(queue.metaValues['opts.maxLenEvents']).toBe(10_000);
    expect(queue.metaValues.version).toMatch(/^bullmq:/);
    expect(await queue.getVersion()).toBe(queue.metaValues.version);
    expect(queue.closing).toBeUndefined();
  });

  it('keeps its options readable, unknown ones included', () => {
    const defaultJobOptions = { attempts: 4 };
    const opts = {
      prefix: 'nest',
      defaultJobOptions,
      forceDisconnectOnShutdown: true,
      connection: bundle.server.connection,
    };
    const queue = bundle.track(new Queue(bundle.name(), opts as object));
    expect(queue.opts).toEqual(opts);
    expect(queue.opts).not.toBe(opts);
    expect(queue.defaultJobOptions).toEqual({ attempts: 4 });
    expect(queue.defaultJobOptions).not.toBe(queue.defaultJobOptions);
    expect(queue.jobsOpts).toEqual({ attempts: 4 });
    expect(queue.qualifiedName).toBe(`nest:${queue.name}`);
  });

  it('writes its settings on construction unless told not to', async () => {
    const written = bundle.queue(undefined, { streams: { events: { maxLen: 77 } } });
    await written.getVersion();
    expect(await bundle.server.admin.hget(written.keys.meta!, 'opts.maxLenEvents')).toBe('77');
    const silent = bundle.queue(undefined, { skipMetasUpdate: true });
    await silent.waitUntilReady();
    expect(await silent.getVersion()).toBeNull();
    expect(await bundle.server.admin.exists(silent.keys.meta!)).toBe(0);
  });

  it('hands out its client in every way that dashboards use', async () => {
    const queue = bundle.queue();
    const client = await queue.client;
    expect(await queue.waitUntilReady()).toBe(client);
    expect(await queue.getBackend().client).toBe(client);
    expect(await queue.backend.blockingClient).toBe(client);
    expect(String(await (client as unknown as { info(): Promise<string> }).info())).toContain(
      'redis_version',
    );
    expect(queue.redisVersion).toMatch(/^\d+\.\d+/);
    expect(['redis', 'valkey']).toContain(queue.databaseType);
    expect(queue.getBackend().redisVersion).toBe(queue.redisVersion);
  });
});

describe('adding', () => {
  it('returns the job with its id, options and time, and tells waiting', async () => {
    const queue = bundle.queue(undefined, { defaultJobOptions: { attempts: 3, removeOnComplete: 5 } });
    const waiting = nextEvent(queue, 'waiting');
    const job = await queue.add('mail', { to: 'a' }, { attempts: 7, priority: 2 });
    expect((await waiting)[0]).toBe(job);
    expect(job).toBeInstanceOf(Job);
    expect(job).toMatchObject({
      id: '1',
      name: 'mail',
      data: { to: 'a' },
      priority: 2,
      delay: 0,
      attemptsMade: 0,
    });
    expect(job.opts).toMatchObject({ attempts: 7, priority: 2, removeOnComplete: 5 });
    expect(job.timestamp).toBe((await queue.getJob('1'))?.timestamp);
    expect((await queue.add('mail', { to: 'b' })).id).toBe('2');
  });

  it('never takes the id of a job from the defaults', async () => {
    const queue = bundle.queue(undefined, { defaultJobOptions: { jobId: 'x' } as object });
    expect((await queue.add('n', {})).id).toBe('1');
  });

  it('a second add with the same id adds nothing and returns that id with the new data', async () => {
    const queue = bundle.queue();
    await queue.add('first', { n: 1 }, { jobId: 'same' });
    const again = await queue.add('second', { n: 2 }, { jobId: 'same' });
    expect(again).toMatchObject({ id: 'same', name: 'second', data: { n: 2 } });
    expect(await queue.getJob('same')).toMatchObject({ name: 'first', data: { n: 1 } });
    expect(await queue.getWaitingCount()).toBe(1);
  });

  it('addBulk keeps the order and tells no event', async () => {
    const queue = bundle.queue();
    let told = 0;
    queue.on('waiting', () => told++);
    const rows = Array.from({ length: 300 }, (_, n) => ({ name: `n${n}`, data: { n } }));
    const jobs = await queue.addBulk(rows);
    expect(jobs.map(({ id }) => Number(id))).toEqual(rows.map((_, n) => n + 1));
    expect(jobs.map(({ name }) => name)).toEqual(rows.map(({ name }) => name));
    expect((await queue.getWaiting()).map(({ data }) => data.n)).toEqual(rows.map((_, n) => n));
    expect(told).toBe(0);
    expect(await queue.addBulk([])).toEqual([]);
  });

  describe('addBulk of more than it encodes at once', () => {
    const rowsOf = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ name: 'n', data: { n } as Record<string, unknown> }));

    it('a mistake in the last adds none', async () => {
      const queue = bundle.queue();
      const rows = [...rowsOf(600), { name: 'wrong', data: { n: 1n } }];
      await expect(queue.addBulk(rows)).rejects.toMatchObject({ key: 'PAYLOAD_NOT_SERIALISABLE' });
      expect(await queue.count()).toBe(0);
    });

    it('adds the data as it was when it was called', async () => {
      const queue = bundle.queue();
      const rows = rowsOf(600);
      const adding = queue.addBulk(rows);
      for (const { data } of rows) data.n = 'changed';
      await adding;
      expect((await queue.getWaiting()).map(({ data }) => data.n)).toEqual(rows.map((_, n) => n));
    });

    it('data that is another when it is read again is refused, with all that was not sent by then', async () => {
      const queue = bundle.queue();
      let readCount = 0;
      const changing = {
        get n() {
          if (readCount++ > 0) throw new Error('no more');
          return 1;
        },
      };
      const rows = [...rowsOf(500), { name: 'changing', data: changing }, ...rowsOf(9)];
      const error = await queue.addBulk(rows).catch((caught) => caught);
      expect(error).toBeInstanceOf(BulkAddError);
      expect(error.added.length + error.refused.length).toBe(rows.length);
      expect(error.refused.map(({ index }: { index: number }) => index)).toContain(500);
      expect(await queue.count()).toBe(error.added.length);
      expect((await queue.add('n', {})).id).toBeDefined();
    });
  });

  it('lifo jobs run before those that wait, priorities in their order after them', async () => {
    const queue = bundle.queue();
    await queue.add('p', 'low', { priority: 9 });
    await queue.add('p', 'high', { priority: 1 });
    await queue.add('p', 'first', {});
    await queue.add('p', 'last-in', { lifo: true });
    const order: unknown[] = [];
    const worker = bundle.worker(queue.name, async (job) => order.push(job.data));
    await nextEvent(worker, 'drained');
    await eventually(() => expect(order).toEqual(['last-in', 'first', 'high', 'low']));
  });

  it('static create and createBulk do the same', async () => {
    const queue = bundle.queue();
    expect(await Job.create(queue, 'one', { a: 1 })).toMatchObject({ id: '1', name: 'one' });
    expect((await Job.createBulk(queue, [{ name: 'two', data: {} }])).map(({ id }) => id)).toEqual(['2']);
  });
});

describe('pausing', () => {
  it('pause and resume tell it, and are seen by every client', async () => {
    const queue = bundle.queue();
    const other = bundle.queue(queue.name);
    const paused = nextEvent(queue, 'paused');
    await queue.pause();
    expect(await paused).toEqual([]);
    expect(await other.isPaused()).toBe(true);
    const resumed = nextEvent(queue, 'resumed');
    await queue.resume();
    expect(await resumed).toEqual([]);
    expect(await other.isPaused()).toBe(false);
  });

  it('no job starts while the queue is paused', async () => {
    const queue = bundle.queue();
    await queue.pause();
    const worker = bundle.worker(queue.name, async () => 'done');
    await queue.add('n', {});
    await nextEvent(worker, 'drained');
    expect(await queue.getJobCounts('waiting', 'active', 'completed')).toEqual({
      waiting: 1,
      active: 0,
      completed: 0,
    });
    const completed = nextEvent(worker, 'completed');
    void queue.resume();
    expect((await completed)[1]).toBe('done');
  });
});

describe('limits', () => {
  it('global concurrency is set, read, reached and removed', async () => {
    const queue = bundle.queue();
    expect(await queue.getGlobalConcurrency()).toBeNull();
    expect(await queue.isMaxed()).toBe(false);
    expect(await queue.setGlobalConcurrency(1)).toBe(1);
    expect(await queue.getGlobalConcurrency()).toBe(1);
    const { release, worker } = await withActiveJob(queue);
    expect(await queue.isMaxed()).toBe(true);
    const completed = nextEvent(worker, 'completed');
    release();
    await completed;
    expect(await queue.isMaxed()).toBe(false);
    expect(await queue.removeGlobalConcurrency()).toBe(1);
    expect(await queue.removeGlobalConcurrency()).toBe(0);
    expect(await queue.getGlobalConcurrency()).toBeNull();
  });

  it('the global rate limit is set, read and removed', async () => {
    const queue = bundle.queue();
    expect(await queue.getGlobalRateLimit()).toBeNull();
    expect(await queue.setGlobalRateLimit(5, 1000)).toBe(2);
    expect(await queue.getGlobalRateLimit()).toEqual({ max: 5, duration: 1000 });
    expect(await queue.removeGlobalRateLimit()).toBe(2);
    expect(await queue.getGlobalRateLimit()).toBeNull();
  });

  it('a manual limit holds workers that have a limiter until its key is removed', async () => {
    const queue = bundle.queue();
    expect(await queue.getRateLimitTtl()).toBe(-2);
    await queue.rateLimit(60_000);
    expect(await queue.getRateLimitTtl()).toBeGreaterThan(50_000);
    const worker = bundle.worker(queue.name, async () => 1, {
      limiter: { max: 10, duration: 1000 },
      maximumRateLimitDelay: 50,
    });
    await worker.waitUntilReady();
    await queue.add('n', {});
    expect(await queue.getRateLimitTtl(10)).toBeGreaterThan(0);
    expect(await queue.getWaitingCount()).toBe(1);
    const completed = nextEvent(worker, 'completed');
    expect(await queue.removeRateLimitKey()).toBe(1);
    await completed;
  });

  it('refuses numbers that are none', async () => {
    const queue = bundle.queue();
    await expect(queue.setGlobalConcurrency(Number.NaN)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    await expect(queue.setGlobalRateLimit(-1, 10)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    expect(await queue.getGlobalConcurrency()).toBeNull();
  });
});

describe('removing', () => {
  it('remove says 1 and tells it, 0 for a job that a worker holds', async () => {
    const queue = bundle.queue();
    const { job, release, worker } = await withActiveJob(queue);
    expect(await queue.remove(job.id!)).toBe(0);
    const completed = nextEvent(worker, 'completed');
    release();
    await completed;
    const removed = nextEvent(queue, 'removed');
    expect(await queue.remove(job.id!)).toBe(1);
    expect(await removed).toEqual([job.id]);
    expect(await queue.getJob(job.id!)).toBeUndefined();
  });

  it('drain removes what waits, delayed jobs only when asked', async () => {
    const queue = bundle.queue();
    await queue.addBulk([
      { name: 'w', data: {} },
      { name: 'p', data: {}, opts: { priority: 3 } },
      { name: 'd', data: {}, opts: { delay: 100_000 } },
    ]);
    await queue.drain();
    expect(await queue.getJobCounts('waiting', 'prioritized', 'delayed')).toEqual({
      waiting: 0,
      prioritized: 0,
      delayed: 1,
    });
    await queue.drain(true);
    expect(await queue.getDelayedCount()).toBe(0);
  });

  it('clean removes up to a limit of one state, returns the ids and tells each step', async () => {
    const queue = bundle.queue();
    await queue.addBulk(
      Array.from({ length: 5 }, (_, n) => ({
        name: 'n',
        data: {},
        opts: { jobId: `j${n}`, timestamp: 1000 + n },
      })),
    );
    const cleaned = nextEvent(queue, 'cleaned');
    const ids = await queue.clean(0, 2, 'waiting');
    expect(ids).toHaveLength(2);
    expect(await cleaned).toEqual([ids, 'wait']);
    expect(await queue.clean(0, 0, 'wait')).toHaveLength(3);
    expect(await queue.clean(0, 0)).toEqual([]);
    expect(await queue.count()).toBe(0);
  });

  it('clean leaves jobs younger than the grace period', async () => {
    const queue = bundle.queue();
    await queue.add('n', {});
    expect(await queue.clean(60_000, 0, 'wait')).toEqual([]);
    expect(await queue.getWaitingCount()).toBe(1);
  });

  it('clean removes more than one step of jobs', async () => {
    const queue = bundle.queue();
    const steps: number[] = [];
    queue.on('cleaned', (ids) => steps.push(ids.length));
    await queue.addBulk(
      Array.from({ length: 1500 }, () => ({ name: 'n', data: {}, opts: { timestamp: 1000 } })),
    );
    expect(await queue.clean(0, 0, 'wait')).toHaveLength(1500);
    expect(steps.reduce((sum, n) => sum + n, 0)).toBe(1500);
    expect(steps.length).toBeGreaterThan(1);
  });

  it('obliterate leaves nothing, and refuses while jobs are active unless forced', async () => {
    const queue = bundle.queue();
    const { release, worker } = await withActiveJob(queue);
    await queue.add('n', {}, { delay: 10_000 });
    await expect(queue.obliterate()).rejects.toThrow('Cannot obliterate queue with active jobs');
    await queue.obliterate({ force: true });
    const left = await snapshot(bundle.server.admin, `${queue.qualifiedName}:`);
    expect(Object.keys(left)).toEqual([]);
    worker.on('error', () => {});
    release();
    await worker.close();
  });

  it('trimEvents says how many events went', async () => {
    const queue = bundle.queue();
    await queue.addBulk(Array.from({ length: 300 }, () => ({ name: 'n', data: {} })));
    expect(await queue.trimEvents(0)).toBeGreaterThan(0);
    expect(await queue.removeDeprecatedPriorityKey()).toBe(0);
  });

  it('removeOrphanedJobs removes records that no state holds, and no others', async () => {
    const queue = bundle.queue();
    const kept = await queue.add('kept', {});
    const { admin } = bundle.server;
    for (const id of ['lost-1', 'lost-2', 'lost-3'])
      await admin.hset(queue.toKey(id), 'name', 'n', 'timestamp', '1');
    expect(await queue.removeOrphanedJobs(100, 1)).toBe(1);
    expect(await queue.removeOrphanedJobs()).toBe(2);
    expect(await queue.removeOrphanedJobs()).toBe(0);
    expect(await queue.getJob(kept.id!)).toBeDefined();
  });

  it('deduplication keys of others can be looked up and removed, also under their old names', async () => {
    const queue = bundle.queue();
    await bundle.server.admin.set(queue.toKey('de:a'), '7');
    await bundle.server.admin.set(queue.toKey('de:b'), '8');
    expect(await queue.getDeduplicationJobId('a')).toBe('7');
    expect(await queue.getDebounceJobId('b')).toBe('8');
    expect(await queue.removeDeduplicationKey('a')).toBe(1);
    expect(await queue.removeDebounceKey('b')).toBe(1);
    expect(await queue.removeDeduplicationKey('a')).toBe(0);
    expect(await queue.getDeduplicationJobId('a')).toBeNull();
  });
});

describe('many jobs at once', () => {
  it('retryJobs runs failed jobs again, and completed ones when asked', async () => {
    const queue = bundle.queue();
    let fails = true;
    const worker = bundle.worker(queue.name, async () => {
      if (fails) throw new Error('not yet');
      return 'ok';
    });
    await queue.addBulk(Array.from({ length: 3 }, () => ({ name: 'n', data: {} })));
    await eventually(async () => expect(await queue.getFailedCount()).toBe(3));
    fails = false;
    await queue.retryJobs();
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(3));
    await worker.close();
    await queue.retryJobs({ state: 'completed', count: 2 });
    expect(await queue.getJobCounts('completed', 'waiting')).toEqual({ completed: 0, waiting: 3 });
  });

  it('retryJobs leaves those that failed after the time given', async () => {
    const queue = bundle.queue();
    const worker = bundle.worker(queue.name, async () => {
      throw new Error('no');
    });
    await queue.add('n', {});
    await nextEvent(worker, 'failed');
    await queue.retryJobs({ timestamp: 1000 });
    expect(await queue.getFailedCount()).toBe(1);
  });

  it('promoteJobs makes delayed jobs runnable', async () => {
    const queue = bundle.queue();
    await queue.addBulk(
      Array.from({ length: 5 }, () => ({ name: 'n', data: {}, opts: { delay: 1_000_000 } })),
    );
    await queue.promoteJobs({ count: 2 });
    expect(await queue.getJobCounts('delayed', 'waiting')).toEqual({ delayed: 0, waiting: 5 });
  });

  it('waitForEmpty resolves true when all has run and false when its time is over', async () => {
    const queue = bundle.queue();
    expect(await queue.waitForEmpty()).toBe(true);
    await queue.add('n', {});
    expect(await queue.waitForEmpty(1)).toBe(false);
    bundle.worker(queue.name, async () => 1);
    expect(await queue.waitForEmpty(20_000)).toBe(true);
    expect(await queue.getCompletedCount()).toBe(1);
  });
});

describe('progress and logs through the queue', () => {
  it('updateJobProgress stores and tells it', async () => {
    const queue = bundle.queue();
    const job = await queue.add('n', {});
    const progress = nextEvent(queue, 'progress');
    await queue.updateJobProgress(job.id!, { step: 3 });
    expect(await progress).toEqual([job.id, { step: 3 }]);
    expect((await queue.getJob(job.id!))?.progress).toEqual({ step: 3 });
    await expect(queue.updateJobProgress('none', 1)).rejects.toThrow(
      'Missing key for job none. updateProgress',
    );
  });

  it('addJobLog says how many rows there are and keeps as many as asked', async () => {
    const queue = bundle.queue();
    const job = await queue.add('n', {});
    expect(await queue.addJobLog(job.id!, 'a')).toBe(1);
    expect(await queue.addJobLog(job.id!, 'b')).toBe(2);
    expect(await queue.addJobLog(job.id!, 'c', 2)).toBe(2);
    expect(await queue.getJobLogs(job.id!)).toEqual({ logs: ['b', 'c'], count: 2 });
    await expect(queue.addJobLog('none', 'x')).rejects.toThrow('Missing key for job none. addLog');
  });
});

describe('what comes later is refused with a reason', () => {
  it.each([
    'upsertJobScheduler',
    'removeJobScheduler',
    'getRepeatableJobs',
    'removeRepeatable',
    'removeRepeatableByKey',
  ])('queue.%s', async (method) => {
    const queue = bundle.queue() as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const error = await queue[method]!('id', { every: 1000 }, {}).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(YokeError);
    expect(error).toMatchObject({ code: 'NOT_SUPPORTED_YET' });
    expect(String(error)).toContain(method);
  });

  it('properties and options of schedulers, flows, deduplication and sandboxes', async () => {
    const queue = bundle.queue();
    const later = { code: 'NOT_SUPPORTED_YET' };
    expect(() => queue.jobScheduler).toThrow(expect.objectContaining(later));
    expect(() => queue.repeat).toThrow(expect.objectContaining(later));
    for (const opts of [
      { repeat: { every: 10 } },
      { deduplication: { id: 'x' } },
      { debounce: { id: 'x' } },
      { parent: { id: '1', queue: 'bull:q' } },
      { failParentOnFailure: true },
    ]) {
      await expect(queue.add('n', {}, opts)).rejects.toMatchObject(later);
    }
    expect(await queue.count()).toBe(0);
    const { connection } = bundle.server;
    expect(() => new Worker(queue.name, '/some/file.js', { connection })).toThrow(
      expect.objectContaining(later),
    );
    expect(() => new Worker(queue.name, null, { connection, metrics: { maxDataPoints: 1 } })).toThrow(
      expect.objectContaining(later),
    );
    expect(() => new Queue(queue.name, { connection, telemetry: {} })).toThrow(
      expect.objectContaining(later),
    );
  });
});
