import { expect, it } from 'vitest';
import { UnrecoverableError, WaitingError } from '../../src/index.ts';
import { expireLeases } from '../../src/testing/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';

const bundle = useBundle();

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

it('a job’s way is told in order: active, progress, completed', async () => {
  const queue = bundle.queue();
  const told: unknown[][] = [];
  const worker = bundle.worker(queue.name, async (job) => {
    await job.updateProgress(50);
    return 'done';
  });
  for (const event of ['active', 'progress', 'completed'] as const) {
    worker.on(event, (job: { id?: string }, ...rest: unknown[]) => told.push([event, job.id, ...rest]));
  }
  const drained = nextEvent(worker, 'drained');
  await drained;
  const completed = nextEvent(worker, 'completed');
  const job = await queue.add('n', {});
  await completed;
  expect(told).toEqual([
    ['active', job.id, 'waiting'],
    ['progress', job.id, 50],
    ['completed', job.id, 'done', 'active'],
  ]);
});

it('the job in completed has its result, times and counters', async () => {
  const queue = bundle.queue();
  const worker = bundle.worker(queue.name, async () => 7, { name: 'ada' });
  const completed = nextEvent(worker, 'completed');
  await queue.add('n', {});
  const [job] = await completed;
  expect(job).toMatchObject({ returnvalue: 7, attemptsMade: 1, attemptsStarted: 1, processedBy: 'ada' });
  expect(job.finishedOn).toBeGreaterThanOrEqual(job.processedOn);
  const read = (await queue.getJob(job.id))!;
  expect([job.processedOn, job.finishedOn]).toEqual([read.processedOn, read.finishedOn]);
  expect(read).toMatchObject({ returnvalue: 7, attemptsMade: 1, attemptsStarted: 1, processedBy: 'ada' });
});

it('failed is told for every failing attempt, with the job, the error and where it was', async () => {
  const queue = bundle.queue();
  const told: [number, string, string][] = [];
  const worker = bundle.worker(queue.name, async () => {
    throw new Error('no luck');
  });
  worker.on('failed', (job, error, prev) => told.push([job!.attemptsMade, error.message, prev]));
  const job = await queue.add('n', {}, { attempts: 3 });
  await eventually(async () => expect(await job.isFailed()).toBe(true));
  await eventually(() => expect(told).toHaveLength(3));
  expect(told).toEqual([
    [1, 'no luck', 'active'],
    [2, 'no luck', 'active'],
    [3, 'no luck', 'active'],
  ]);
  const read = (await queue.getJob(job.id!))!;
  expect(read).toMatchObject({ failedReason: 'no luck', attemptsMade: 3 });
  expect(read.stacktrace).toHaveLength(3);
});

it('drained is told at the start and once after each burst', async () => {
  const queue = bundle.queue();
  const worker = bundle.worker(queue.name, async () => 1);
  let count = 0;
  worker.on('drained', () => count++);
  await eventually(() => expect(count).toBe(1));
  await queue.addBulk([
    { name: 'a', data: {} },
    { name: 'b', data: {} },
  ]);
  await eventually(async () => expect(await queue.getCompletedCount()).toBe(2));
  await eventually(() => expect(count).toBe(2));
});

it('ready comes when both connections are up; closing and closed when it ends', async () => {
  const queue = bundle.queue();
  const worker = bundle.worker(queue.name, async () => 1);
  expect(await nextEvent(worker, 'ready')).toEqual([]);
  const told: unknown[][] = [];
  worker.on('closing', (...args) => told.push(['closing', ...args]));
  worker.on('closed', (...args: []) => told.push(['closed', ...args]));
  expect(worker.isRunning()).toBe(true);
  const closing = worker.close();
  expect(worker.closing).toBe(closing);
  expect(worker.close()).toBe(closing);
  await closing;
  expect(told).toEqual([['closing', 'closing queue'], ['closed']]);
  expect(worker.isRunning()).toBe(false);
});

it('a stalled job is told by the worker that puts it back, and runs again', async () => {
  const queue = bundle.queue();
  const fetcher = bundle.worker(queue.name, null, { lockDuration: 60_000 });
  const job = await queue.add('n', {});
  expect(await fetcher.getNextJob('gone')).toMatchObject({ id: job.id });
  await expireLeases(queue);
  const rescuer = bundle.worker(queue.name, async () => 'rescued', { stalledInterval: 50 });
  const stalled = nextEvent(rescuer, 'stalled');
  const completed = nextEvent(rescuer, 'completed');
  expect(await stalled).toEqual([job.id, 'active']);
  const [done, result] = await completed;
  expect(result).toBe('rescued');
  expect(done).toMatchObject({ id: job.id, stalledCounter: 1 });
});

it('renewed leases are told with their ids', async () => {
  const queue = bundle.queue();
  const { open, opened } = gate();
  const worker = bundle.worker(queue.name, () => opened, { lockDuration: 1000, lockRenewTime: 20 });
  const renewed = nextEvent(worker, 'locksRenewed');
  const job = await queue.add('n', {});
  expect(await renewed).toEqual([{ count: 1, jobIds: [job.id] }]);
  open();
});

it('a lost lease is told, aborts the signal, and the late finish is refused', async () => {
  const queue = bundle.queue();
  const reasons: unknown[] = [];
  const worker = bundle.worker(
    queue.name,
    (_job, _token, signal) =>
      new Promise((resolve) => {
        signal!.addEventListener('abort', () => {
          reasons.push(signal!.reason);
          resolve('too late');
        });
      }),
    { lockDuration: 10_000, lockRenewTime: 20, skipStalledCheck: true },
  );
  const errors: string[] = [];
  worker.on('error', (error) => errors.push(error.message));
  let completed = 0;
  worker.on('completed', () => completed++);
  const active = nextEvent(worker, 'active');
  const job = await queue.add('n', {});
  await active;
  const lost = nextEvent(worker, 'lockRenewalFailed');
  await bundle.server.admin.set(queue.toKey(`${job.id}:lock`), 'somebody else', 'PX', 60_000);
  expect(await lost).toEqual([[job.id]]);
  expect(reasons[0]).toMatchObject({ code: 'LEASE_LOST', message: `could not renew lock for job ${job.id}` });
  await eventually(() =>
    expect(errors.some((text) => text.startsWith(`Lock mismatch for job ${job.id}.`))).toBe(true),
  );
  expect(errors).toContain(`could not renew lock for job ${job.id}`);
  expect(completed).toBe(0);
  expect(await job.isActive()).toBe(true);
});

it('paused and resumed are told; resume needs no await', async () => {
  const queue = bundle.queue();
  const worker = bundle.worker(queue.name, async () => 1);
  await worker.waitUntilReady();
  const paused = nextEvent(worker, 'paused');
  await worker.pause();
  expect(await paused).toEqual([]);
  expect(worker.isPaused()).toBe(true);
  const job = await queue.add('n', {});
  expect(await job.isWaiting()).toBe(true);
  const resumed = nextEvent(worker, 'resumed');
  const completed = nextEvent(worker, 'completed');
  void worker.resume();
  expect(worker.isPaused()).toBe(false);
  expect(await resumed).toEqual([]);
  await completed;
});

it('a listener that throws becomes an error event and the worker goes on', async () => {
  const queue = bundle.queue();
  const worker = bundle.worker(queue.name, async () => 1);
  const errors: Error[] = [];
  worker.on('error', (error) => errors.push(error));
  worker.on('completed', () => {
    throw new Error('in a listener');
  });
  await queue.addBulk([
    { name: 'a', data: {} },
    { name: 'b', data: {} },
  ]);
  await eventually(() =>
    expect(errors.map(({ message }) => message)).toEqual(['in a listener', 'in a listener']),
  );
  await eventually(async () => expect(await queue.getCompletedCount()).toBe(2));
});

it('an error that nobody listens to is printed and crashes nothing', async () => {
  const queue = bundle.queue();
  const worker = bundle.worker(queue.name, async () => 1, { autorun: false });
  const printed: unknown[] = [];
  const { error } = console;
  console.error = (...args: unknown[]) => printed.push(...args);
  try {
    worker.on('resumed', () => {
      throw new Error('unheard');
    });
    await worker.pause();
    await worker.resume();
    expect(printed).toEqual([expect.objectContaining({ message: 'unheard' })]);
    expect(worker.emit('error', new Error('still unheard'))).toBe(false);
  } finally {
    console.error = error;
  }
});

it('an error while completing is told and then fails the attempt', async () => {
  const queue = bundle.queue();
  const worker = bundle.worker(queue.name, async () => 10n as unknown);
  const errors: Error[] = [];
  worker.on('error', (error) => errors.push(error));
  const failed = nextEvent(worker, 'failed');
  const job = await queue.add('n', {});
  const [, error] = await failed;
  expect(error).toMatchObject({ code: 'PAYLOAD_NOT_SERIALISABLE' });
  expect(errors).toEqual([error]);
  expect(await job.isFailed()).toBe(true);
});

it('a job that its handler has moved is neither completed nor failed', async () => {
  const queue = bundle.queue();
  let runs = 0;
  const worker = bundle.worker(queue.name, async (job, token) => {
    runs++;
    if (runs === 1) {
      await job.moveToWait(token);
      throw new WaitingError();
    }
    return runs;
  });
  const failures: unknown[] = [];
  worker.on('failed', (...args) => failures.push(args));
  const completed = nextEvent(worker, 'completed');
  await queue.add('n', {});
  const [job, result] = await completed;
  expect(result).toBe(2);
  expect(job).toMatchObject({ attemptsMade: 1, attemptsStarted: 2 });
  expect(failures).toEqual([]);
});

it('a job with a deferred failure fails without running', async () => {
  const queue = bundle.queue();
  await queue.add('n', {}, { jobId: 'd', attempts: 5 });
  await bundle.server.admin.hset(queue.toKey('d'), 'defa', 'child bull:x:1 failed');
  let runs = 0;
  const worker = bundle.worker(queue.name, async () => runs++);
  const [job, error] = await nextEvent(worker, 'failed');
  expect(job.id).toBe('d');
  expect(error).toBeInstanceOf(UnrecoverableError);
  expect(error.message).toBe('child bull:x:1 failed');
  expect(runs).toBe(0);
  expect((await queue.getJob('d'))?.failedReason).toBe('child bull:x:1 failed');
});

it('a job started more often than allowed fails without running', async () => {
  const queue = bundle.queue();
  await queue.add('n', {}, { jobId: 'm', attempts: 5 });
  await bundle.server.admin.hset(queue.toKey('m'), 'ats', '2');
  let runs = 0;
  const worker = bundle.worker(queue.name, async () => runs++, { maxStartedAttempts: 2 });
  const [, error] = await nextEvent(worker, 'failed');
  expect(error).toBeInstanceOf(UnrecoverableError);
  expect(error.message).toBe('job started more than allowable limit');
  expect(runs).toBe(0);
});
