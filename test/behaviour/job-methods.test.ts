import { describe, expect, it } from 'vitest';
import { ErrorCode, Job, type Queue } from '../../src/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';

const bundle = useBundle();

/** One job in the hands of a worker that fetches by hand. */
async function fetched(queue: Queue, token = 't1') {
  const worker = bundle.worker(queue.name, null, { lockDuration: 60_000 });
  const job = await worker.getNextJob(token);
  if (!job) throw new Error('there was a job');
  return { worker, job, token };
}

describe('reading a job', () => {
  it('a job that was read has the properties of its record', async () => {
    const queue = bundle.queue();
    await queue.add('n', { a: 1 }, { jobId: 'x', attempts: 3, backoff: 50, keepLogs: 9, priority: 4 });
    const job = (await queue.getJob('x'))!;
    expect(job.opts).toEqual({
      jobId: 'x',
      attempts: 3,
      backoff: { type: 'fixed', delay: 50 },
      keepLogs: 9,
      priority: 4,
    });
    expect(job).toMatchObject({
      id: 'x',
      name: 'n',
      data: { a: 1 },
      progress: 0,
      returnvalue: null,
      stacktrace: [],
      delay: 0,
      priority: 4,
      attemptsStarted: 0,
      attemptsMade: 0,
      stalledCounter: 0,
      queueName: queue.name,
      prefix: 'bull',
      queueQualifiedName: queue.qualifiedName,
    });
    expect(job.failedReason).toBeUndefined();
    expect(job.finishedOn).toBeUndefined();
    expect(job.processedOn).toBeUndefined();
  });

  it('toJSON, asJSON and asJSONSandbox have the shapes that tools read', async () => {
    const queue = bundle.queue();
    const added = await queue.add('n', { a: 1 }, { jobId: 'x' });
    expect(added.stacktrace).toBeNull();
    const job = (await queue.getJob('x'))!;
    expect(job.toJSON()).toMatchObject({ id: 'x', name: 'n', data: { a: 1 }, opts: { jobId: 'x' } });
    expect(JSON.parse(JSON.stringify(job))).toMatchObject({ id: 'x', data: { a: 1 } });
    const json = job.asJSON();
    expect(json).toMatchObject({ id: 'x', data: '{"a":1}', returnvalue: 'null', stacktrace: '[]' });
    expect(Object.values(json)).not.toContain(undefined);
    expect(job.asJSONSandbox()).toMatchObject({
      queueName: queue.name,
      queueQualifiedName: queue.qualifiedName,
      prefix: 'bull',
    });
  });

  it('fromJSON takes what asJSON gives, and raw fields as v5 had them', async () => {
    const queue = bundle.queue();
    const added = await queue.add('n', { a: 1 }, { jobId: 'x', attempts: 2 });
    expect(Job.fromJSON(queue, added.asJSON())).toMatchObject({
      id: 'x',
      data: { a: 1 },
      opts: { attempts: 2 },
    });
    const raw = {
      name: 'n',
      data: '{"a":2}',
      opts: '{"kl":3}',
      timestamp: '5',
      ats: '2',
      atm: '1',
      rjk: 'r',
      stc: '1',
      pb: 'w',
    };
    expect(Job.fromJSON(queue, raw, 'y')).toMatchObject({
      id: 'y',
      data: { a: 2 },
      opts: { keepLogs: 3 },
      timestamp: 5,
      attemptsStarted: 2,
      attemptsMade: 1,
      stalledCounter: 1,
      repeatJobKey: 'r',
      processedBy: 'w',
    });
    expect(Job.optsFromJSON('{"attempts":3,"fpof":true}')).toEqual({
      attempts: 3,
      failParentOnFailure: true,
    });
    expect(await Job.fromId(queue, 'x')).toMatchObject({ id: 'x' });
    expect(await Job.fromId(queue, 'nobody')).toBeUndefined();
  });

  it('its state has a question for each answer', async () => {
    const queue = bundle.queue();
    const waiting = await queue.add('n', {});
    const delayed = await queue.add('n', {}, { delay: 100_000 });
    expect(await waiting.getState()).toBe('waiting');
    expect(await waiting.isWaiting()).toBe(true);
    expect(await waiting.isActive()).toBe(false);
    expect(await delayed.isDelayed()).toBe(true);
    const { job, token } = await fetched(queue);
    expect(await job.isActive()).toBe(true);
    await job.moveToCompleted('x', token, false);
    expect(await job.isCompleted()).toBe(true);
    expect(await job.isFailed()).toBe(false);
    expect(await job.isWaitingChildren()).toBe(false);
    await job.remove();
    expect(await job.getState()).toBe('unknown');
  });
});

describe('changing a job', () => {
  it('updateData replaces the data', async () => {
    const queue = bundle.queue();
    const job = await queue.add('n', { a: 1 });
    await job.updateData({ b: 2 });
    expect(job.data).toEqual({ b: 2 });
    expect((await queue.getJob(job.id!))?.data).toEqual({ b: 2 });
  });

  it.each([1, 'half', true, { step: 1 }])(
    'updateProgress stores %j and tells its queue with the job',
    async (progress) => {
      const queue = bundle.queue();
      const job = await queue.add('n', {});
      const told = nextEvent(queue, 'progress');
      await job.updateProgress(progress);
      expect(await told).toEqual([job, progress]);
      expect(job.progress).toEqual(progress);
      expect((await queue.getJob(job.id!))?.progress).toEqual(progress);
    },
  );

  it('log counts rows, clearLogs keeps some or none', async () => {
    const queue = bundle.queue();
    const job = await queue.add('n', {}, { keepLogs: 3 });
    for (const [row, count] of [
      ['a', 1],
      ['b', 2],
      ['c', 3],
      ['d', 3],
    ] as const)
      expect(await job.log(row)).toBe(count);
    await job.clearLogs(2);
    expect((await queue.getJobLogs(job.id!)).logs).toEqual(['c', 'd']);
    await job.clearLogs();
    expect((await queue.getJobLogs(job.id!)).count).toBe(0);
    expect(await Job.addJobLog(queue, job.id!, 'e')).toBe(1);
  });

  it('changeDelay moves the due time of a delayed job', async () => {
    const queue = bundle.queue();
    const job = await queue.add('n', {}, { delay: 1_000_000 });
    await job.changeDelay(0);
    expect(job.delay).toBe(0);
    const worker = bundle.worker(queue.name, async () => 'ran');
    expect((await nextEvent(worker, 'completed'))[1]).toBe('ran');
  });

  it('changePriority moves a waiting job among the prioritized and back', async () => {
    const queue = bundle.queue();
    const job = await queue.add('n', {});
    await job.changePriority({ priority: 5 });
    expect(job.priority).toBe(5);
    expect(await job.getState()).toBe('prioritized');
    await queue.add('n', {}, { jobId: 'before' });
    await job.changePriority({ lifo: true });
    expect(await queue.getRanges(['waiting'], 0, -1, true)).toEqual([job.id, 'before']);
    expect((await queue.getJob(job.id!))?.priority).toBe(0);
  });

  it('promote makes a delayed job runnable now', async () => {
    const queue = bundle.queue();
    const job = await queue.add('n', {}, { delay: 1_000_000 });
    await job.promote();
    expect(job.delay).toBe(0);
    expect(await job.isWaiting()).toBe(true);
    await expect(job.promote()).rejects.toThrow(`Job ${job.id} is not in the delayed state. promote`);
  });

  it('retry runs a finished job again and forgets its outcome', async () => {
    const queue = bundle.queue();
    await queue.add('n', {});
    const { job, token, worker } = await fetched(queue);
    await job.moveToFailed(new Error('boom'), token);
    await job.retry();
    expect(job).toMatchObject({ failedReason: null, finishedOn: null, processedOn: null, returnvalue: null });
    const again = (await worker.getNextJob('t2'))!;
    expect(again.attemptsMade).toBe(1);
    await again.moveToCompleted('v', 't2', false);
    await again.retry('completed', { resetAttemptsMade: true, resetAttemptsStarted: true });
    const read = (await queue.getJob(job.id!))!;
    expect(read).toMatchObject({ attemptsMade: 0, attemptsStarted: 0, returnvalue: null });
    expect(read.finishedOn).toBeUndefined();
    await expect(job.retry()).rejects.toThrow(`Job ${job.id} is not in the failed state. reprocessJob`);
  });

  it('remove tells its queue with the job and refuses one that a worker holds', async () => {
    const queue = bundle.queue();
    await queue.add('n', {});
    const { job, token } = await fetched(queue);
    const read = (await queue.getJob(job.id!))!;
    await expect(read.remove()).rejects.toThrow(
      `Job ${job.id} could not be removed because it is locked by another worker`,
    );
    await job.moveToCompleted(1, token, false);
    const removed = nextEvent(queue, 'removed');
    await read.remove();
    expect(await removed).toEqual([read]);
  });

  it('a job of a scheduler is not removed directly', async () => {
    const queue = bundle.queue();
    const { admin } = bundle.server;
    await admin.zadd(queue.keys.repeat!, Date.now() + 100_000, 'daily');
    await admin.hset(queue.toKey('repeat:daily'), 'name', 'n');
    const millis = await admin.zscore(queue.keys.repeat!, 'daily');
    const id = `repeat:daily:${millis}`;
    await admin.hset(
      queue.toKey(id),
      'name',
      'n',
      'data',
      '{}',
      'opts',
      '{}',
      'timestamp',
      '1',
      'rjk',
      'daily',
    );
    await admin.zadd(queue.keys.delayed!, 1, id);
    const text = `Job ${id} belongs to a job scheduler and cannot be removed directly. removeJob`;
    await expect(queue.remove(id)).rejects.toMatchObject({
      message: text,
      code: ErrorCode.JobBelongsToJobScheduler,
    });
    await expect((await queue.getJob(id))!.remove()).rejects.toThrow(text);
  });
});

describe('a job that is gone', () => {
  const cases: [string, (job: Job) => Promise<unknown>, string, number][] = [
    ['updateData', (job) => job.updateData({}), 'Missing key for job 1. updateData', ErrorCode.JobNotExist],
    [
      'updateProgress',
      (job) => job.updateProgress(1),
      'Missing key for job 1. updateProgress',
      ErrorCode.JobNotExist,
    ],
    ['log', (job) => job.log('x'), 'Missing key for job 1. addLog', ErrorCode.JobNotExist],
    ['changeDelay', (job) => job.changeDelay(5), 'Missing key for job 1. changeDelay', ErrorCode.JobNotExist],
    [
      'changePriority',
      (job) => job.changePriority({ priority: 1 }),
      'Missing key for job 1. changePriority',
      ErrorCode.JobNotExist,
    ],
    [
      'promote',
      (job) => job.promote(),
      'Job 1 is not in the delayed state. promote',
      ErrorCode.JobNotInState,
    ],
    ['retry', (job) => job.retry(), 'Missing key for job 1. reprocessJob', ErrorCode.JobNotExist],
    [
      'moveToCompleted',
      (job) => job.moveToCompleted(1, 't'),
      'Missing key for job 1. moveToFinished',
      ErrorCode.JobNotExist,
    ],
    [
      'moveToFailed',
      (job) => job.moveToFailed(new Error('x'), 't'),
      'Missing key for job 1. moveToFinished',
      ErrorCode.JobNotExist,
    ],
    [
      'moveToDelayed',
      (job) => job.moveToDelayed(5, 't'),
      'Missing key for job 1. moveToDelayed',
      ErrorCode.JobNotExist,
    ],
    [
      'moveToWait',
      (job) => job.moveToWait('t'),
      'Missing key for job 1. moveJobFromActiveToWait',
      ErrorCode.JobNotExist,
    ],
    [
      'moveToWaitingChildren',
      (job) => job.moveToWaitingChildren('t'),
      'Missing key for job 1. moveToWaitingChildren',
      ErrorCode.JobNotExist,
    ],
  ];
  it.each(cases)('%s says so in BullMQ’s words and code', async (_name, act, message, code) => {
    const queue = bundle.queue();
    const job = await queue.add('n', {});
    expect(await queue.remove(job.id!)).toBe(1);
    await expect(act(job as Job)).rejects.toMatchObject({ message, code });
  });
});

describe('a job whose lease is not held', () => {
  it('cannot be finished without a lock, with another token, or when it is not active', async () => {
    const queue = bundle.queue();
    const waiting = await queue.add('n', {});
    await expect(waiting.moveToCompleted(1, 't')).rejects.toMatchObject({
      message: `Missing lock for job ${waiting.id}. moveToFinished`,
      code: ErrorCode.JobLockNotExist,
    });
    await expect(waiting.moveToCompleted(1, '0')).rejects.toMatchObject({
      message: `Job ${waiting.id} is not in the active state. moveToFinished`,
      code: ErrorCode.JobNotInState,
    });
    // The refusal of a finish that would also have fetched left the job where it was.
    expect(await waiting.isWaiting()).toBe(true);
    const { job } = await fetched(queue, 'mine');
    await expect(job.moveToCompleted(1, 'theirs')).rejects.toMatchObject({
      message: `Lock mismatch for job ${job.id}. Cmd moveToFinished from active`,
      code: ErrorCode.JobLockMismatch,
    });
    await expect(job.moveToDelayed(1, 'theirs')).rejects.toThrow(
      `Lock mismatch for job ${job.id}. Cmd moveToDelayed from active`,
    );
    expect(await job.isActive()).toBe(true);
  });
});

describe('children that others have made', () => {
  it('a parent reads their values, failures and counts', async () => {
    const queue = bundle.queue();
    const { admin } = bundle.server;
    const parent = await queue.add('p', {}, { jobId: 'p' });
    await admin.hset(queue.toKey('p:processed'), 'bull:k:1', '{"r":1}');
    await admin.sadd(queue.toKey('p:dependencies'), 'bull:k:2');
    await admin.hset(queue.toKey('p:failed'), 'bull:k:3', 'why');
    await admin.zadd(queue.toKey('p:unsuccessful'), 1, 'bull:k:4');
    expect(await parent.getChildrenValues()).toEqual({ 'bull:k:1': { r: 1 } });
    expect(await parent.getIgnoredChildrenFailures()).toEqual({ 'bull:k:3': 'why' });
    expect(await parent.getFailedChildrenValues()).toEqual({ 'bull:k:3': 'why' });
    expect(await parent.getDependencies()).toEqual({
      processed: { 'bull:k:1': { r: 1 } },
      unprocessed: ['bull:k:2'],
      ignored: { 'bull:k:3': 'why' },
      failed: ['bull:k:4'],
    });
    expect(await parent.getDependencies({ processed: { cursor: 0, count: 10 } })).toEqual({
      processed: { 'bull:k:1': { r: 1 } },
      nextProcessedCursor: 0,
    });
    expect(await parent.getDependenciesCount()).toEqual({
      processed: 1,
      unprocessed: 1,
      ignored: 1,
      failed: 1,
    });
    expect(await parent.getDependenciesCount({ failed: true })).toEqual({ failed: 1 });
    expect(await parent.removeChildDependency()).toBe(false);
    expect(await parent.removeDeduplicationKey()).toBe(false);
  });

  it('a parent with pending children cannot complete, but can wait for them', async () => {
    const queue = bundle.queue();
    await queue.add('p', {}, { jobId: 'p' });
    await bundle.server.admin.sadd(queue.toKey('p:dependencies'), 'bull:k:2');
    const { job, token } = await fetched(queue);
    await expect(job.moveToCompleted(1, token)).rejects.toMatchObject({
      message: 'Job p has pending dependencies. moveToFinished',
      code: ErrorCode.JobPendingChildren,
    });
    expect(await job.moveToWaitingChildren(token, { child: { id: '9', queue: 'bull:k' } })).toBe(false);
    expect(await job.moveToWaitingChildren(token)).toBe(true);
    expect(await job.isWaitingChildren()).toBe(true);
    await job.removeUnprocessedChildren();
  });

  it('a parent with a failed child cannot complete, and that is unrecoverable', async () => {
    const queue = bundle.queue();
    await queue.add('p', {}, { jobId: 'p' });
    await bundle.server.admin.zadd(queue.toKey('p:unsuccessful'), 1, 'bull:k:4');
    const { job, token } = await fetched(queue);
    await expect(job.moveToCompleted(1, token)).rejects.toMatchObject({
      name: 'UnrecoverableError',
      message: 'Cannot complete job p because it has at least one failed child. moveToFinished',
    });
  });
});

describe('waitUntilFinished', () => {
  it('resolves to the value, also when the job has finished already', async () => {
    const queue = bundle.queue();
    const events = bundle.events(queue.name);
    const job = await queue.add('n', {});
    const waiting = job.waitUntilFinished(events);
    bundle.worker(queue.name, async () => ({ sum: 3 }));
    expect(await waiting).toEqual({ sum: 3 });
    expect(await job.waitUntilFinished(events)).toEqual({ sum: 3 });
  });

  it('rejects with the reason, also when the job has failed already', async () => {
    const queue = bundle.queue();
    const events = bundle.events(queue.name);
    const job = await queue.add('n', {});
    const waiting = job.waitUntilFinished(events);
    waiting.catch(() => {});
    bundle.worker(queue.name, async () => {
      throw new Error('out of paper');
    });
    await expect(waiting).rejects.toThrow('out of paper');
    await expect(job.waitUntilFinished(events)).rejects.toThrow('out of paper');
  });

  it('rejects after its time, for a missing job and when its queue closes', async () => {
    const queue = bundle.queue();
    const events = bundle.events(queue.name);
    const job = await queue.add('slow', {});
    await expect(job.waitUntilFinished(events, 20)).rejects.toThrow(
      `Job wait slow timed out before finishing, no finish notification arrived after 20ms (id=${job.id})`,
    );
    const gone = await queue.add('gone', {});
    await queue.remove(gone.id!);
    await expect(gone.waitUntilFinished(events)).rejects.toThrow(
      `Missing key for job ${queue.toKey(gone.id!)}. isFinished`,
    );
    const before = queue.listenerCount('closing');
    const waiting = job.waitUntilFinished(events);
    waiting.catch(() => {});
    await eventually(() => expect(queue.listenerCount('closing')).toBe(before + 1));
    await queue.close();
    await expect(waiting).rejects.toThrow('Connection is closed.');
    expect(events.listenerCount(`completed:${job.id}`)).toBe(0);
  });
});
