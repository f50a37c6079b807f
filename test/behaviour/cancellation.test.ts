import { expect, it } from 'vitest';
import { UnrecoverableError } from '../../src/index.ts';
import { useBundle } from '../support/bundle.ts';
import { nextEvent } from '../support/eventually.ts';

const bundle = useBundle();

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new UnrecoverableError(`cancelled: ${signal.reason}`)));
  });

it('a handler with three parameters gets a signal; one with fewer does not', async () => {
  const queue = bundle.queue();
  const seen: unknown[][] = [];
  const note = (...args: unknown[]) => {
    seen.push(args);
  };
  const takesTwo = async (job: unknown, token: unknown) => note(job, token);
  const takesThree = async (_job: unknown, _token: unknown, signal: unknown) => note(signal);
  class Processor {
    async process(_job: unknown, _token: unknown, signal: unknown) {
      note(signal);
    }
  }
  const bound = new Processor().process.bind(new Processor());
  for (const handler of [takesTwo, takesThree, bound]) {
    const worker = bundle.worker(queue.name, handler as never);
    const completed = nextEvent(worker, 'completed');
    await queue.add('n', {});
    await completed;
    await worker.close();
  }
  expect(seen[0]).toHaveLength(2);
  expect(seen[1]![0]).toBeInstanceOf(AbortSignal);
  expect(seen[2]![0]).toBeInstanceOf(AbortSignal);

  const rest: unknown[][] = [];
  const worker = bundle.worker(queue.name, (async (...args: unknown[]) => rest.push(args)) as never);
  const completed = nextEvent(worker, 'completed');
  await queue.add('n', {});
  await completed;
  expect(rest[0]![2]).toBeUndefined();
});

it('cancelJob aborts that job’s signal with the reason, and only that job’s', async () => {
  const queue = bundle.queue();
  const worker = bundle.worker(queue.name, (_job, _token, signal) => untilAborted(signal!), {
    concurrency: 2,
    shutdownTimeout: 1,
  });
  let active = 0;
  const both = new Promise<void>((resolve) => {
    worker.on('active', () => {
      if (++active === 2) resolve();
    });
  });
  const [first, second] = await queue.addBulk([
    { name: 'a', data: {} },
    { name: 'b', data: {} },
  ]);
  await both;
  const failed = nextEvent(worker, 'failed');
  expect(worker.cancelJob('nobody')).toBe(false);
  expect(worker.cancelJob(first!.id!, 'enough')).toBe(true);
  const [job, error] = await failed;
  expect(job.id).toBe(first!.id);
  expect(error.message).toBe('cancelled: enough');
  expect(await second!.isActive()).toBe(true);
  expect(worker.cancelJob(first!.id!)).toBe(false);
});

it('cancelAllJobs aborts every signal', async () => {
  const queue = bundle.queue();
  const worker = bundle.worker(queue.name, (_job, _token, signal) => untilAborted(signal!), {
    concurrency: 3,
  });
  let active = 0;
  let failed = 0;
  const all = new Promise<void>((resolve) => {
    worker.on('active', () => {
      if (++active === 3) resolve();
    });
  });
  const done = new Promise<void>((resolve) => {
    worker.on('failed', () => {
      if (++failed === 3) resolve();
    });
  });
  await queue.addBulk(Array.from({ length: 3 }, () => ({ name: 'n', data: {} })));
  await all;
  worker.cancelAllJobs('all of you');
  await done;
  expect((await queue.getFailed()).map(({ failedReason }) => failedReason)).toEqual(
    Array(3).fill('cancelled: all of you'),
  );
});

it('cancelling does not move the job: a handler that does not listen completes', async () => {
  const queue = bundle.queue();
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const worker = bundle.worker(queue.name, async (_job, _token, _signal) => gate);
  const active = nextEvent(worker, 'active');
  const job = await queue.add('n', {});
  await active;
  expect(worker.cancelJob(job.id!)).toBe(true);
  const completed = nextEvent(worker, 'completed');
  release();
  await completed;
});

it('a cancelled job that throws an ordinary error is retried', async () => {
  const queue = bundle.queue();
  let runs = 0;
  const worker = bundle.worker(queue.name, async (_job, _token, signal) => {
    if (++runs > 1) return 'second time';
    await new Promise((_resolve, reject) => {
      signal!.addEventListener('abort', () => reject(new Error('stopped')));
    });
  });
  const active = nextEvent(worker, 'active');
  const job = await queue.add('n', {}, { attempts: 2 });
  await active;
  const completed = nextEvent(worker, 'completed');
  worker.cancelJob(job.id!);
  expect((await completed)[1]).toBe('second time');
});

it('a handler without a signal cannot be cancelled', async () => {
  const queue = bundle.queue();
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const worker = bundle.worker(queue.name, async () => gate);
  const active = nextEvent(worker, 'active');
  const job = await queue.add('n', {});
  await active;
  expect(worker.cancelJob(job.id!)).toBe(false);
  release();
});
