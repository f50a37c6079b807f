// The vocabulary of scenarios: one function per thing a client does, each returning a step.

import type { Job, JobsOptions } from 'bullmq';
import { advance, type Step } from './scenario.ts';
import { MAIN, type QueueSettings, type Side, type WorkerSettings } from './sides.ts';

export interface On {
  queue?: string;
  token?: string;
  worker?: WorkerSettings;
  /** Compares only which job came, where a tolerated difference shows in its fields. */
  idOnly?: boolean;
}

export function step(name: string, run: Step['run'], kind?: Step['kind']): Step {
  return kind ? { name, run, kind } : { name, run };
}

/** Time passes. Done by the first side only: both share the clock. */
export function wait(ms: number): Step {
  return step(`${ms} ms pass`, async (side) => {
    if (side.label === 'yoke') advance(ms);
  });
}

export function add(
  name: string,
  data: unknown,
  opts?: JobsOptions,
  queue = MAIN,
  settings?: QueueSettings,
): Step {
  return step(
    `add ${name} ${JSON.stringify(opts ?? {})}`,
    async (side) => {
      const job = await side.queue(queue, settings).add(name, data, opts);
      return { id: job.id, timestamp: job.timestamp };
    },
    'add',
  );
}

export function addBulk(jobs: { name: string; data: unknown; opts?: JobsOptions }[], queue = MAIN): Step {
  return step(`addBulk of ${jobs.length}`, async (side) =>
    (await side.queue(queue).addBulk(jobs)).map(({ id }) => id),
  );
}

/** Fetches the next job, if there is one, and holds it. */
export function fetch({ queue = MAIN, token = 'token', worker, idOnly }: On = {}): Step {
  return step(
    `fetch from ${queue}`,
    async (side) => {
      const job = await side.worker(queue, worker).getNextJob(token, { block: false });
      if (!job) return 'nothing';
      side.held.set(job.id as string, job);
      return idOnly ? job.id : seen(job);
    },
    'fetch',
  );
}

/** What a client sees of a job that it holds. */
export function seen(job: Job): Record<string, unknown> {
  const {
    id,
    name,
    data,
    opts,
    progress,
    delay,
    priority,
    timestamp,
    attemptsStarted,
    attemptsMade,
    stalledCounter,
  } = job;
  const {
    failedReason,
    stacktrace,
    returnvalue,
    deferredFailure,
    processedOn,
    processedBy,
    finishedOn,
    repeatJobKey,
  } = job;
  const { parentKey, parent, deduplicationId, token } = job;
  const first = {
    id,
    name,
    data,
    opts,
    progress,
    delay,
    priority,
    timestamp,
    attemptsStarted,
    attemptsMade,
    stalledCounter,
  };
  const second = {
    failedReason,
    stacktrace,
    returnvalue,
    deferredFailure,
    processedOn,
    processedBy,
    finishedOn,
    repeatJobKey,
  };
  return { ...first, ...second, parentKey, parent, deduplicationId, token };
}

// A finish that fetched hands out the next job's fields, its id, the rate limit and the next due time.
async function takeNext(
  side: Side,
  reply: unknown,
  { queue = MAIN, worker, token = 'token' }: On,
): Promise<unknown> {
  const [data, id, limitMs, dueAt] = (reply ?? []) as [unknown, string?, number?, number?];
  if (!data || !id) return { next: null, isLimited: (limitMs ?? 0) > 0, dueAt: dueAt ?? 0 };
  const holder = side.worker(queue, worker);
  const { Job: JobClass } = await import(side.label === 'yoke' ? '../../src/index.ts' : 'bullmq');
  const job: Job = await JobClass.fromId(holder, id);
  job.token = token;
  side.held.set(id, job);
  return { next: id };
}

export function complete(id: string, value: unknown, on: On & { fetchNext?: boolean } = {}): Step {
  const { token = 'token', fetchNext = false } = on;
  return step(
    `complete ${id}${fetchNext ? ' and fetch' : ''}`,
    async (side) => {
      const job = side.holding(id);
      const reply = await job.moveToCompleted(value, token, fetchNext);
      return { ...((await takeNext(side, reply, on)) as object), job: seen(job) };
    },
    fetchNext ? undefined : 'finish',
  );
}

/** An error whose stack is the same on every machine. */
export function failure(message: string, name = 'Error'): Error {
  const error = new Error(message);
  error.name = name;
  error.stack = `${name}: ${message}\n    at handler`;
  return error;
}

export function fail(id: string, error: Error | string, on: On & { fetchNext?: boolean } = {}): Step {
  const { token = 'token', fetchNext = false } = on;
  return step(
    `fail ${id}${fetchNext ? ' and fetch' : ''}`,
    async (side) => {
      const job = side.holding(id);
      const reply = await job.moveToFailed(
        typeof error === 'string' ? failure(error) : error,
        token,
        fetchNext,
      );
      const next = (await takeNext(side, reply, on)) as { dueAt?: number };
      // BullMQ does not tell when the next job is due if the fetch came with a backoff; we do.
      if (!job.finishedOn) delete next.dueAt;
      return { ...next, job: seen(job) };
    },
    fetchNext ? undefined : 'finish',
  );
}

/** Something done with a job object, by default a fresh one from its queue. */
export function withJob(
  what: string,
  id: string,
  run: (job: Job, side: Side) => Promise<unknown>,
  queue = MAIN,
): Step {
  return step(`${what} ${id}`, async (side) => run(await side.job(id, queue), side));
}

export function withHeld(what: string, id: string, run: (job: Job, side: Side) => Promise<unknown>): Step {
  return step(`${what} ${id}`, async (side) => run(side.holding(id), side));
}

export function withQueue(
  what: string,
  run: (queue: ReturnType<Side['queue']>, side: Side) => Promise<unknown>,
  queue = MAIN,
): Step {
  return step(what, async (side) => run(side.queue(queue), side));
}

/** A round of the stall check; leases of these jobs are over. */
export function checkStalled({
  expired = [],
  queue = MAIN,
  worker,
}: {
  expired?: string[];
  queue?: string;
  worker?: WorkerSettings;
} = {}): Step {
  return step(`stall check after ${expired.join(', ') || 'nothing'} expired`, async (side) => {
    for (const id of expired) await side.redis.del(side.key(`${id}:lock`, queue));
    // The interval between rounds is a real time to live.
    await side.redis.del(side.key('stalled-check', queue));
    return (await side.checkStalled(side.worker(queue, worker))).sort();
  });
}
