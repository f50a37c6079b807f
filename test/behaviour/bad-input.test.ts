// What would corrupt or surprise gets a typed error, and nothing is written. What BullMQ accepts is accepted.

import { Redis } from 'ioredis';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  FlowProducer,
  type JobsOptions,
  Queue,
  QueueEvents,
  QueueEventsProducer,
  Worker,
  YokeError,
} from '../../src/index.ts';
import { useBundle } from '../support/bundle.ts';
import { nextEvent } from '../support/eventually.ts';
import { snapshot } from '../support/keyspace.ts';

const bundle = useBundle();

/** Runs a call that must be refused; the queue's keys are the same before and after. */
async function refused(queue: Queue, act: () => unknown): Promise<YokeError> {
  await queue.getVersion();
  const before = await snapshot(bundle.server.admin, `${queue.qualifiedName}:`);
  let thrown: unknown;
  try {
    await act();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(YokeError);
  expect(await snapshot(bundle.server.admin, `${queue.qualifiedName}:`)).toEqual(before);
  return thrown as YokeError;
}

const cycle: Record<string, unknown> = { deep: {} };
(cycle.deep as Record<string, unknown>).back = cycle;

describe('data', () => {
  it.each([
    ['a cycle', cycle, 'PAYLOAD_NOT_SERIALISABLE'],
    ['a BigInt', { n: 1n }, 'PAYLOAD_NOT_SERIALISABLE'],
    ['a function', () => 1, 'PAYLOAD_NOT_SERIALISABLE'],
    ['a symbol', Symbol('x'), 'PAYLOAD_NOT_SERIALISABLE'],
    [
      'a toJSON that throws',
      {
        toJSON: () => {
          throw new Error('no');
        },
      },
      'PAYLOAD_NOT_SERIALISABLE',
    ],
    ['more than the limit', 'x'.repeat(2000), 'PAYLOAD_TOO_LARGE'],
    ['more bytes than the limit in fewer characters', '€'.repeat(400), 'PAYLOAD_TOO_LARGE'],
  ])('%s is refused', async (_what, data, code) => {
    const queue = bundle.queue(undefined, { maxPayloadBytes: 1000 });
    expect(await refused(queue, () => queue.add('n', data))).toMatchObject({ code });
    expect(
      await refused(queue, () =>
        queue.addBulk([
          { name: 'ok', data: {} },
          { name: 'n', data },
        ]),
      ),
    ).toMatchObject({ code });
    const job = await queue.add('n', {});
    expect(await refused(queue, () => job.updateData(data))).toMatchObject({ code });
    expect(await refused(queue, () => job.updateProgress(data as never))).toMatchObject({ code });
    expect(await refused(queue, () => queue.updateJobProgress(job.id!, data as never))).toMatchObject({
      code,
    });
  });

  it('the message names what was wrong, what was expected and what to do', async () => {
    const queue = bundle.queue(undefined, { maxPayloadBytes: 10 });
    const error = await refused(queue, () => queue.add('n', 'x'.repeat(20)));
    expect(error.message).toBe(
      'job data: expected at most 10 bytes of JSON, got 22. Raise maxPayloadBytes, or store the data elsewhere and pass a reference to it.',
    );
    expect(error.details).toEqual({ what: 'job data', maxBytes: 10, bytes: 22 });
  });

  it('ten megabytes is the limit by default', async () => {
    const queue = bundle.queue();
    const error = await refused(queue, () => queue.add('n', 'x'.repeat(10 * 1024 * 1024)));
    expect(error).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', details: { maxBytes: 10 * 1024 * 1024 } });
  });

  it('a job’s own limit has BullMQ’s sentence', async () => {
    const queue = bundle.queue();
    const error = await refused(queue, () => queue.add('mail', { a: 'ü'.repeat(50) }, { sizeLimit: 60 }));
    expect(error.message).toBe('The size of job mail exceeds the limit 60 bytes');
    expect((await queue.add('mail', { a: 'ü' }, { sizeLimit: 60 })).id).toBe('1');
  });

  it('a log row over the limit is refused', async () => {
    const queue = bundle.queue(undefined, { maxPayloadBytes: 100 });
    const job = await queue.add('n', {});
    expect(await refused(queue, () => job.log('x'.repeat(101)))).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(await refused(queue, () => queue.addJobLog(job.id!, 'x'.repeat(101)))).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
  });

  it.each([
    ['undefined as {}', undefined, {}],
    ['null', null, null],
    ['false', false, false],
    ['an empty array', [], []],
    ['a NUL and control characters', { text: 'a\u0000b\u0001' }, { text: 'a\u0000b\u0001' }],
    ['lone surrogates', { text: '\ud800x\udc00' }, { text: '\ud800x\udc00' }],
    ['an emoji', { '🐂': '🐂' }, { '🐂': '🐂' }],
    ['large integers', { n: 9007199254740991 }, { n: 9007199254740991 }],
    ['empty arrays inside', { list: [], map: {} }, { list: [], map: {} }],
  ])('%s reaches the handler as it was', async (_what, data, arrives) => {
    const queue = bundle.queue();
    const worker = bundle.worker(queue.name, async (job) => job.data);
    const completed = nextEvent(worker, 'completed');
    await queue.add('n', data);
    const [job, result] = await completed;
    expect(job.data).toEqual(arrives);
    expect(result).toEqual(arrives);
    expect((await queue.getJob(job.id))?.returnvalue).toEqual(arrives);
  });

  it('__proto__ in a payload stays plain data', async () => {
    const queue = bundle.queue();
    const data = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
    const worker = bundle.worker(queue.name, async (job) => Object.keys(job.data));
    const completed = nextEvent(worker, 'completed');
    const added = await queue.add('n', data);
    const [job, keys] = await completed;
    expect(keys).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(job.data)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    await bundle.server.admin.hset(queue.toKey(added.id!), 'opts', '{"__proto__":{"attempts":9}}');
    const read = (await queue.getJob(added.id!))!;
    expect(Object.getPrototypeOf(read.opts)).toBe(Object.prototype);
    expect(read.opts.attempts).toBe(0);
  });
});

describe('names and ids', () => {
  const classes = [Queue, QueueEvents, QueueEventsProducer] as unknown as (new (
    name: string,
    opts: object,
  ) => unknown)[];

  it.each([
    ['', 'QUEUE_NAME_MISSING', 'Queue name must be provided'],
    [undefined, 'QUEUE_NAME_MISSING', 'Queue name must be provided'],
    ['a:b', 'QUEUE_NAME_COLON', 'Queue name cannot contain :'],
    [':compensation', 'QUEUE_NAME_COLON', 'Queue name cannot contain :'],
    ['a:b:compensation', 'QUEUE_NAME_COLON', 'Queue name cannot contain :'],
    [7, 'INVALID_OPTION', 'queue name: expected a string, got 7'],
    ['x\ud800', 'LONE_SURROGATE', 'queue name: expected well-formed text'],
  ])('a queue cannot be called %j', (name, code, message) => {
    const { connection } = bundle.server;
    for (const Class of classes) {
      expect(() => new Class(name as string, { connection })).toThrow(
        expect.objectContaining({ code, message: expect.stringContaining(message) }),
      );
    }
    expect(() => new Worker(name as string, null, { connection })).toThrow(expect.objectContaining({ code }));
  });

  it.each(['orders', 'orders:compensation', '{orders}', 'with space', 'ö', '日本'])(
    'a queue can be called %j',
    async (base) => {
      const name = base.endsWith(':compensation')
        ? `${bundle.name()}:compensation`
        : `${base}${bundle.name()}`;
      const queue = bundle.queue(name);
      const worker = bundle.worker(name, async () => 'ok');
      const completed = nextEvent(worker, 'completed');
      await queue.add('n', {});
      expect((await completed)[1]).toBe('ok');
    },
  );

  it.each([
    ['17', 'CUSTOM_ID_INTEGER', 'Custom Id cannot be integers'],
    ['-3', 'CUSTOM_ID_INTEGER', 'Custom Id cannot be integers'],
    ['0', 'JOB_ID_ZERO', "JobId cannot be '0' or start with '0:'"],
    ['0:a:b', 'JOB_ID_ZERO', "JobId cannot be '0' or start with '0:'"],
    ['a:b', 'CUSTOM_ID_COLON', 'Custom Id cannot contain :'],
    ['a:b:c:d', 'CUSTOM_ID_COLON', 'Custom Id cannot contain :'],
    ['x'.repeat(257), 'JOB_ID_TOO_LONG', 'jobId: expected at most 256 bytes, got 257'],
    ['ü'.repeat(129), 'JOB_ID_TOO_LONG', 'jobId: expected at most 256 bytes, got 258'],
    ['a\nb', 'JOB_ID_CONTROL_CHARACTER', 'jobId: expected no control characters, got one at position 1'],
    ['a\u0000', 'JOB_ID_CONTROL_CHARACTER', 'jobId: expected no control characters'],
    ['wait', 'JOB_ID_RESERVED', 'got "wait"'],
    ['meta', 'JOB_ID_RESERVED', 'got "meta"'],
    ['de:x:y', 'JOB_ID_RESERVED', 'got "de"'],
    ['repeat:x:1', 'JOB_ID_RESERVED', 'got "repeat"'],
    ['groups', 'JOB_ID_RESERVED', 'got "groups"'],
    ['lanes', 'JOB_ID_RESERVED', 'got "lanes"'],
    ['\udc00', 'LONE_SURROGATE', 'jobId: expected well-formed text'],
    [17, 'INVALID_OPTION', 'jobId: expected a string, got 17'],
  ])('a job cannot have the id %j', async (jobId, code, message) => {
    const queue = bundle.queue();
    const opts = { jobId: jobId as string };
    const error = await refused(queue, () => queue.add('n', {}, opts));
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) });
    expect(await refused(queue, () => queue.addBulk([{ name: 'n', data: {}, opts }]))).toMatchObject({
      code,
    });
  });

  it.each([
    'a',
    'order-17',
    '17a',
    '01',
    '1.5',
    'a:b:c',
    'ö',
    '🐂',
    'x'.repeat(256),
    'waiting',
    'with space',
  ])('a job can have the id %j', async (jobId) => {
    const queue = bundle.queue();
    expect((await queue.add('n', {}, { jobId })).id).toBe(jobId);
    expect((await queue.getJob(jobId))?.id).toBe(jobId);
    expect(await queue.getJobState(jobId)).toBe('waiting');
  });

  it('a job’s name must be text', async () => {
    const queue = bundle.queue();
    for (const name of [undefined, null, 5, {}]) {
      expect(await refused(queue, () => queue.add(name as never, {}))).toMatchObject({
        code: 'INVALID_OPTION',
      });
    }
    expect(await refused(queue, () => queue.add('\ud800', {}))).toMatchObject({ code: 'LONE_SURROGATE' });
    expect((await queue.add('', {})).name).toBe('');
    expect((await queue.add('a:b', {})).name).toBe('a:b');
  });
});

describe('job options', () => {
  const wrong: [JobsOptions, string, string][] = [
    [{ priority: -1 }, 'PRIORITY_RANGE', 'Priority should be between 0 and 2097151'],
    [{ priority: 2_097_152 }, 'PRIORITY_RANGE', 'Priority should be between 0 and 2097151'],
    [{ priority: 1.5 }, 'PRIORITY_FLOAT', 'Priority should not be float'],
    [{ priority: '1' as never }, 'INVALID_OPTION', 'priority: expected a finite number, got the string "1"'],
    [{ priority: Number.NaN }, 'INVALID_OPTION', 'priority: expected a finite number, got NaN'],
    [{ attempts: '3' as never }, 'INVALID_OPTION', 'attempts: expected a finite number, got the string "3"'],
    [{ attempts: Number.NaN }, 'INVALID_OPTION', 'attempts: expected a finite number, got NaN'],
    [{ delay: '5s' as never }, 'INVALID_OPTION', 'delay: expected a finite number, got the string "5s"'],
    [{ delay: 1e300 }, 'INVALID_OPTION', 'delay: expected milliseconds'],
    [{ lifo: 1 as never }, 'INVALID_OPTION', 'lifo: expected true or false, got 1'],
    [{ timestamp: new Date() as never }, 'INVALID_OPTION', 'timestamp: expected a finite number, got a Date'],
    [
      { backoff: 'soon' as never },
      'INVALID_OPTION',
      'backoff: expected a number of milliseconds or { type, delay }',
    ],
    [{ backoff: { type: '' } }, 'INVALID_OPTION', 'backoff.type: expected'],
    [
      { backoff: { type: 'fixed', delay: 'x' as never } },
      'INVALID_OPTION',
      'backoff.delay: expected milliseconds',
    ],
    [{ backoff: { type: 'fixed', delay: 5, jitter: 2 } }, 'JITTER_RANGE', 'Jitter should be between 0 and 1'],
    [{ removeOnComplete: 'yes' as never }, 'INVALID_OPTION', 'removeOnComplete: expected'],
    [{ removeOnFail: { age: 'x' as never } }, 'INVALID_OPTION', 'removeOnFail.age: expected'],
    [{ removeOnFail: { count: 1.5 } }, 'INVALID_OPTION', 'removeOnFail.count: expected'],
    [{ keepLogs: -1 }, 'INVALID_OPTION', 'keepLogs: expected'],
    [{ stackTraceLimit: '1' as never }, 'INVALID_OPTION', 'stackTraceLimit: expected'],
    [{ sizeLimit: 'x' as never }, 'INVALID_OPTION', 'sizeLimit: expected'],
    [
      { failParentOnFailure: true, removeDependencyOnFailure: true },
      'EXCLUSIVE_OPTIONS',
      'The following options cannot be used together: removeDependencyOnFailure, failParentOnFailure',
    ],
  ];
  it.each(wrong)('%j is refused', async (opts, code, message) => {
    const queue = bundle.queue();
    const error = await refused(queue, () => queue.add('n', {}, opts));
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) });
    if (code !== 'EXCLUSIVE_OPTIONS') {
      expect(() => new Queue('q', { connection: bundle.server.connection, defaultJobOptions: opts })).toThrow(
        expect.objectContaining({ code }),
      );
    }
  });

  it.each([
    [{ delay: -5 }, { state: 'waiting', delay: 0 }],
    [{ delay: 12.7 }, { state: 'delayed', delay: 13 }],
    [{ attempts: 0 }, { state: 'waiting', delay: 0 }],
    [{ priority: 2_097_151 }, { state: 'prioritized', delay: 0 }],
    [
      { removeOnComplete: true, removeOnFail: 5 },
      { state: 'waiting', delay: 0 },
    ],
    [{ somethingOfMine: { a: 1 } } as JobsOptions, { state: 'waiting', delay: 0 }],
  ])('%j is accepted with BullMQ’s meaning', async (opts, { state, delay }) => {
    const queue = bundle.queue();
    const job = await queue.add('n', {}, opts);
    const read = (await queue.getJob(job.id!))!;
    expect(await read.getState()).toBe(state);
    expect(read.delay).toBe(delay);
    expect(read.opts).toMatchObject(opts as object);
  });

  it('changes of a job are checked like its options', async () => {
    const queue = bundle.queue();
    const job = await queue.add('n', {}, { delay: 100_000 });
    expect(await refused(queue, () => job.changePriority({ priority: -1 }))).toMatchObject({
      code: 'PRIORITY_RANGE',
    });
    expect(await refused(queue, () => job.changePriority({ priority: 0.5 }))).toMatchObject({
      code: 'PRIORITY_FLOAT',
    });
    expect(await refused(queue, () => job.changeDelay('x' as never))).toMatchObject({
      code: 'INVALID_OPTION',
    });
    expect(await refused(queue, () => job.changeDelay(Number.NaN))).toMatchObject({ code: 'INVALID_OPTION' });
  });
});

describe('connections', () => {
  const text = 'BullMQ: ioredis does not support ioredis prefixes, use the prefix option instead.';

  it('with a key prefix are refused: options, an instance, a cluster', async () => {
    const instance = new Redis({ ...bundle.server.connection, keyPrefix: 'x:', lazyConnect: true });
    const clusterLike = {
      isCluster: true,
      nodes: () => [],
      duplicate: () => clusterLike,
      connect: async () => {},
      disconnect: () => {},
      on: () => {},
      options: { redisOptions: { keyPrefix: 'x:' } },
    };
    for (const connection of [{ ...bundle.server.connection, keyPrefix: 'x:' }, instance, clusterLike]) {
      expect(() => new Queue('q', { connection })).toThrow(text);
      expect(() => new Worker('q', async () => 1, { connection })).toThrow(text);
      expect(() => new QueueEvents('q', { connection })).toThrow(text);
    }
    instance.disconnect();
  });

  it('an instance with a limit of retries cannot block', () => {
    const connection = new Redis({ ...bundle.server.connection, maxRetriesPerRequest: 3, lazyConnect: true });
    expect(() => new Worker('q', async () => 1, { connection })).toThrow(
      'BullMQ: Your redis options maxRetriesPerRequest must be null.',
    );
    expect(() => new QueueEvents('q', { connection })).toThrow(
      'BullMQ: Your redis options maxRetriesPerRequest must be null.',
    );
    connection.disconnect();
  });

  it.each([5, true])('%j is no connection', (connection) => {
    expect(() => new Queue('q', { connection: connection as never })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    );
  });
});

describe('no connection', () => {
  afterEach(() => vi.unstubAllEnvs());

  it.each([
    ['Queue', () => new Queue('q')],
    ['Worker', () => new Worker('q', async () => {})],
    ['QueueEvents', () => new QueueEvents('q')],
    ['FlowProducer', () => new FlowProducer()],
  ])('in production a %s is refused at once', (what, make) => {
    vi.stubEnv('NODE_ENV', 'production');
    vi.stubEnv('REDIS_URL', '');
    expect(make).toThrow(
      expect.objectContaining({
        key: 'CONNECTION_REQUIRED',
        message: expect.stringContaining(`${what} requires a connection`),
      }),
    );
  });

  it('a development server that cannot start is named, by calls and by the error event', async () => {
    vi.stubEnv('REDIS_URL', '');
    vi.stubEnv('YOKE_SERVER', 'native');
    vi.stubEnv('YOKE_SERVER_BINARY', 'no-such-program');
    const queue = new Queue('q');
    queue.on('error', () => {});
    const told = {
      key: 'NO_SERVER',
      message: expect.stringContaining('YOKE_SERVER_BINARY names no-such-program'),
    };
    await expect(queue.add('n', {})).rejects.toMatchObject(told);
    await expect(queue.waitUntilReady()).rejects.toMatchObject(told);
    await queue.close();
  });
});

describe('results', () => {
  it('a result over the limit fails the job', async () => {
    const queue = bundle.queue();
    const worker = bundle.worker(queue.name, async () => 'x'.repeat(2000), { maxPayloadBytes: 1000 });
    worker.on('error', () => {});
    const failed = nextEvent(worker, 'failed');
    const job = await queue.add('n', {});
    expect((await failed)[1]).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(await job.isFailed()).toBe(true);
    const read = (await queue.getJob(job.id!))!;
    expect(read.failedReason).toContain('return value: expected at most 1000 bytes');
    expect(read.returnvalue).toBeNull();
  });

  it.each([
    ['a cycle', cycle],
    ['a BigInt', 5n],
  ])('%s fails the job, and the next one runs', async (_what, value) => {
    const queue = bundle.queue();
    const worker = bundle.worker(queue.name, async (job) => (job.data.bad ? value : 'fine'));
    worker.on('error', () => {});
    const completed = nextEvent(worker, 'completed');
    await queue.addBulk([
      { name: 'n', data: { bad: true } },
      { name: 'n', data: {} },
    ]);
    expect((await completed)[1]).toBe('fine');
    expect(await queue.getFailedCount()).toBe(1);
  });
});
