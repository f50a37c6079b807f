import { describe, expect, it } from 'vitest';
import { DelayedError, Job } from '../../src/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';

const bundle = useBundle();

function setup() {
  const queue = bundle.queue();
  const worker = bundle.worker(queue.name, null, { lockDuration: 60_000, name: 'hand' });
  return { queue, worker };
}

describe('fetching', () => {
  it('gives the next job with its lease, or nothing', async () => {
    const { queue, worker } = setup();
    const drained = nextEvent(worker, 'drained');
    expect(await worker.getNextJob('t', { block: false })).toBeUndefined();
    await drained;
    const added = await queue.add('n', { a: 1 });
    const job = (await worker.getNextJob('my-token'))!;
    expect(job).toMatchObject({
      id: added.id,
      data: { a: 1 },
      token: 'my-token',
      attemptsStarted: 1,
      processedBy: 'hand',
    });
    expect(job.processedOn).toBeDefined();
    expect(await bundle.server.admin.get(queue.toKey(`${job.id}:lock`))).toBe('my-token');
    expect(await job.isActive()).toBe(true);
  });

  it('waits for a job unless told not to', async () => {
    const { queue, worker } = setup();
    const next = worker.getNextJob('t');
    await nextEvent(worker, 'drained');
    const added = await queue.add('n', {});
    expect((await next)?.id).toBe(added.id);
  });

  it('waits for a delayed job that becomes due', async () => {
    const { queue, worker } = setup();
    const added = await queue.add('n', {}, { delay: 100 });
    expect((await worker.getNextJob('t'))?.id).toBe(added.id);
  });

  it('gives nothing while paused or closed, and a wait ends when the worker closes', async () => {
    const { queue, worker } = setup();
    await queue.add('n', {});
    await worker.pause();
    expect(await worker.getNextJob('t')).toBeUndefined();
    await worker.close();
    expect(await worker.getNextJob('t')).toBeUndefined();
    const other = bundle.worker(bundle.name(), null);
    const drained = nextEvent(other, 'drained');
    const waiting = other.getNextJob('t');
    await drained;
    await other.close();
    expect(await waiting).toBeUndefined();
  });

  it('hands a job with a deferred failure to the caller', async () => {
    const { queue, worker } = setup();
    await queue.add('n', {}, { jobId: 'd' });
    await bundle.server.admin.hset(queue.toKey('d'), 'defa', 'why');
    expect((await worker.getNextJob('t'))?.deferredFailure).toBe('why');
  });

  it('fails a record that cannot be read and gives the one behind it', async () => {
    const { queue, worker } = setup();
    const errors: Error[] = [];
    worker.on('error', (error) => errors.push(error));
    await queue.add('n', {}, { jobId: 'bad' });
    await queue.add('n', {}, { jobId: 'gone' });
    await queue.add('n', {}, { jobId: 'good' });
    await bundle.server.admin.hset(queue.toKey('bad'), 'data', '{{');
    await bundle.server.admin.del(queue.toKey('gone'));
    expect((await worker.getNextJob('t'))?.id).toBe('good');
    expect(await queue.getJobState('bad')).toBe('failed');
    expect(await queue.getActiveCount()).toBe(1);
    expect(errors.map((error) => (error as { code?: string }).code)).toEqual([
      'POISONED_RECORD',
      'POISONED_RECORD',
    ]);
  });
});

describe('finishing', () => {
  it('moveToCompleted stores the value and gives the next job as a tuple', async () => {
    const { queue, worker } = setup();
    await queue.addBulk([
      { name: 'a', data: { n: 1 } },
      { name: 'b', data: { n: 2 } },
    ]);
    const first = (await worker.getNextJob('t'))!;
    const tuple = await first.moveToCompleted('value', 't');
    expect(first).toMatchObject({ returnvalue: 'value', attemptsMade: 1 });
    expect(first.finishedOn).toBeDefined();
    const [data, id, limitedMs, dueAt] = tuple as [Record<string, unknown>, string, number, number];
    expect([id, limitedMs, dueAt]).toEqual(['2', 0, 0]);
    const second = Job.fromJSON(worker, data, id);
    expect(second).toMatchObject({ id: '2', name: 'b', data: { n: 2 }, attemptsStarted: 1 });
    expect(await second.isActive()).toBe(true);
    expect(await second.moveToCompleted('' as never, 't')).toEqual([]);
    expect(second.returnvalue).toBeUndefined();
    expect((await queue.getJob('2'))?.returnvalue).toBe('');
    await queue.add('c', {});
    const third = (await worker.getNextJob('t'))!;
    await queue.add('d', {});
    expect(await third.moveToCompleted(1, 't', false)).toEqual([]);
    expect(await queue.getWaitingCount()).toBe(1);
  });

  it('the tuple says when the next delayed job is due', async () => {
    const { queue, worker } = setup();
    await queue.add('n', {});
    const due = await queue.add('n', {}, { delay: 1_000_000 });
    const job = (await worker.getNextJob('t'))!;
    const [data, id, , dueAt] = await job.moveToCompleted(1, 't');
    expect([data, id]).toEqual([null, '']);
    expect(dueAt).toBe(due.timestamp + 1_000_000);
  });

  it('a value that JSON cannot hold rejects and leaves the job active', async () => {
    const { queue, worker } = setup();
    await queue.add('n', {});
    const job = (await worker.getNextJob('t'))!;
    await expect(job.moveToCompleted(1n as never, 't')).rejects.toMatchObject({
      code: 'PAYLOAD_NOT_SERIALISABLE',
    });
    expect(await job.isActive()).toBe(true);
  });

  it('moveToFailed retries now, later, or fails for good', async () => {
    const { queue, worker } = setup();
    await queue.add('n', {}, { attempts: 3, backoff: { type: 'fixed', delay: 0 } });
    const first = (await worker.getNextJob('t'))!;
    expect(await first.moveToFailed(new Error('one'), 't', true)).toBeUndefined();
    expect(first).toMatchObject({ attemptsMade: 1, failedReason: 'one' });
    expect(await first.isWaiting()).toBe(true);
    const second = (await worker.getNextJob('t'))!;
    second.opts.backoff = { type: 'fixed', delay: 1_000_000 };
    expect(await second.moveToFailed(new Error('two'), 't')).toEqual([]);
    expect(await second.isDelayed()).toBe(true);
    expect(second.delay).toBe(1_000_000);
    await second.promote();
    const third = (await worker.getNextJob('t'))!;
    await third.moveToFailed(new Error('three'), 't');
    expect(await third.isFailed()).toBe(true);
    expect((await queue.getJob(third.id!))!.stacktrace).toHaveLength(3);
  });

  it('moveToDelayed and moveToWait charge no attempt', async () => {
    const { queue, worker } = setup();
    await queue.add('n', {});
    const job = (await worker.getNextJob('t'))!;
    await job.moveToDelayed(Date.now() + 100_000, 't');
    expect(await job.isDelayed()).toBe(true);
    await job.promote();
    const again = (await worker.getNextJob('t'))!;
    expect(again).toMatchObject({ attemptsMade: 0, attemptsStarted: 2 });
    expect(await again.moveToWait('t')).toBeLessThanOrEqual(0);
    expect(await again.isWaiting()).toBe(true);
  });

  it('a handler postpones its own job with moveToDelayed and DelayedError', async () => {
    const queue = bundle.queue();
    let runs = 0;
    const worker = bundle.worker(queue.name, async (job, token) => {
      if (++runs > 1) return 'later';
      await job.moveToDelayed(job.timestamp + 20, token);
      throw new DelayedError();
    });
    const completed = nextEvent(worker, 'completed');
    await queue.add('n', {});
    const [job, result] = await completed;
    expect(result).toBe('later');
    expect(job).toMatchObject({ attemptsMade: 1, attemptsStarted: 2 });
  });

  it('a job without children does not wait for any', async () => {
    const { queue, worker } = setup();
    await queue.add('n', {});
    const job = (await worker.getNextJob('t'))!;
    expect(await job.moveToWaitingChildren('t')).toBe(false);
    expect(await job.isActive()).toBe(true);
  });
});

describe('leases', () => {
  it('extendLock says 1 for the holder and 0 for others', async () => {
    const { queue, worker } = setup();
    await queue.add('n', {});
    const job = (await worker.getNextJob('t'))!;
    expect(await job.extendLock('t', 120_000)).toBe(1);
    expect(await bundle.server.admin.pttl(queue.toKey(`${job.id}:lock`))).toBeGreaterThan(60_000);
    expect(await job.extendLock('other', 120_000)).toBe(0);
  });

  it('extendJobLocks names those that failed', async () => {
    const { queue, worker } = setup();
    await queue.addBulk([
      { name: 'a', data: {} },
      { name: 'b', data: {} },
    ]);
    const first = (await worker.getNextJob('t1'))!;
    const second = (await worker.getNextJob('t2'))!;
    expect(
      await worker.extendJobLocks([first.id!, second.id!, 'nobody'], ['t1', 'wrong', 't'], 1000),
    ).toEqual([second.id, 'nobody']);
  });

  it('startStalledCheckTimer recovers stalled jobs for people who process by hand', async () => {
    const queue = bundle.queue();
    const worker = bundle.worker(queue.name, null, { lockDuration: 20, stalledInterval: 30 });
    await queue.add('n', {});
    const job = (await worker.getNextJob('t'))!;
    const stalled = nextEvent(worker, 'stalled');
    await worker.startStalledCheckTimer();
    expect(await stalled).toEqual([job.id, 'active']);
    await eventually(async () => expect(await job.isWaiting()).toBe(true));
  });

  it('processJob runs a job that was fetched by hand through the processor', async () => {
    const queue = bundle.queue();
    const worker = bundle.worker(queue.name, async (job) => job.data.n + 1, { autorun: false });
    await queue.add('n', { n: 1 });
    const job = (await worker.getNextJob('t'))!;
    const completed = nextEvent(worker, 'completed');
    await worker.processJob(job, 't');
    expect((await completed)[1]).toBe(2);
    expect(await job.isCompleted()).toBe(true);
    await expect(bundle.worker(queue.name, null).processJob(job, 't')).rejects.toThrow(
      'No process function is defined.',
    );
  });
});
