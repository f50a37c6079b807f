// Worker: puts the parts together. The job loop fetches, runs and finishes jobs, the lease-keeper renews their leases,
// upkeep looks after the queue.

import { randomUUID } from 'node:crypto';
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
import type { Connection, ConnectionInput } from '../store/connection.ts';
import { clientNameOf } from '../store/keys.ts';
import { MarkerStore } from '../store/marker-store.ts';
import type { AnyProcessor, Processor, Running } from './executor.ts';
import { HandFetcher } from './hand-fetcher.ts';
import { JobLog } from './job-log.ts';
import { JobLoop } from './job-loop.ts';
import { LeaseKeeper } from './lease-keeper.ts';
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

// How often a server that does not let us in is asked again.
const PAUSE_AFTER_REFUSAL_MS = 1000;

// biome-ignore lint/suspicious/noExplicitAny: the defaults of BullMQ's own generics.
export class Worker<DataType = any, ResultType = any, NameType extends string = string> extends QueueBase<
  WorkerListener<DataType, ResultType, NameType>
> {
  readonly id = randomUUID();
  /** @internal */ readonly finishSettings: FinishSettings;
  readonly #options: ResolvedWorkerOptions;
  readonly #blocking: Connection;
  readonly #jobLog: JobLog;
  readonly #loop: JobLoop;
  readonly #byHand: HandFetcher;
  readonly #keeper: LeaseKeeper;
  readonly #upkeep: Upkeep;
  #isStarted = false;
  #end: (() => void) | undefined;

  constructor(
    name: string,
    processor?: Processor<DataType, ResultType, NameType> | string | URL | null,
    opts: WorkerOptions = {},
    _backendFactory?: unknown,
  ) {
    const options = resolveWorkerOptions(opts);
    if (typeof processor === 'string' || processor instanceof URL)
      throw yokeError('NOT_SUPPORTED_YET', { feature: 'a processor file' });
    super(name, opts, options, { workerId: options.workerId });
    this.#options = options;
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
    this.#blocking = this.openConnection(
      (options.connection ?? undefined) as ConnectionInput,
      options,
      true,
      clientName,
    );
    const markers = new MarkerStore(this.#blocking, this.qualifiedName);
    const onError = (error: Error) => this.emitError(error);
    this.#loop = this.#makeLoop((processor ?? null) as AnyProcessor | null, markers);
    this.#keeper = new LeaseKeeper(this.leases, {
      leaseMs: options.lockDuration,
      renewMs: options.lockRenewTime,
      running: this.#loop.slots.inHand,
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
      onFetched: (exchange) => this.#loop.noteEmptiness(exchange),
      onError,
    });
    this.#announceReady();
    if (processor && options.autorun) this.run().catch((error) => this.emitError(error));
  }

  static RateLimitError(): RateLimitError {
    return new RateLimitError();
  }

  get concurrency(): number {
    return this.#loop.concurrency;
  }

  /** Takes effect at once; running jobs are not interrupted. */
  set concurrency(value: number) {
    assertConcurrency(value);
    this.#loop.concurrency = value;
  }

  /** Settles when the worker has been closed. */
  async run(): Promise<void> {
    if (!this.#loop.hasProcessor) throw yokeError('NO_PROCESSOR');
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
    this.#loop.start();
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
        await new Promise((resolve) => setTimeout(resolve, PAUSE_AFTER_REFUSAL_MS));
      }
    }
  }

  /** Started and not closing; a paused worker runs until its last job is done. */
  isRunning(): boolean {
    return this.#isOpen && (!this.isPaused() || this.isProcessing());
  }

  get #isOpen(): boolean {
    return this.#isStarted && !this.closing;
  }

  isPaused(): boolean {
    return this.#loop.isPaused;
  }

  /** A handler of this worker is running. */
  isProcessing(): boolean {
    return this.#loop.slots.inHand.size > 0;
  }

  getCurrentJobs(): Job<DataType, ResultType, NameType>[] {
    return [...this.#loop.slots.inHand.values()].map(({ job }) => job as Job<DataType, ResultType, NameType>);
  }

  getCurrentJob(): Job<DataType, ResultType, NameType> | undefined {
    return this.getCurrentJobs()[0];
  }

  health(): WorkerHealth {
    const { lastPollAt, isPaused, isBusy, slots } = this.#loop;
    const sinceLastPollMs = lastPollAt === 0 ? undefined : Math.round(performance.now() - lastPollAt);
    // An idle worker hears from its server every sleep.
    const limitMs = Math.max(this.#options.drainDelay * 1000, 10_000) + this.#options.callTimeout;
    const hears = isBusy || isPaused || (sinceLastPollMs !== undefined && sinceLastPollMs < limitMs);
    return {
      isHealthy: this.#isOpen && this.connection.isUp && hears,
      isRunning: this.#isOpen,
      isPaused,
      sinceLastPollMs,
      runningCount: slots.inHand.size,
    };
  }

  /** This worker fetches no more; by default waits for its running jobs. */
  async pause(doNotWaitActive = false): Promise<void> {
    if (this.isPaused()) return;
    await this.#loop.pause(!doNotWaitActive);
    this.emit('paused');
  }

  async resume(): Promise<void> {
    if (!this.isPaused()) return;
    this.#loop.resume();
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
  async getNextJob(
    token: string,
    { block = true }: GetNextJobOptions = {},
  ): Promise<Job<DataType, ResultType, NameType> | undefined> {
    if (this.closing || this.isPaused()) return undefined;
    return this.#byHand.next(token, block) as Promise<Job<DataType, ResultType, NameType> | undefined>;
  }

  /** Runs one job, fetched by hand, through the processor. */
  async processJob(job: Job<DataType, ResultType, NameType>, token: string): Promise<void> {
    await this.#loop.process(job as Job, token);
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
    return this.#loop.slots.cancel(jobId, reason);
  }

  cancelAllJobs(reason?: string): void {
    this.#loop.slots.cancelAll(reason);
  }

  /** Deprecated: the same as queue.rateLimit. */
  async rateLimit(expireTimeMs: number): Promise<void> {
    await this.jobs.holdStarts(expireTimeMs);
  }

  override async waitUntilReady(): Promise<RedisClient> {
    await this.session.ready();
    return this.#blocking.ready();
  }

  protected override get isPatient(): boolean {
    return true;
  }

  #makeLoop(processor: AnyProcessor | null, markers: MarkerStore): JobLoop {
    return new JobLoop(this, processor, markers, this.#options, {
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
      onDrained: () => this.emit('drained'),
      onLeftover: (error) => this.tell('error', error),
      onError: (error) => this.emitError(error),
    });
  }

  #announceReady(): void {
    this.#untilServed(() => this.waitUntilReady()).then(
      () => setImmediate(() => this.closing || this.emit('ready')),
      (error) => this.emitError(error),
    );
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
    const hadMarkers = this.#loop.stopFetching();
    this.#upkeep.stop();
    await this.#blocking.close(true);
    try {
      await this.#loop.slots.untilIdle(isForced ? 0 : this.#options.shutdownTimeout);
      await this.unlessOutage(this.#partFromQueue(hadMarkers));
    } catch (error) {
      this.tell('error', error);
    }
    this.#keeper.stop();
    await super.shutDown(isForced || !this.connection.isUp);
    this.#end?.();
    this.emit('closed');
  }

  async #partFromQueue(hadMarkers: boolean): Promise<void> {
    await this.#loop.part();
    // Markers that this worker had taken go to those who stay.
    if (hadMarkers && this.connection.isUp) await this.leases.signal();
  }
}

/** An operator can mend it without touching this process. */
function isPassing(error: unknown): boolean {
  return (
    error instanceof YokeError && (error.key === 'SERVER_AUTH' || error.key === 'SERVER_REFUSES_COMMANDS')
  );
}
