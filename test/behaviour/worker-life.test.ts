import { describe, expect, it } from 'vitest';
import { Queue, RateLimitError, Worker } from '../../src/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';

const bundle = useBundle();

/** A handler that runs until it is let go, and how many of it run. */
function held() {
  const releases: (() => void)[] = [];
  return {
    handler: () => new Promise<string>((resolve) => releases.push(() => resolve('let go'))),
    get count() {
      return releases.length;
    },
    releaseAll: () => {
      for (const release of releases.splice(0)) release();
    },
  };
}

describe('running', () => {
  it('runs as many jobs at a time as its concurrency, which can change meanwhile', async () => {
    const queue = bundle.queue();
    const jobs = held();
    const worker = bundle.worker(queue.name, jobs.handler, { concurrency: 2 });
    await queue.addBulk(Array.from({ length: 10 }, () => ({ name: 'n', data: {} })));
    await eventually(() => expect(jobs.count).toBe(2));
    expect(worker.concurrency).toBe(2);
    expect(worker.isProcessing()).toBe(true);
    expect(
      worker
        .getCurrentJobs()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(['1', '2']);
    expect(worker.getCurrentJob()?.id).toBeDefined();
    expect(worker.health()).toMatchObject({
      isHealthy: true,
      isRunning: true,
      isPaused: false,
      runningCount: 2,
    });
    worker.concurrency = 5;
    await eventually(() => expect(jobs.count).toBe(5));
    expect(await queue.getActiveCount()).toBe(5);
    worker.concurrency = 1;
    jobs.releaseAll();
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(5));
    await eventually(() => expect(jobs.count).toBe(1));
    expect(await queue.getActiveCount()).toBe(1);
    for (const wrong of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, '3' as never, undefined as never]) {
      expect(() => {
        worker.concurrency = wrong;
      }).toThrow('concurrency must be a finite number greater than 0');
    }
    expect(worker.concurrency).toBe(1);
    const end = worker.close();
    jobs.releaseAll();
    await end;
    expect(worker.isProcessing()).toBe(false);
    expect(worker.getCurrentJobs()).toEqual([]);
    expect(worker.health()).toMatchObject({ isHealthy: false, isRunning: false, runningCount: 0 });
  });

  it('a concurrency that is a fraction runs one more', async () => {
    const queue = bundle.queue();
    const jobs = held();
    const worker = bundle.worker(queue.name, jobs.handler, { concurrency: 2.5 });
    const errors: Error[] = [];
    worker.on('error', (error) => errors.push(error));
    await queue.addBulk(Array.from({ length: 10 }, () => ({ name: 'n', data: {} })));
    await eventually(() => expect(jobs.count).toBe(3));
    worker.concurrency = 1.5;
    jobs.releaseAll();
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(3));
    await eventually(() => expect(jobs.count).toBe(2));
    await eventually(async () => {
      jobs.releaseAll();
      expect(await queue.getCompletedCount()).toBe(10);
    });
    expect(errors).toEqual([]);
  });

  it('with autorun off nothing runs before run(), and run() settles when it is closed', async () => {
    const queue = bundle.queue();
    const worker = bundle.worker(queue.name, async () => 'x', { autorun: false });
    const job = await queue.add('n', {});
    await worker.waitUntilReady();
    expect(worker.isRunning()).toBe(false);
    const completed = nextEvent(worker, 'completed');
    const run = worker.run();
    await expect(worker.run()).rejects.toThrow('Worker is already running.');
    expect((await completed)[0].id).toBe(job.id);
    await worker.close();
    await run;
  });

  it('without a processor it does not run', async () => {
    const worker = bundle.worker(bundle.name(), null);
    await expect(worker.run()).rejects.toThrow('No process function is defined.');
    expect(worker.isRunning()).toBe(false);
  });

  it('has an id, reads its options back and hands out both clients', async () => {
    const { connection } = bundle.server;
    const opts = { connection, someNestOption: 1 } as object;
    const worker = bundle.track(new Worker(bundle.name(), async () => 1, opts));
    expect(worker.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(worker.opts).toMatchObject({ someNestOption: 1, connection });
    const blocking = await worker.waitUntilReady();
    expect(await worker.getBackend().blockingClient).toBe(blocking);
    expect(await worker.client).not.toBe(blocking);
    expect(Worker.RateLimitError()).toBeInstanceOf(RateLimitError);
  });

  it('health knows when the server last answered', async () => {
    const worker = bundle.worker(bundle.name(), async () => 1);
    await nextEvent(worker, 'drained');
    const health = worker.health();
    expect(health).toMatchObject({ isHealthy: true, isRunning: true, isPaused: false, runningCount: 0 });
    expect(health.sinceLastPollMs).toBeGreaterThanOrEqual(0);
    await worker.pause();
    expect(worker.health()).toMatchObject({ isPaused: true });
  });
});

describe('pausing', () => {
  it('waits for running jobs unless told not to', async () => {
    const queue = bundle.queue();
    const jobs = held();
    const worker = bundle.worker(queue.name, jobs.handler);
    await queue.add('n', {});
    await eventually(() => expect(jobs.count).toBe(1));
    await worker.pause(true);
    expect(worker.isProcessing()).toBe(true);
    await worker.resume();
    let isPaused = false;
    const pausing = worker.pause().then(() => {
      isPaused = true;
    });
    expect(await queue.getActiveCount()).toBe(1);
    expect(isPaused).toBe(false);
    jobs.releaseAll();
    await pausing;
    expect(await queue.getCompletedCount()).toBe(1);
  });
});

describe('closing', () => {
  it('waits for running jobs and stores their outcome', async () => {
    const queue = bundle.queue();
    const jobs = held();
    const worker = bundle.worker(queue.name, jobs.handler);
    const job = await queue.add('n', {});
    await eventually(() => expect(jobs.count).toBe(1));
    const closed = worker.close();
    jobs.releaseAll();
    await closed;
    expect(await job.isCompleted()).toBe(true);
  });

  it('hands back what does not end in time, with no attempt charged, and aborts its signal', async () => {
    const queue = bundle.queue();
    let reason: unknown;
    const worker = bundle.worker(
      queue.name,
      (_job, _token, signal) =>
        new Promise(() => {
          signal!.addEventListener('abort', () => {
            reason = signal!.reason;
          });
        }),
      { shutdownTimeout: 10 },
    );
    const active = nextEvent(worker, 'active');
    const job = await queue.add('n', {});
    await active;
    await worker.close();
    expect(await job.isWaiting()).toBe(true);
    expect(reason).toMatchObject({ code: 'SHUTDOWN_ABORT' });
    const read = (await queue.getJob(job.id!))!;
    expect(read).toMatchObject({ attemptsMade: 0, stalledCounter: 0 });
    const other = bundle.worker(queue.name, async () => 'elsewhere');
    expect((await nextEvent(other, 'completed'))[1]).toBe('elsewhere');
  });

  it('by force does not wait at all', async () => {
    const queue = bundle.queue();
    const jobs = held();
    const worker = bundle.worker(queue.name, jobs.handler);
    await queue.add('n', {});
    await eventually(() => expect(jobs.count).toBe(1));
    await worker.close(true);
    expect(await queue.getWaitingCount()).toBe(1);
  });

  it('leaves a client alone that it was given', async () => {
    const shared = await new Queue(bundle.name(), { connection: bundle.server.connection }).waitUntilReady();
    const mine = bundle.track({ close: async () => shared.disconnect() });
    const queue = new Queue(bundle.name(), { connection: shared });
    const worker = new Worker(queue.name, async () => 1, { connection: shared });
    const completed = nextEvent(worker, 'completed');
    await queue.add('n', {});
    await completed;
    await worker.close();
    await queue.close();
    expect(shared.status).toBe('ready');
    expect(await shared.call('PING', [])).toBe('PONG');
    await mine.close();
  });

  it('disconnect cuts the connection without waiting', async () => {
    const queue = bundle.queue();
    await queue.waitUntilReady();
    await queue.disconnect();
    await expect(queue.add('n', {})).rejects.toMatchObject({ code: 'QUEUE_CLOSED' });
  });
});

describe('limits and retention', () => {
  it('a limiter starts no more than its maximum per window', async () => {
    const queue = bundle.queue();
    const worker = bundle.worker(queue.name, async () => 1, {
      concurrency: 10,
      limiter: { max: 3, duration: 60_000 },
    });
    await queue.addBulk(Array.from({ length: 8 }, () => ({ name: 'n', data: {} })));
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(3));
    await eventually(async () => expect(await queue.getRateLimitTtl(3)).toBeGreaterThan(0));
    expect(await queue.getWaitingCount()).toBe(5);
    await worker.close();
  });

  it('a rate-limit error gives the job back without an attempt and holds the worker off', async () => {
    const queue = bundle.queue();
    let runs = 0;
    const worker = bundle.worker(
      queue.name,
      async () => {
        if (++runs > 1) return 'later';
        await queue.rateLimit(100);
        throw Worker.RateLimitError();
      },
      { limiter: { max: 1, duration: 500 } },
    );
    const completed = nextEvent(worker, 'completed');
    await queue.add('n', {}, { attempts: 1 });
    const [job, result] = await completed;
    expect(result).toBe('later');
    expect(job).toMatchObject({ attemptsMade: 1, attemptsStarted: 2 });
  });

  it('worker.rateLimit is the same as queue.rateLimit', async () => {
    const queue = bundle.queue();
    const worker = bundle.worker(queue.name, null);
    await worker.rateLimit(50_000);
    expect(await queue.getRateLimitTtl()).toBeGreaterThan(40_000);
  });

  it('keeps finished jobs as the job says, else as the worker says', async () => {
    const queue = bundle.queue();
    const worker = bundle.worker(
      queue.name,
      async (job) => {
        if (job.name === 'fails') throw new Error('x');
      },
      { removeOnComplete: { count: 1 }, removeOnFail: { count: 0 } },
    );
    await queue.addBulk([
      { name: 'ok', data: {}, opts: { jobId: 'a' } },
      { name: 'ok', data: {}, opts: { jobId: 'b' } },
      { name: 'fails', data: {}, opts: { jobId: 'c' } },
      { name: 'fails', data: {}, opts: { jobId: 'd', removeOnFail: false } },
      { name: 'ok', data: {}, opts: { jobId: 'e', removeOnComplete: true } },
    ]);
    expect(await queue.waitForEmpty(20_000)).toBe(true);
    await worker.close();
    expect(await queue.getRanges(['completed', 'failed'], 0, -1, true)).toEqual(['b', 'd']);
    for (const id of ['a', 'c', 'e']) expect(await queue.getJob(id)).toBeUndefined();
  });
});

describe('options that are wrong', () => {
  it.each([
    [{ concurrency: 0 }, 'concurrency must be a finite number greater than 0'],
    [{ stalledInterval: 0 }, 'stalledInterval must be greater than 0'],
    [{ maxStalledCount: -1 }, 'maxStalledCount must be greater or equal than 0'],
    [{ maxStartedAttempts: -1 }, 'maxStartedAttempts must be greater or equal than 0'],
    [{ drainDelay: 0 }, 'drainDelay must be greater than 0'],
  ])('%j has BullMQ’s sentence', (opts, message) => {
    expect(() => new Worker('q', async () => 1, { connection: bundle.server.connection, ...opts })).toThrow(
      message,
    );
  });
});
