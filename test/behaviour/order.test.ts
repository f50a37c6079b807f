// The order and the outcome that a user expects of calls that are not awaited, refused in part, or cut short.

import { expect, it } from 'vitest';
import { BulkAddError, type Queue } from '../../src/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually } from '../support/eventually.ts';
import { snapshot } from '../support/keyspace.ts';

const bundle = useBundle();

const keyspace = (queue: Queue) => snapshot(bundle.server.admin, `${queue.qualifiedName}:`);

it('a partly refused addBulk adds the others and names them', async () => {
  const queue = bundle.queue();
  await queue.getVersion();
  const rows = [
    { name: 'a', data: 1, opts: { jobId: 'a' } },
    { name: 'b', data: 2, opts: { jobId: 'b', delay: 1000 } },
    { name: 'c', data: 3, opts: { jobId: 'c' } },
  ];
  // Delayed jobs have nowhere to go; plain ones do.
  await bundle.server.admin.set(queue.keys.delayed!, 'not a sorted set');
  const error = (await queue.addBulk(rows).catch((thrown: unknown) => thrown)) as BulkAddError;
  expect(error).toBeInstanceOf(BulkAddError);
  expect(error).toMatchObject({ name: 'BulkAddError', code: 'PARTLY_REFUSED', added: ['a', 'c'] });
  expect(error.refused).toEqual([{ index: 1, error: expect.objectContaining({ code: 'CALL_REFUSED' }) }]);
  expect(error.message).toContain('expected to add 3 jobs, 1 refused');
  await bundle.server.admin.del(queue.keys.delayed!);
  expect((await queue.getWaiting()).map(({ id }) => id)).toEqual(['a', 'c']);
  expect(await queue.getJob('b')).toBeUndefined();
});

it('addBulk with one invalid job adds none', async () => {
  const queue = bundle.queue();
  await queue.getVersion();
  const before = await keyspace(queue);
  const rows = [
    { name: 'a', data: {} },
    { name: 'b', data: {}, opts: { priority: -1 } },
    { name: 'c', data: {} },
  ];
  await expect(queue.addBulk(rows)).rejects.toMatchObject({ code: 'PRIORITY_RANGE' });
  await expect(
    queue.addBulk([
      { name: 'a', data: {} },
      { name: 'b', data: 1n },
    ]),
  ).rejects.toMatchObject({ code: 'PAYLOAD_NOT_SERIALISABLE' });
  expect(await keyspace(queue)).toEqual(before);
});

it('addBulk of many calls whose last job is wrong adds none', async () => {
  const queue = bundle.queue();
  await queue.getVersion();
  const before = await keyspace(queue);
  const rows = Array.from({ length: 700 }, (_, n) => ({ name: 'n', data: n as unknown, opts: {} }));
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const wrong = [
    { last: { name: 'n', data: cycle, opts: {} }, code: 'PAYLOAD_NOT_SERIALISABLE' },
    { last: { name: 'n', data: {}, opts: { jobId: 'meta' } }, code: 'JOB_ID_RESERVED' },
    { last: { name: '\ud800', data: {}, opts: {} }, code: 'LONE_SURROGATE' },
    { last: { name: 'n', data: 'long', opts: { sizeLimit: 1 } }, code: 'JOB_SIZE_LIMIT' },
  ];
  for (const { last, code } of wrong)
    await expect(queue.addBulk([...rows, last])).rejects.toMatchObject({ code });
  expect(await keyspace(queue)).toEqual(before);
});

it('addBulk of many calls keeps the order, and each job has the id and time of its record', async () => {
  const queue = bundle.queue();
  const jobs = await queue.addBulk(Array.from({ length: 700 }, (_, n) => ({ name: 'n', data: n })));
  expect(jobs.map(({ id, data }) => [id, data])).toEqual(jobs.map((_, n) => [String(n + 1), n]));
  const stored = await queue.getWaiting();
  expect(stored.map(({ id, data }) => [id, data])).toEqual(jobs.map(({ id, data }) => [id, data]));
  expect(stored.map(({ timestamp }) => timestamp)).toEqual(jobs.map(({ timestamp }) => timestamp));
});

it('addBulk of many calls that is refused in part names each refused job by its index', async () => {
  const queue = bundle.queue();
  await queue.getVersion();
  const late = new Set([3, 130, 131, 699]);
  const rows = Array.from({ length: 700 }, (_, n) => ({
    name: 'n',
    data: n,
    opts: { jobId: `job-${n}`, ...(late.has(n) ? { delay: 1000 } : {}) },
  }));
  await bundle.server.admin.set(queue.keys.delayed!, 'not a sorted set');
  const error = (await queue.addBulk(rows).catch((thrown: unknown) => thrown)) as BulkAddError;
  await bundle.server.admin.del(queue.keys.delayed!);
  expect(error.refused.map(({ index }) => index)).toEqual([...late]);
  expect(error.added).toEqual(rows.filter((_, n) => !late.has(n)).map(({ opts }) => opts.jobId));
});

it('add and drain without await keep their order', async () => {
  const queue = bundle.queue();
  const added = queue.add('before', {});
  const drained = queue.drain();
  const later = queue.add('after', {});
  await Promise.all([added, drained, later]);
  expect((await queue.getWaiting()).map(({ name }) => name)).toEqual(['after']);
});

it('add, remove and add again without await keep their order', async () => {
  const queue = bundle.queue();
  const results = await Promise.all([
    queue.add('first', {}, { jobId: 'x' }),
    queue.remove('x'),
    queue.add('second', {}, { jobId: 'x' }),
  ]);
  expect(results[1]).toBe(1);
  expect(await queue.getJob('x')).toMatchObject({ name: 'second' });
});

it('reads and settings come after the adds made before them', async () => {
  const queue = bundle.queue();
  void queue.add('n', {}, { jobId: 'x' });
  expect(await queue.getJob('x')).toBeDefined();
  void queue.add('n', {});
  expect(await queue.getWaitingCount()).toBe(2);
  void queue.add('n', {});
  expect(await queue.getWaiting()).toHaveLength(3);
  void queue.pause();
  expect(await queue.isPaused()).toBe(true);
});

it('adds of one turn get rising ids in the order of their calls', async () => {
  const queue = bundle.queue();
  const jobs = await Promise.all(Array.from({ length: 500 }, (_, n) => queue.add('n', n)));
  expect(jobs.map(({ id }) => id)).toEqual(jobs.map((_, n) => String(n + 1)));
  const stored = await queue.getWaiting();
  expect(stored.map(({ data }) => data)).toEqual(jobs.map((_, n) => n));
});

it('close sends the adds that are pending, and their promises resolve', async () => {
  const queue = bundle.queue();
  const adds = Array.from({ length: 400 }, (_, n) => queue.add('n', n));
  const closed = queue.close();
  const jobs = await Promise.all(adds);
  await closed;
  expect(jobs).toHaveLength(400);
  expect(await bundle.server.admin.llen(queue.keys.wait!)).toBe(400);
});

it('after close every change is refused with a typed error', async () => {
  const queue = bundle.queue();
  const job = await queue.add('n', {});
  const closed = queue.close();
  await expect(queue.add('n', {})).rejects.toMatchObject({ code: 'QUEUE_CLOSED' });
  await expect(queue.addBulk([{ name: 'n', data: {} }])).rejects.toMatchObject({ code: 'QUEUE_CLOSED' });
  await closed;
  await expect(queue.add('n', {})).rejects.toMatchObject({ code: 'QUEUE_CLOSED' });
  for (const act of [
    () => queue.pause(),
    () => queue.getWaiting(),
    () => queue.drain(),
    () => queue.remove('1'),
    () => job.updateData({}),
    () => job.getState(),
  ]) {
    await expect(act()).rejects.toThrow('Connection is closed.');
  }
  expect(await bundle.server.admin.llen(queue.keys.wait!)).toBe(1);
  await queue.close();
});

it('a worker that closes hands in what its jobs returned', async () => {
  const queue = bundle.queue();
  const worker = bundle.worker(queue.name, async () => 'x', { concurrency: 50 });
  await queue.addBulk(Array.from({ length: 200 }, () => ({ name: 'n', data: {} })));
  await eventually(async () => expect(await queue.getCompletedCount()).toBeGreaterThan(0));
  await worker.close();
  const counts = await queue.getJobCounts('waiting', 'active', 'completed', 'failed');
  expect(counts.active).toBe(0);
  expect(counts.failed).toBe(0);
  expect(counts.waiting! + counts.completed!).toBe(200);
});
