// A broken record in Redis fails its job, or is dropped where there is nothing to fail, and never stops the worker.

import { expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';

const bundle = useBundle();

async function poisoned(poison: (key: string) => Promise<unknown>) {
  const queue = bundle.queue();
  await queue.add('bad', { secret: 'payload' }, { jobId: 'bad', attempts: 5 });
  await queue.add('good', {}, { jobId: 'good' });
  await poison(queue.toKey('bad'));
  const ran: string[] = [];
  const worker = bundle.worker(queue.name, async (job) => ran.push(job.id!));
  const errors: Error[] = [];
  const failures: Error[] = [];
  worker.on('error', (error) => errors.push(error));
  worker.on('failed', (_job, error) => failures.push(error));
  const completed = nextEvent(worker, 'completed');
  expect((await completed)[0].id).toBe('good');
  await eventually(async () => expect(await queue.getActiveCount()).toBe(0));
  expect(ran).toEqual(['good']);
  return { queue, worker, errors, failures };
}

it.each([
  ['data that is no JSON', 'data', '{"secret":'],
  ['options that are no JSON', 'opts', '{"attempts":'],
  ['options that are no object', 'opts', '[1]'],
])('%s fail the job at once and quote nothing of it', async (_what, field, value) => {
  const { queue, failures } = await poisoned((key) => bundle.server.admin.hset(key, field, value));
  expect(await queue.getJobState('bad')).toBe('failed');
  expect(failures).toHaveLength(1);
  expect(failures[0]!.name).toBe('UnrecoverableError');
  const reason = await bundle.server.admin.hget(queue.toKey('bad'), 'failedReason');
  expect(reason).toContain(`Job bad: expected JSON in ${field}`);
  expect(reason).not.toContain('secret');
});

it('an id without a record is dropped and told', async () => {
  const { queue, errors } = await poisoned((key) => bundle.server.admin.del(key));
  expect(await queue.getJobState('bad')).toBe('unknown');
  expect(errors).toEqual([
    expect.objectContaining({ code: 'POISONED_RECORD', details: expect.objectContaining({ jobId: 'bad' }) }),
  ]);
});

it('a key of another type in place of the record is dropped and told', async () => {
  const { queue, errors } = await poisoned(async (key) => {
    await bundle.server.admin.del(key);
    await bundle.server.admin.set(key, 'a string');
  });
  expect(await queue.getJobCounts('waiting', 'active', 'failed')).toEqual({
    waiting: 0,
    active: 0,
    failed: 0,
  });
  expect(errors).toEqual([expect.objectContaining({ code: 'POISONED_RECORD' })]);
});

it('an id that was put among the waiting ones a second time runs once, before and while it runs', async () => {
  const queue = bundle.queue();
  await queue.add('twice', {}, { jobId: 'twice' });
  await bundle.server.admin.lpush(queue.toKey('wait'), 'twice');
  await queue.add('beside', {}, { jobId: 'beside' });
  await queue.add('behind', {}, { jobId: 'behind' });
  const ran: string[] = [];
  let finish = () => {};
  const isOver = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const worker = bundle.worker(
    queue.name,
    async (job) => {
      ran.push(job.id!);
      if (job.id === 'twice') await isOver;
    },
    { concurrency: 3 },
  );
  const completed: string[] = [];
  worker.on('completed', (job) => completed.push(job.id!));
  await eventually(() => expect(ran).toContain('behind'));
  await bundle.server.admin.lpush(queue.toKey('wait'), 'twice');
  await queue.add('last', {}, { jobId: 'last' });
  await eventually(() => expect(completed).toEqual(['beside', 'behind', 'last']));
  finish();
  await eventually(() => expect(completed).toEqual(['beside', 'behind', 'last', 'twice']));
  expect(ran).toEqual(['twice', 'beside', 'behind', 'last']);
  expect(await queue.getJobCounts('waiting', 'active', 'completed')).toEqual({
    waiting: 0,
    active: 0,
    completed: 4,
  });
});

it('counters and times that are no numbers do not stop a job', async () => {
  const queue = bundle.queue();
  await queue.add('n', {}, { jobId: 'x' });
  await bundle.server.admin.hset(
    queue.toKey('x'),
    'ats',
    'many',
    'atm',
    'some',
    'priority',
    'high',
    'stc',
    '?',
    'progress',
    '{',
    'stacktrace',
    'x',
  );
  const worker = bundle.worker(queue.name, async () => 'ran');
  expect((await nextEvent(worker, 'completed'))[1]).toBe('ran');
  expect(await queue.getJob('x')).toMatchObject({ progress: 0, stacktrace: [], returnvalue: 'ran' });
});

it('a wrong type in place of a collection is told, and the worker goes on when it is mended', async () => {
  const queue = bundle.queue();
  await queue.getVersion();
  await bundle.server.admin.set(queue.keys.wait!, 'not a list');
  const worker = bundle.worker(queue.name, async () => 'mended');
  worker.on('error', () => {});
  const [error] = await nextEvent(worker, 'error');
  expect(String(error)).toContain('WRONGTYPE');
  expect(error.cause?.command?.args).toBeUndefined();
  await expect(queue.add('n', {})).rejects.toMatchObject({ code: 'CALL_REFUSED' });
  await bundle.server.admin.del(queue.keys.wait!);
  const completed = nextEvent(worker, 'completed');
  await queue.add('n', {});
  expect((await completed)[1]).toBe('mended');
});
