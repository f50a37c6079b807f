// One job's way through a worker: decode, start, run, normalise the outcome, hand it in, tell. Each step is a few
// lines; what a handler throws becomes a value here and nowhere else.

import { planFailure, stackTraces } from '../core/failure-plan.ts';
import {
  backingOff,
  completing,
  endingOf,
  type Finish,
  failing,
  givingBack,
  keepOf,
  retrying,
  type Seen,
} from '../core/finishing.ts';
import { Job } from '../core/job.ts';
import type { FinishSettings, JobHost } from '../core/job-host.ts';
import {
  errorCatalogue,
  isConnectionError,
  isDelayedError,
  isRateLimitError,
  isWaitingChildrenError,
  isWaitingError,
  UnrecoverableError,
  YokeError,
} from '../model/errors.ts';
import { failureText, normaliseError, STARTED_TOO_OFTEN } from '../model/failure.ts';
import { encodePayload, type JobProgress } from '../model/payload.ts';
import { type StandardSchemaV1, validateWith } from '../model/schema.ts';
import { emptyRecord, type JobRecord } from '../store/codec.ts';

// biome-ignore lint/suspicious/noExplicitAny: the defaults of BullMQ's own generics.
export type Processor<D = any, R = any, N extends string = string, P extends JobProgress = JobProgress> = (
  job: Job<D, R, N, P>,
  token?: string,
  signal?: AbortSignal,
) => Promise<R> | R;

export interface ExecutorSettings extends FinishSettings {
  readonly maxStartedAttempts: number;
  readonly schema: StandardSchemaV1 | null;
}

/** What the executor tells while a job goes through. */
export interface ExecutorEvents {
  onActive(job: Job): void;
  onCompleted(job: Job, result: unknown): void;
  onFailed(job: Job, error: Error, willRetry: boolean): void;
  onRateLimited(): void;
  onError(error: Error): void;
}

export interface Running {
  readonly job: Job;
  readonly token: string;
  /** Only for handlers that take a signal. */
  readonly controller: AbortController | undefined;
  /** The worker gave the job up: whatever the handler returns is not handed in. */
  isAbandoned: boolean;
  /** The handler has returned; the outcome is being handed in. */
  isDone: boolean;
  /** What the record said when it came; the user's own copy may have been changed. */
  readonly seen?: Seen;
  /** When the lease was last renewed, on the monotonic clock. */
  renewedAt: number;
  /** When it took its slot, on the same clock. */
  begunAt: number;
}

export interface PreparedJob {
  readonly running: Running;
  /** Why it cannot run. */
  readonly poison: Error | undefined;
}

function seenOf(record: JobRecord): Seen | undefined {
  const { lane = '', newFieldCount } = record;
  return newFieldCount === 0 ? undefined : { lane, fieldCount: String(newFieldCount) };
}

type Outcome =
  | { readonly kind: 'completed'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'rate_limited' }
  /** The handler has moved the job itself. */
  | { readonly kind: 'moved' };

const MOVED: Outcome = Object.freeze({ kind: 'moved' });
const RATE_LIMITED: Outcome = Object.freeze({ kind: 'rate_limited' });

// biome-ignore lint/suspicious/noExplicitAny: the executor runs any worker's handler.
export type AnyProcessor = Processor<any, any, any>;

export class Executor {
  readonly #host: JobHost;
  readonly #settings: ExecutorSettings;
  readonly #events: ExecutorEvents;
  readonly #handIn: (running: Running, finish: Finish) => Promise<number>;
  /** BullMQ's rule: a handler that declares three parameters gets a signal. */
  readonly takesSignal: boolean;
  readonly #processor: AnyProcessor;

  constructor(
    host: JobHost,
    processor: AnyProcessor,
    settings: ExecutorSettings,
    events: ExecutorEvents,
    handIn: (running: Running, finish: Finish) => Promise<number>,
  ) {
    this.#host = host;
    this.#processor = processor;
    this.#settings = settings;
    this.#events = events;
    this.#handIn = handIn;
    this.takesSignal = processor.length >= 3;
  }

  /** The job, ready to run; a record that cannot be read comes as a job that fails with the reason. */
  prepare(record: JobRecord, token: string, leasedAt: number): PreparedJob {
    let job: Job;
    let poison: Error | undefined;
    try {
      job = Job.fromRecord(this.#host, record);
    } catch (error) {
      poison = new UnrecoverableError((error as Error).message);
      job = Job.fromRecord(this.#host, {
        ...emptyRecord(record.id),
        name: record.name,
        attemptsMade: record.attemptsMade,
      });
    }
    job.token = token;
    const controller = this.takesSignal ? new AbortController() : undefined;
    return {
      running: {
        job,
        token,
        controller,
        seen: seenOf(record),
        isAbandoned: false,
        isDone: false,
        renewedAt: leasedAt,
        begunAt: leasedAt,
      },
      poison,
    };
  }

  /** Runs a job to its end and hands the outcome in. Never rejects. */
  async execute(running: Running, poison: Error | undefined): Promise<void> {
    const { job } = running;
    let outcome: Outcome;
    const refusal = poison ?? this.#reasonNotToRun(job);
    if (refusal) outcome = { kind: 'failed', error: refusal };
    else {
      this.#events.onActive(job);
      try {
        const { schema } = this.#settings;
        if (schema) job.data = await this.#validated(schema, job);
        const value = await this.#processor(job, running.token, running.controller?.signal);
        outcome = { kind: 'completed', value };
      } catch (thrown) {
        outcome = outcomeOf(thrown);
      }
    }
    if (running.isAbandoned) return;
    try {
      await this.#finish(running, outcome);
    } catch (error) {
      this.#events.onError(error as Error);
    }
  }

  #reasonNotToRun(job: Job): Error | undefined {
    if (job.deferredFailure) return new UnrecoverableError(job.deferredFailure);
    if (job.attemptsStarted > this.#settings.maxStartedAttempts)
      return new UnrecoverableError(STARTED_TOO_OFTEN);
    return undefined;
  }

  // Data that does not fit the schema will not fit it the next time either.
  async #validated(schema: StandardSchemaV1, job: Job): Promise<unknown> {
    try {
      return await validateWith(schema, job.data, `Job ${job.id}`);
    } catch (error) {
      throw new UnrecoverableError((error as Error).message);
    }
  }

  async #finish(running: Running, outcome: Outcome): Promise<void> {
    const { job, token } = running;
    if (outcome.kind === 'moved') return;
    if (outcome.kind === 'rate_limited') {
      await this.#handIn(running, givingBack(job.id as string, token, 'asked'));
      this.#events.onRateLimited();
      return;
    }
    if (outcome.kind === 'failed') {
      await this.#fail(running, outcome.error);
      return;
    }
    const { value } = outcome;
    try {
      job.finishedOn = await this.#handIn(running, this.#completing(running, value));
      job.returnvalue = value;
      job.attemptsMade += 1;
      this.#events.onCompleted(job, value);
    } catch (error) {
      // Unsettled children, a result that cannot be stored, a lost lease: an error, and then a failed attempt.
      this.#events.onError(error as Error);
      // Where nobody knows what the server did, the work is not called a failure: the lease decides.
      if (!running.isAbandoned && !isWorldFailure(error)) await this.#fail(running, error as Error);
    }
  }

  #completing({ job, token, seen }: Running, value: unknown): Finish {
    const result = encodePayload(value, {
      what: 'return value',
      maxBytes: this.#settings.maxPayloadBytes,
      ifUndefined: 'null',
    });
    const keep = keepOf(job.opts.removeOnComplete, this.#settings.removeOnComplete);
    return completing(job.id as string, token, result, keep, seen);
  }

  async #fail(running: Running, error: Error): Promise<void> {
    const { job, token } = running;
    const id = job.id as string;
    const { reason, stack } = failureText(error);
    const traces = stackTraces(job.stacktrace ?? [], stack, job.opts.stackTraceLimit);
    const attempt = { reason, stacktrace: traces.json };
    const plan = await this.#plan(job, error);
    const ending = endingOf(job.opts, this.#settings.removeOnFail);
    let finish: Finish;
    if (plan.next === 'retry') finish = retrying(id, token, attempt, ending, job.opts.lifo === true);
    else if (plan.next === 'delay') finish = backingOff(id, token, attempt, ending, plan.delayMs);
    else finish = failing(id, token, attempt, ending);
    const at = await this.#handIn(running, finish);
    const isEnd = plan.next === 'fail' || finish.instead !== undefined;
    if (isEnd) job.finishedOn = at;
    job.failedReason = reason;
    job.stacktrace = traces.list;
    job.attemptsMade += 1;
    if (plan.next === 'delay' && !isEnd) job.delay = plan.delayMs;
    this.#events.onFailed(job, error, !isEnd);
  }

  // A strategy that throws must not leave the job active for ever.
  async #plan(job: Job, error: Error) {
    try {
      return await planFailure(job, error, this.#settings);
    } catch (broken) {
      this.#events.onError(broken as Error);
      return { next: 'fail' } as const;
    }
  }
}

function outcomeOf(thrown: unknown): Outcome {
  if (isRateLimitError(thrown)) return RATE_LIMITED;
  if (isDelayedError(thrown) || isWaitingError(thrown) || isWaitingChildrenError(thrown)) return MOVED;
  return { kind: 'failed', error: normaliseError(thrown) };
}

/** No answer, or none about this job. */
function isWorldFailure(error: unknown): boolean {
  if (isConnectionError(error)) return true;
  return (
    error instanceof YokeError && error.key !== 'CALL_REFUSED' && errorCatalogue[error.key].family === 'world'
  );
}
