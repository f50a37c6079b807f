import { describe, expect, it } from 'vitest';
import { Queue, type StandardSchemaV1 } from '../../src/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';

const bundle = useBundle();

interface Order {
  id: number;
  note?: string;
}

function check(value: unknown): StandardSchemaV1.Result<Order> {
  const order = value as Partial<Order> | null;
  if (typeof order !== 'object' || order === null) return { issues: [{ message: 'no order' }] };
  if (typeof order.id !== 'number') return { issues: [{ message: 'must be a number', path: ['id'] }] };
  return { value: { note: 'none', ...order, id: order.id } };
}

const schema: StandardSchemaV1<unknown, Order> = {
  '~standard': { version: 1, vendor: 'test', validate: check },
};
const asyncSchema: StandardSchemaV1<unknown, Order> = {
  '~standard': { version: 1, vendor: 'test', validate: async (value) => check(value) },
};
/** As arktype has them: a function with the property. */
const functionSchema = Object.assign(() => {}, schema) as unknown as StandardSchemaV1;

describe.each([
  ['a schema', schema],
  ['an asynchronous schema', asyncSchema],
  ['a schema that is a function', functionSchema],
])('%s on a queue', (_what, given) => {
  it('lets through what fits, as the schema returns it', async () => {
    const queue = bundle.queue(undefined, { schema: given });
    const job = await queue.add('n', { id: 1 });
    expect(job.data).toEqual({ note: 'none', id: 1 });
    expect((await queue.getJob(job.id!))?.data).toEqual({ note: 'none', id: 1 });
  });

  it('refuses what does not, and addBulk adds none then', async () => {
    const queue = bundle.queue(undefined, { schema: given });
    const error = await queue.add('n', { id: 'x' }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'SCHEMA_REJECTED', details: { paths: ['id'] } });
    expect((error as Error).message).toContain('id: must be a number');
    await expect(
      queue.addBulk([
        { name: 'n', data: { id: 1 } },
        { name: 'n', data: null },
      ]),
    ).rejects.toMatchObject({ code: 'SCHEMA_REJECTED' });
    expect(await queue.count()).toBe(0);
  });
});

it('a synchronous schema keeps the order of calls that are not awaited', async () => {
  const queue = bundle.queue(undefined, { schema });
  await Promise.all([queue.add('n', { id: 1 }), queue.drain(), queue.add('n', { id: 2 })]);
  expect((await queue.getWaiting()).map(({ data }) => data.id)).toEqual([2]);
});

describe.each([
  ['a schema', schema],
  ['an asynchronous schema', asyncSchema],
])('%s on a worker', (_what, given) => {
  it('gives the handler what the schema returns and fails the rest at once', async () => {
    const queue = bundle.queue();
    const seen: unknown[] = [];
    const worker = bundle.worker(queue.name, async (job) => seen.push(job.data), { schema: given });
    const failed = nextEvent(worker, 'failed');
    await queue.add('n', { id: 'x' }, { jobId: 'bad', attempts: 5 });
    await queue.add('n', { id: 3 });
    const [job, error] = await failed;
    expect(job.id).toBe('bad');
    expect(error).toMatchObject({ name: 'UnrecoverableError' });
    expect(error.message).toContain('id: must be a number');
    await eventually(() => expect(seen).toEqual([{ note: 'none', id: 3 }]));
    expect(await queue.getJobState('bad')).toBe('failed');
  });
});

it('something else in place of a schema is refused', () => {
  for (const wrong of [{}, () => 1, { '~standard': {} }, 5]) {
    expect(() => new Queue('q', { schema: wrong as never })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    );
  }
});
