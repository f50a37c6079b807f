import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { Logger } from '../../src/index.ts';
import { expireLeases } from '../../src/testing/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';

const bundle = useBundle();

interface Line {
  level: string;
  event: string;
  fields: Record<string, unknown>;
}

type Shape = 'console' | 'winston' | 'pino';

/** A logger of that family, and what was written with it. */
function logger(shape: Shape): { logger: Logger; lines: Line[]; raw: unknown[][] } {
  const lines: Line[] = [];
  const raw: unknown[][] = [];
  const at =
    (level: string) =>
    (...args: unknown[]) => {
      raw.push(args);
      const [event, fields] = shape === 'pino' ? [args[1], args[0]] : args;
      lines.push({ level, event: event as string, fields: fields as Record<string, unknown> });
    };
  const methods = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  const extras = {
    console: { log: at('log') },
    winston: { log: at('log'), child: () => methods, level: 'info' },
    pino: { child: () => methods, bindings: () => ({}), level: 'info' },
  }[shape];
  return { logger: { ...methods, ...extras } as Logger, lines, raw };
}

describe.each<Shape>(['console', 'winston', 'pino'])('a logger like %s', (shape) => {
  it('gets a line for each event of a job, with the worker and the queue on it', async () => {
    const { logger: log, lines, raw } = logger(shape);
    const queue = bundle.queue();
    const worker = bundle.worker(
      queue.name,
      async (job) => {
        if (job.attemptsMade < 1) throw new Error('first time');
        if (job.data.fails) throw new Error('last time');
        return 'secret result';
      },
      { logger: log },
    );
    await queue.add('n', { password: 'secret data' }, { attempts: 2 });
    await queue.add('n', { password: 'secret data', fails: true }, { attempts: 2 });
    await eventually(async () =>
      expect(await queue.getJobCounts('completed', 'failed')).toEqual({ completed: 1, failed: 1 }),
    );
    await eventually(() => expect(lines.map(({ event }) => event)).toContain('Job failed'));
    await worker.close();

    const byEvent = (event: string) => lines.filter((line) => line.event === event);
    expect(byEvent('Job picked up').length).toBe(4);
    expect(byEvent('Job retried')).toHaveLength(2);
    expect(byEvent('Job retried')[0]).toMatchObject({
      level: 'warn',
      fields: { jobId: expect.any(String), attemptsMade: 1, delayMs: 0, reason: 'first time' },
    });
    expect(byEvent('Job completed')).toEqual([
      {
        level: 'info',
        event: 'Job completed',
        fields: expect.objectContaining({ jobId: '1', attemptsMade: 2, durationMs: expect.any(Number) }),
      },
    ]);
    expect(byEvent('Job failed')).toEqual([
      {
        level: 'error',
        event: 'Job failed',
        fields: expect.objectContaining({
          jobId: '2',
          reason: 'last time',
          attemptsMade: 2,
          category: 'transient',
        }),
      },
    ]);

    const ids = new Set(lines.map(({ fields }) => fields.workerId));
    expect(ids.size).toBe(1);
    expect([...ids][0]).toMatch(
      new RegExp(`^${hostname().replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}-${process.pid}-[0-9a-f]+$`),
    );
    expect(lines.every(({ fields }) => fields.queue === queue.name)).toBe(true);
    const text = JSON.stringify(raw);
    expect(text).not.toContain('secret');
    expect(text).not.toContain(worker.id);
  });
});

it('stalled jobs and lost leases are logged', async () => {
  const { logger: log, lines } = logger('console');
  const queue = bundle.queue();
  const worker = bundle.worker(
    queue.name,
    (_job, _token, signal) => new Promise((resolve) => signal!.addEventListener('abort', resolve)),
    {
      logger: log,
      lockRenewTime: 20,
      stalledInterval: 40,
      shutdownTimeout: 50,
      workerId: 'w-1',
    },
  );
  worker.on('error', () => {});
  const active = nextEvent(worker, 'active');
  await queue.add('n', {}, { jobId: 'x' });
  await active;
  await expireLeases(queue);
  await eventually(() =>
    expect(lines).toContainEqual({
      level: 'warn',
      event: 'Heartbeat failed',
      fields: { queue: queue.name, workerId: 'w-1', jobId: 'x', reason: 'could not renew lock for job x' },
    }),
  );
  await eventually(() =>
    expect(lines).toContainEqual({
      level: 'warn',
      event: 'Job stalled',
      fields: { queue: queue.name, workerId: 'w-1', jobId: 'x' },
    }),
  );
});

it('a lost connection and its return are logged', async () => {
  const { logger: log, lines } = logger('console');
  const queue = bundle.queue(undefined, { logger: log });
  queue.on('error', () => {});
  const closed = nextEvent(queue, 'ioredis:close');
  const client = (await queue.client) as unknown as { stream: { destroy(): void } };
  client.stream.destroy();
  await closed;
  await eventually(() =>
    expect(lines.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['Redis disconnected', 'Redis reconnected']),
    ),
  );
  expect(lines.map(({ level, event }) => [level, event])).toEqual([
    ['error', 'Redis disconnected'],
    ['info', 'Redis reconnected'],
  ]);
  expect((await queue.add('n', {})).id).toBe('1');
});

it('an unknown option is ignored and named once, with the nearest known one', async () => {
  const { logger: log, lines } = logger('console');
  const opts = { logger: log, concurency: 4, nestOption: true } as object;
  const worker = bundle.worker(bundle.name(), async () => 1, opts);
  expect(worker.concurrency).toBe(1);
  const unknown = lines.filter(({ event }) => event === 'Unknown option');
  expect(unknown.map(({ fields }) => [fields.option, fields.nearest])).toEqual([
    ['concurency', 'concurrency'],
    ['nestOption', undefined],
  ]);
  const queue = bundle.queue(undefined, { logger: log, prefx: 'x' } as object);
  expect(queue.opts.prefx).toBe('x');
  expect(lines.filter(({ fields }) => fields.option === 'prefx')).toHaveLength(1);
});

it('a logger that throws fails nothing', async () => {
  const broken = () => {
    throw new Error('disk full');
  };
  const queue = bundle.queue();
  const worker = bundle.worker(queue.name, async () => 'fine', {
    logger: { debug: broken, info: broken, warn: broken, error: broken },
  });
  const completed = nextEvent(worker, 'completed');
  await queue.add('n', {});
  expect((await completed)[1]).toBe('fine');
});

it('something else in place of a logger is refused', () => {
  expect(() => bundle.queue('q', { logger: { info: () => {} } as never })).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION' }),
  );
});
