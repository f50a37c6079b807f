import { describe, expect, it } from 'vitest';
import {
  type BackoffStrategy,
  type JobsOptions,
  PermanentError,
  reliableDefaults,
  TransientError,
  UnrecoverableError,
  type WorkerOptions,
} from '../../src/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';

const bundle = useBundle();

/** Runs one job whose every attempt throws; what came of it. */
async function failing(thrown: unknown, opts: JobsOptions, workerOpts: WorkerOptions = {}) {
  const queue = bundle.queue();
  let runs = 0;
  const worker = bundle.worker(
    queue.name,
    async () => {
      runs++;
      throw thrown;
    },
    workerOpts,
  );
  const errors: Error[] = [];
  worker.on('error', (error) => errors.push(error));
  const job = await queue.add('n', {}, opts);
  await eventually(async () => expect(await job.isFailed()).toBe(true));
  const read = (await queue.getJob(job.id!))!;
  return { runs, job: read, errors };
}

describe('attempts', () => {
  it.each([
    [undefined, 1],
    [0, 1],
    [1, 1],
    [3, 3],
  ])('attempts %s means %i run(s)', async (attempts, runs) => {
    expect((await failing(new Error('x'), { attempts })).runs).toBe(runs);
  });

  it('stack traces are kept up to the limit, the newest', async () => {
    expect((await failing(new Error('x'), { attempts: 3, stackTraceLimit: 2 })).job.stacktrace).toHaveLength(
      2,
    );
    expect((await failing(new Error('x'), { attempts: 2, stackTraceLimit: 0 })).job.stacktrace).toEqual([]);
  });

  it('what is thrown need not be an error', async () => {
    expect((await failing('a text', {})).job.failedReason).toBe('a text');
    expect((await failing(undefined, {})).job.failedReason).toContain('undefined');
    expect((await failing({ message: 'shaped like one' }, {})).job.failedReason).toBe('shaped like one');
  });

  it('job.discard makes the current attempt the last', async () => {
    const queue = bundle.queue();
    let runs = 0;
    bundle.worker(queue.name, async (job) => {
      runs++;
      job.discard();
      throw new Error('never again');
    });
    const job = await queue.add('n', {}, { attempts: 5 });
    await eventually(async () => expect(await job.isFailed()).toBe(true));
    expect(runs).toBe(1);
  });
});

describe('permanent and transient errors', () => {
  it('PermanentError and UnrecoverableError are one class and fail at once', async () => {
    expect(PermanentError).toBe(UnrecoverableError);
    const { runs, job } = await failing(new PermanentError('no such account'), { attempts: 5 });
    expect(runs).toBe(1);
    expect(job).toMatchObject({ failedReason: 'no such account', attemptsMade: 1 });
    class Mine extends UnrecoverableError {}
    expect((await failing(new Mine('mine'), { attempts: 5 })).runs).toBe(1);
    expect(
      (await failing(Object.assign(new Error('by name'), { name: 'UnrecoverableError' }), { attempts: 5 }))
        .runs,
    ).toBe(1);
  });

  it('strict fails what is not known to pass, and retries what is', async () => {
    const strict = { errorPolicy: 'strict' as const };
    expect((await failing(new Error('who knows'), { attempts: 3 }, strict)).runs).toBe(1);
    expect((await failing(new TransientError('busy'), { attempts: 3 }, strict)).runs).toBe(3);
    expect(
      (await failing(Object.assign(new Error('x'), { code: 'ECONNRESET' }), { attempts: 3 }, strict)).runs,
    ).toBe(3);
    expect(
      (await failing(Object.assign(new Error('x'), { status: 404 }), { attempts: 3 }, strict)).runs,
    ).toBe(1);
    expect(
      (await failing(Object.assign(new Error('x'), { status: 503 }), { attempts: 3 }, strict)).runs,
    ).toBe(3);
  });

  it('a function decides for itself', async () => {
    const errorPolicy = (error: unknown) =>
      ((error as Error).message === 'fatal' ? 'permanent' : 'transient') as 'permanent' | 'transient';
    expect((await failing(new Error('fatal'), { attempts: 3 }, { errorPolicy })).runs).toBe(1);
    expect((await failing(new Error('later'), { attempts: 3 }, { errorPolicy })).runs).toBe(3);
    const broken = () => {
      throw new Error('in the policy');
    };
    expect((await failing(new Error('x'), { attempts: 2 }, { errorPolicy: broken })).runs).toBe(2);
  });
});

describe('backoff', () => {
  const withStrategy = (backoffStrategy: BackoffStrategy) => ({ settings: { backoffStrategy } });

  it('a failed attempt waits for the delay of its type', async () => {
    const queue = bundle.queue();
    const worker = bundle.worker(queue.name, async () => {
      throw new Error('x');
    });
    const failed = nextEvent(worker, 'failed');
    const job = await queue.add(
      'n',
      {},
      { attempts: 3, backoff: { type: 'exponential', delay: 1_000_000, maxDelay: 5_000 } },
    );
    const [told] = await failed;
    expect(told.delay).toBe(5_000);
    expect(await job.isDelayed()).toBe(true);
    const read = (await queue.getJob(job.id!))!;
    expect(read).toMatchObject({ delay: 5_000, attemptsMade: 1, failedReason: 'x' });
  });

  it('a strategy of one’s own gets the attempt, the type, the error and the job', async () => {
    const seen: unknown[][] = [];
    const { runs } = await failing(
      new Error('x'),
      { attempts: 3, backoff: { type: 'mine' } },
      withStrategy((attemptsMade, type, error, job) => {
        seen.push([attemptsMade, type, error?.message, job.id]);
        return 1;
      }),
    );
    expect(runs).toBe(3);
    expect(seen).toEqual([
      [1, 'mine', 'x', '1'],
      [2, 'mine', 'x', '1'],
    ]);
  });

  it('−1 fails at once, 0 and undefined retry at once, a promise is awaited', async () => {
    const opts = { attempts: 4, backoff: { type: 'mine' } };
    expect(
      (
        await failing(
          new Error('x'),
          opts,
          withStrategy(() => -1),
        )
      ).runs,
    ).toBe(1);
    expect(
      (
        await failing(
          new Error('x'),
          opts,
          withStrategy(() => 0),
        )
      ).runs,
    ).toBe(4);
    expect(
      (
        await failing(
          new Error('x'),
          opts,
          withStrategy(() => undefined),
        )
      ).runs,
    ).toBe(4);
    expect(
      (
        await failing(
          new Error('x'),
          opts,
          withStrategy(async () => -1),
        )
      ).runs,
    ).toBe(1);
    expect(
      (
        await failing(
          new Error('x'),
          opts,
          withStrategy(async () => 2),
        )
      ).runs,
    ).toBe(4);
  });

  it('a strategy that throws fails the job, and the worker goes on', async () => {
    const { runs, job, errors } = await failing(
      new Error('the job’s own'),
      { attempts: 4, backoff: { type: 'mine' } },
      withStrategy(() => {
        throw new Error('in the strategy');
      }),
    );
    expect(runs).toBe(1);
    expect(job.failedReason).toBe('the job’s own');
    expect(errors.map(({ message }) => message)).toEqual(['in the strategy']);
  });

  it('an unknown type without a strategy fails the job and says so', async () => {
    const { runs, errors } = await failing(new Error('x'), {
      attempts: 4,
      backoff: { type: 'nobody-knows' },
    });
    expect(runs).toBe(1);
    expect(errors[0]!.message).toMatch(/^Unknown backoff strategy nobody-knows\.\n/);
  });

  it('maxDelay also caps a strategy of one’s own', async () => {
    const queue = bundle.queue();
    const worker = bundle.worker(
      queue.name,
      async () => {
        throw new Error('x');
      },
      withStrategy(() => 1_000_000),
    );
    const failed = nextEvent(worker, 'failed');
    await queue.add('n', {}, { attempts: 3, backoff: { type: 'mine', maxDelay: 4_000 } });
    expect((await failed)[0].delay).toBe(4_000);
  });

  it('reliableDefaults retry three times with growing delays and keep a thousand log rows', async () => {
    const queue = bundle.queue(undefined, { defaultJobOptions: reliableDefaults });
    const worker = bundle.worker(queue.name, async () => {
      throw new Error('x');
    });
    const failed = nextEvent(worker, 'failed');
    const job = await queue.add('n', {});
    expect(job.opts).toMatchObject({
      attempts: 3,
      keepLogs: 1000,
      backoff: { type: 'exponential', delay: 1000, jitter: 0.2, maxDelay: 3_600_000 },
    });
    const [told] = await failed;
    expect(told.delay).toBeGreaterThanOrEqual(800);
    expect(told.delay).toBeLessThanOrEqual(1000);
    expect(await job.isDelayed()).toBe(true);
  });
});
