// Worker: puts the parts together. The fetcher sleeps and wakes, the exchanger talks to the queue, the executor runs
// jobs, the lease-keeper renews their leases, upkeep looks after the queue.

import { randomUUID } from 'node:crypto';
import { type Finish, givingBack } from '../core/finishing.ts';
import type { Job } from '../core/job.ts';
import type { FinishSettings } from '../core/job-host.ts';
import { QueueBase } from '../core/queue-base.ts';
import { Upkeep } from '../maintenance/upkeep.ts';
import { RateLimitError, YokeError, yokeError } from '../model/errors.ts';
import {
  assertConcurrency,
  type ResolvedWorkerOptions,
  resolveWorkerOptions,
  type WorkerOptions,
} from '../model/options/worker-options.ts';
import type { RedisClient } from '../store/client.ts';
import type { JobRecord } from '../store/codec.ts';
import type { Connection, ConnectionInput } from '../store/connection.ts';
import { clientNameOf } from '../store/keys.ts';
import type { Exchange } from '../store/lease-store.ts';
import { MarkerStore } from '../store/marker-store.ts';
import { Exchanger } from './exchanger.ts';
import { type AnyProcessor, Executor, type Processor, type Running } from './executor.ts';
import { Fetcher } from './fetcher.ts';
import { HandFetcher } from './hand-fetcher.ts';
import { HoldOff } from './hold-off.ts';
import { JobLog } from './job-log.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { scheduleNextIteration } from './next-iteration.ts';
import { Slots } from './slots.ts';
import type { WorkerListener } from './worker-listener.ts';

export interface WorkerHealth {
  /** The worker runs, is not closing, and has heard from its server lately. */
  readonly isHealthy: boolean;
  readonly isRunning: boolean;
  readonly isPaused: boolean;
  /** Milliseconds since the server last answered a poll; undefined if it never has. */
  readonly sinceLastPollMs: number | undefined;
  readonly runningCount: number;
}

export interface GetNextJobOptions {
  block?: boolean;
}

// After a call that failed for good the next one waits this long: soon enough, and no hot loop.
const PAUSE_AFTER_TROUBLE_MS = 1000;

// biome-ignore lint/suspicious/noExplicitAny: the defaults of BullMQ's own generics.
export class Worker<DataType = any, ResultType = any, NameType extends string = string> extends QueueBase<WorkerListener<DataType, ResultType, NameType>> {
  readonly id = randomUUID();
  /** @internal */ readonly finishSettings: FinishSettings;
  readonly #options: ResolvedWorkerOptions;
  readonly #blocking: Connection;
  readonly #slots = new Slots();
  readonly #jobLog: JobLog;
  readonly #holdOff = new HoldOff(() => this.#wake());
  readonly #byHand: HandFetcher;
  readonly #exchanger: Exchanger;
  readonly #fetcher: Fetcher;
  readonly #keeper: LeaseKeeper;
  readonly #upkeep: Upkeep;
  readonly #executor: Executor | undefined;
  #concurrency: number;
  #tokens = 0;
  #isDrained = false;
  #isPaused = false;
  #isStarted = false;
  #end: (() => void) | undefined;

  constructor(name: string, processor?: Processor<DataType, ResultType, NameType> | string | URL | null, opts: WorkerOptions = {}, _backendFactory?: unknown) {
    const options = resolveWorkerOptions(opts);
    if (typeof processor === 'string' || processor instanceof URL) throw yokeError('NOT_SUPPORTED_YET', { feature: 'a processor file' });
    super(name, opts, options, { workerId: options.workerId });
    this.#options = options;
    this.#concurrency = options.concurrency;
    this.#jobLog = new JobLog(this.log, options.errorPolicy);
    this.finishSettings = {
      errorPolicy: options.errorPolicy,
      backoffStrategy: options.settings.backoffStrategy,
      removeOnComplete: options.removeOnComplete,
      removeOnFail: options.removeOnFail,
      maxPayloadBytes: options.maxPayloadBytes,
      leaseMs: options.lockDuration,
      workerName: options.name,
      limiter: options.limiter,
    };
    const clientName = clientNameOf(options.prefix, name, options.name ? `:w:${options.name}` : '');
    this.#blocking = this.openConnection((options.connection ?? undefined) as ConnectionInput, options, true, clientName);
    const markers = new MarkerStore(this.#blocking, this.qualifiedName);
    const onError = (error: Error) => this.emitError(error);
    this.#exchanger = new Exchanger(this.leases, {
      leaseMs: options.lockDuration,
      workerName: options.name,
      limiter: options.limiter,
      freeSlots: () => this.#freeSlots(),
      // Half of the slots: while the server works on one half, the handlers of the other run.
      mostPerFetch: () => Math.ceil(this.#concurrency / 2),
      nextToken: () => `${this.id}:${++this.#tokens}`,
      onJobs: (records, token, leasedAt) => this.#startJobs(records, token, leasedAt),
      onFetched: (exchange) => this.#noteFetch(exchange),
      onError: (error) => this.#noteTrouble(error),
    });
    this.#fetcher = new Fetcher(markers, {
      idleMs: options.drainDelay * 1000,
      clock: this.session.clock,
      onWake: () => this.#wake(),
      onError,
    });
    this.#keeper = new LeaseKeeper(this.leases, {
      leaseMs: options.lockDuration,
      renewMs: options.lockRenewTime,
      running: this.#slots.inHand,
      onLost: (running) => this.#loseLease(running),
      onRound: (kept, lost) => this.#noteRenewals(kept, lost),
      onError,
    });
    this.#upkeep = new Upkeep(this.leases, {
      intervalMs: options.stalledInterval,
      maxStalls: options.maxStalledCount,
      onStalled: (jobId) => {
        this.#jobLog.stalled(jobId);
        this.emit('stalled', jobId, 'active');
      },
      onError,
    });
    this.#byHand = new HandFetcher(this, markers, {
      finish: this.finishSettings,
      repeatStrategy: options.settings.repeatStrategy,
      blockMs: options.drainDelay * 1000,
      onFetched: (exchange) => this.#noteEmptiness(exchange),
      onError,
    });
    if (processor) this.#executor = this.#makeExecutor(processor as AnyProcessor);
    this.#announceReady();
    if (processor && options.autorun) this.run().catch((error) => this.emitError(error));
  }

  static RateLimitError(): RateLimitError {
    return new RateLimitError();
  }

  get concurrency(): number {
    return this.#concurrency;
  }

  /** Takes effect at once; running jobs are not interrupted. */
  set concurrency(value: number) {
    assertConcurrency(value);
    this.#concurrency = value;
    if (this.#isOpen) this.#wake();
  }

  /** Settles when the worker has been closed. */
  async run(): Promise<void> {
    if (!this.#executor) throw yokeError('NO_PROCESSOR');
    if (this.#isStarted) throw yokeError('ALREADY_RUNNING', { what: 'Worker' });
    if (this.closing) return;
    this.#isStarted = true;
    const ended = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    await this.#untilServed(() => this.session.ready());
    if (this.closing) return ended;
    if (!this.#options.skipLockRenewal) this.#keeper.start();
    if (!this.#options.skipStalledCheck) this.#upkeep.start();
    this.#wake();
    return ended;
  }

  // A password that is wrong now may be right later: the worker says so and stays, as it does in any other outage.
  async #untilServed(ready: () => Promise<unknown>): Promise<void> {
    while (!this.closing) {
      try {
        await ready();
        return;
      } catch (error) {
        if (this.closing || !isPassing(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_AFTER_TROUBLE_MS));
      }
    }
  }

  /** Started and not closing; a paused worker runs until its last job is done. */
  isRunning(): boolean {
    return this.#isOpen && (!this.#isPaused || this.isProcessing());
  }

  get #isOpen(): boolean {
    return this.#isStarted && !this.closing;
  }

  isPaused(): boolean {
    return this.#isPaused;
  }

  /** A handler of this worker is running. */
  isProcessing(): boolean {
    return this.#slots.inHand.size > 0;
  }

  getCurrentJobs(): Job<DataType, ResultType, NameType>[] {
    return [...this.#slots.inHand.values()].map(({ job }) => job as Job<DataType, ResultType, NameType>);
  }

  getCurrentJob(): Job<DataType, ResultType, NameType> | undefined {
    return this.getCurrentJobs()[0];
  }

  health(): WorkerHealth {
    const lastPollAt = this.#fetcher.lastPollAt;
    const sinceLastPollMs = lastPollAt === 0 ? undefined : Math.round(performance.now() - lastPollAt);
    // While all slots are busy there is nothing to poll for; an idle worker hears from its server every sleep.
    const isBusy = this.#slots.busy >= this.#concurrency;
    const limitMs = Math.max(this.#options.drainDelay * 1000, 10_000) + this.#options.callTimeout;
    const hears = isBusy || this.#isPaused || (sinceLastPollMs !== undefined && sinceLastPollMs < limitMs);
    return {
      isHealthy: this.#isOpen && this.connection.isUp && hears,
      isRunning: this.#isOpen,
      isPaused: this.#isPaused,
      sinceLastPollMs,
      runningCount: this.#slots.inHand.size,
    };
  }

  /** This worker fetches no more; by default waits for its running jobs. */
  async pause(doNotWaitActive = false): Promise<void> {
    if (this.#isPaused) return;
    this.#isPaused = true;
    if (!doNotWaitActive) {
      // A fetch on its way may still bring jobs.
      await this.#exchanger.settle();
      await this.#slots.untilIdle(Number.POSITIVE_INFINITY);
      await this.#exchanger.settle();
    }
    this.emit('paused');
  }

  async resume(): Promise<void> {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#wake();
    this.emit('resumed');
  }

  override close(force = false): Promise<void> {
    this.closing ??= this.#closeInOrder(force);
    return this.closing;
  }

  override disconnect(): Promise<void> {
    return this.close(true);
  }

  protected override get blockingConnection(): Connection {
    return this.#blocking;
  }

  get jobScheduler(): never {
    throw yokeError('NOT_SUPPORTED_YET', { feature: 'worker.jobScheduler' });
  }

  get repeat(): never {
    throw yokeError('NOT_SUPPORTED_YET', { feature: 'worker.repeat' });
  }

  /** Fetches one job for people who process by hand; `block` waits for one for a while. */
  async getNextJob(token: string, { block = true }: GetNextJobOptions = {}): Promise<Job<DataType, ResultType, NameType> | undefined> {
    if (this.closing || this.#isPaused) return undefined;
    return this.#byHand.next(token, block) as Promise<Job<DataType, ResultType, NameType> | undefined>;
  }

  /** Runs one job, fetched by hand, through the processor. */
  async processJob(job: Job<DataType, ResultType, NameType>, token: string): Promise<void> {
    if (!this.#executor) throw yokeError('NO_PROCESSOR');
    const running: Running = {
      job: job as Job,
      token,
      controller: this.#executor.takesSignal ? new AbortController() : undefined,
      isAbandoned: false,
      isDone: false,
      renewedAt: performance.now(),
    };
    await this.#track(running, () => this.#executor!.execute(running, undefined));
  }

  /** For people who process by hand: recovers stalled jobs from now on. */
  async startStalledCheckTimer(): Promise<void> {
    if (!this.#options.skipStalledCheck && !this.closing) this.#upkeep.start();
  }

  /** The ids whose lease could not be renewed. */
  async extendJobLocks(jobIds: string[], tokens: string[], durationMs: number): Promise<string[]> {
    const leases = jobIds.map((jobId, i) => ({ jobId, token: tokens[i] ?? '' }));
    return (await this.leases.extend(leases, durationMs)).map(({ jobId }) => jobId);
  }

  /** Aborts the signal of a job running here; the handler must react. False if there is none. */
  cancelJob(jobId: string, reason?: string): boolean {
    return this.#slots.cancel(jobId, reason);
  }

  cancelAllJobs(reason?: string): void {
    this.#slots.cancelAll(reason);
  }

  /** Deprecated: the same as queue.rateLimit. */
  async rateLimit(expireTimeMs: number): Promise<void> {
    await this.session.command('SET', [this.keys.limiter!, Number.MAX_SAFE_INTEGER, 'PX', Math.round(expireTimeMs)]);
  }

  override async waitUntilReady(): Promise<RedisClient> {
    await this.session.ready();
    return this.#blocking.ready();
  }

  protected override get isPatient(): boolean {
    return true;
  }

  #makeExecutor(processor: AnyProcessor): Executor {
    const settings = { ...this.finishSettings, maxStartedAttempts: this.#options.maxStartedAttempts, schema: this.#options.schema };
    return new Executor(this, processor, settings, {
      onActive: (job) => {
        this.#jobLog.pickedUp(job);
        this.tell('active', job, 'waiting');
      },
      onCompleted: (job, result) => {
        this.#jobLog.completed(job);
        this.tell('completed', job, result, 'active');
      },
      onFailed: (job, error, willRetry) => {
        this.#jobLog.failed(job, error, willRetry);
        this.tell('failed', job, error, 'active');
      },
      onRateLimited: () => void this.#readLimit(),
      onError: (error) => this.emitError(error),
    }, (running, finish) => this.#handIn(running, finish));
  }

  #announceReady(): void {
    this.#untilServed(() => this.waitUntilReady()).then(
      () => setImmediate(() => this.closing || this.emit('ready')),
      (error) => this.emitError(error),
    );
  }

  get #mayFetch(): boolean {
    return this.#isStarted && !this.closing && !this.#isPaused && !this.#holdOff.isOn;
  }

  #freeSlots(): number {
    return this.#mayFetch ? this.#concurrency - this.#slots.busy - this.#exchanger.requested : 0;
  }

  #wake(): void {
    if (this.#freeSlots() > 0) this.#exchanger.fetch();
    // A marker popped while every slot is taken was meant for somebody else.
    else if (!this.closing && this.#isStarted) this.leases.signal().catch((error) => this.emitError(error));
  }

  #startJobs(records: readonly JobRecord[], token: string, leasedAt: number): void {
    for (const record of records) {
      if (this.closing) {
        this.#exchanger.finish(givingBack(record.id, token)).catch((error) => this.tell('error', error));
        continue;
      }
      const { running, poison } = this.#executor!.prepare(record, token, leasedAt);
      if (record.repeatJobKey) void this.#startIteration(running, poison);
      else void this.#track(running, () => this.#executor!.execute(running, poison));
    }
  }

  async #startIteration(running: Running, poison: Error | undefined): Promise<void> {
    await this.#track(running, async () => {
      try {
        await scheduleNextIteration(this.leases, running.job, this.#options.settings.repeatStrategy, this.session.clock.now());
      } catch (error) {
        // The job stays leased until it is recovered; then its successor is tried again.
        this.emitError(new Error(`Failed to add repeatable job for next iteration: ${(error as Error).message}`, { cause: error }));
        return;
      }
      await this.#executor!.execute(running, poison);
    });
  }

  // The slot is free as soon as the outcome is known: its finish and the fetch of a successor go in one call.
  #handIn(running: Running, finish: Finish): Promise<number> {
    this.#slots.free(running);
    return this.#exchanger.finish(finish);
  }

  async #track(running: Running, work: () => Promise<void>): Promise<void> {
    await this.#slots.hold(running, work);
    this.#restIfIdle();
  }

  #noteFetch(exchange: Exchange): void {
    // A fetch that filled every slot does not look further.
    this.#fetcher.noteFetch(exchange.jobs.length > 0 && exchange.dueAt === 0 ? undefined : exchange.dueAt);
    this.#noteEmptiness(exchange);
    if (exchange.limitedMs > 0) this.#holdOff.start(Math.min(exchange.limitedMs, this.#options.maximumRateLimitDelay));
    this.#restIfIdle();
  }

  #noteEmptiness({ ghosts, jobs, limitedMs }: Exchange): void {
    for (const jobId of ghosts) {
      this.emitError(yokeError('POISONED_RECORD', { jobId, expected: 'a job', given: 'nothing that can be read' }));
    }
    if (jobs.length > 0) this.#isDrained = false;
    else if (limitedMs <= 0 && !this.#isDrained) {
      this.#isDrained = true;
      this.emit('drained');
    }
  }

  // Free slots and nothing asked for: sleep until there is work. A job that ended without a finish of its own (the
  // handler moved it) frees a slot too, and a fetch may have been waiting for one.
  #restIfIdle(): void {
    if (this.#freeSlots() <= 0) return;
    if (this.#exchanger.isQuiet) this.#fetcher.sleep();
    else this.#exchanger.schedule();
  }

  #noteTrouble(error: Error): void {
    this.emitError(error);
    if (!this.closing) this.#holdOff.start(Math.min(this.#options.runRetryDelay, PAUSE_AFTER_TROUBLE_MS));
  }

  async #readLimit(): Promise<void> {
    try {
      const ms = await this.inspect.limitMs(this.#options.limiter?.max);
      if (ms > 0) this.#holdOff.start(Math.min(ms, this.#options.maximumRateLimitDelay));
    } catch (error) {
      this.emitError(error as Error);
    }
  }

  #loseLease(running: Running): void {
    const error = yokeError('LEASE_LOST', { jobId: running.job.id });
    this.#jobLog.leaseLost(running.job.id as string, error);
    running.controller?.abort(error);
    this.emitError(error);
  }

  #noteRenewals(kept: readonly string[], lost: readonly string[]): void {
    if (lost.length > 0) this.emit('lockRenewalFailed', [...lost]);
    if (kept.length > 0) this.emit('locksRenewed', { count: kept.length, jobIds: [...kept] });
  }

  // Bounded: what does not end in time is aborted and handed back, so that it runs elsewhere at once.
  async #closeInOrder(isForced: boolean): Promise<void> {
    this.emit('closing', 'closing queue');
    this.#holdOff.stop();
    this.#fetcher.stop();
    this.#upkeep.stop();
    const wasOnDuty = this.#fetcher.isOnDuty;
    await this.#blocking.close(true);
    try {
      const isIdle = await this.#slots.untilIdle(isForced ? 0 : this.#options.shutdownTimeout);
      await this.unlessOutage(this.#partFromQueue(!isIdle, wasOnDuty));
    } catch (error) {
      this.tell('error', error);
    }
    this.#keeper.stop();
    await super.shutDown(isForced || !this.connection.isUp);
    this.#end?.();
    this.emit('closed');
  }

  // Nothing of this worker's stays behind: jobs are finished or handed back, a fetch on its way included.
  async #partFromQueue(hasRunning: boolean, hadMarkers: boolean): Promise<void> {
    if (hasRunning) await this.#abandonAll();
    await this.#exchanger.settle();
    // Markers that this worker had taken go to those who stay.
    if (hadMarkers && this.connection.isUp) await this.leases.signal();
  }

  async #abandonAll(): Promise<void> {
    const returns: Promise<unknown>[] = [];
    for (const running of this.#slots.inHand.values()) {
      // Its outcome is on its way already.
      if (running.isDone) continue;
      running.isAbandoned = true;
      running.controller?.abort(yokeError('SHUTDOWN_ABORT', { jobId: running.job.id, timeoutMs: this.#options.shutdownTimeout }));
      returns.push(this.#handIn(running, givingBack(running.job.id as string, running.token)));
    }
    for (const result of await Promise.allSettled(returns)) {
      if (result.status === 'rejected') this.tell('error', result.reason);
    }
  }
}

/** An operator can mend it without touching this process. */
function isPassing(error: unknown): boolean {
  return error instanceof YokeError && (error.key === 'SERVER_AUTH' || error.key === 'SERVER_REFUSES_COMMANDS');
}
