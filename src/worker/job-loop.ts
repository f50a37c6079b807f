// Fetch, run, finish, again: as many jobs at a time as there are slots. Sleeps when there is nothing to do, holds off
// when a limit says so, and parts from the queue with nothing of its own left behind.

import { type Finish, givingBack } from '../core/finishing.ts';
import type { Job } from '../core/job.ts';
import type { FinishSettings, JobHost } from '../core/job-host.ts';
import { yokeError } from '../model/errors.ts';
import type { ResolvedWorkerOptions } from '../model/options/worker-options.ts';
import type { JobRecord } from '../store/codec.ts';
import type { Exchange } from '../store/lease-store.ts';
import type { MarkerStore } from '../store/marker-store.ts';
import { joinNeighbours } from '../store/neighbours.ts';
import type { Session } from '../store/session.ts';
import { Exchanger } from './exchanger.ts';
import { type AnyProcessor, Executor, type PreparedJob, type Running } from './executor.ts';
import { Fetcher } from './fetcher.ts';
import { HoldOff } from './hold-off.ts';
import { type HeldJob, Lookahead } from './lookahead.ts';
import { scheduleNextIteration } from './next-iteration.ts';
import { Slots } from './slots.ts';

/** What the loop tells. */
export interface LoopEvents {
  onActive(job: Job): void;
  onCompleted(job: Job, result: unknown): void;
  onFailed(job: Job, error: Error, willRetry: boolean): void;
  onDrained(): void;
  /** Told also while closing, when troubles of the connection are not. */
  onLeftover(error: Error): void;
  onError(error: Error): void;
}

// After a call that failed for good the next one waits this long: soon enough, and no hot loop.
const PAUSE_AFTER_TROUBLE_MS = 1000;

export class JobLoop {
  readonly slots = new Slots();
  readonly #host: JobHost;
  readonly #options: ResolvedWorkerOptions;
  readonly #events: LoopEvents;
  readonly #holdOff = new HoldOff(() => this.wake());
  readonly #exchanger: Exchanger;
  readonly #lookahead: Lookahead;
  readonly #fetcher: Fetcher;
  readonly #executor: Executor | undefined;
  #concurrency = 1;
  #tokens = 0;
  #isStarted = false;
  #isPaused = false;
  #isStopped = false;
  #isDrained = false;
  /** What is held goes back as soon as no fetch is on its way. */
  #isReturning = false;
  /** It was told of work while a fetch was on its way, which may have found it. */
  #isToldMeanwhile = false;
  #leaveNeighbours: () => void = () => {};
  /** It fetches because of a neighbour, and whether it does so: not where the last time brought nothing. */
  #isFollowingHint = false;
  #followsHints = true;

  constructor(
    host: JobHost & { readonly id: string; readonly finishSettings: FinishSettings },
    processor: AnyProcessor | null,
    markers: MarkerStore,
    options: ResolvedWorkerOptions,
    events: LoopEvents,
  ) {
    this.#host = host;
    this.#options = options;
    this.#events = events;
    this.concurrency = options.concurrency;
    this.#lookahead = new Lookahead({
      // A job that is held when its worker dies has stalled, which must not be the end of it.
      isAllowed: options.fetchAhead && options.maxStalledCount > 0 && options.limiter === null,
      onOverdue: () => this.#returnHeld(),
    });
    this.#exchanger = new Exchanger(host.leases, {
      leaseMs: options.lockDuration,
      workerName: options.name,
      limiter: options.limiter,
      freeSlots: () => this.#freeSlots(),
      mostAhead: () => (this.#mayFetch ? this.#lookahead.target(this.#concurrency) : 0),
      fewestAhead: () => (this.#isOneByOne ? this.#lookahead.target(1) / 2 : 1),
      heldCount: () => this.#lookahead.heldCount,
      onCall: (ms) => this.#lookahead.noteCall(ms),
      isAnyRunning: () => this.slots.busy > 0,
      // Half of the slots: while the server works on one half, the handlers of the other run. One call for all costs
      // less processor time but takes longer, also with a few slots.
      mostPerFetch: () => Math.ceil(this.#concurrency / 2),
      nextToken: () => `${host.id}:${++this.#tokens}`,
      onJobs: (records, token, leasedAt) => this.#startJobs(records, token, leasedAt),
      onFetched: (exchange) => this.#noteFetch(exchange),
      onError: (error) => this.#noteTrouble(error),
    });
    this.#fetcher = new Fetcher(markers, {
      idleMs: options.drainDelay * 1000,
      clock: host.inspect.session.clock,
      // What is fetched because of a neighbour is mostly there with the marker, and would wait for what that leads to.
      isAnswerDue: () => this.#exchanger.requested > 0,
      onWake: () => this.wake(),
      onError: events.onError,
    });
    const settings = {
      ...host.finishSettings,
      maxStartedAttempts: options.maxStartedAttempts,
      schema: options.schema,
    };
    const handIn = (running: Running, finish: Finish) => this.#handIn(running, finish);
    const told = { ...events, onRateLimited: () => void this.#readLimit() };
    if (processor) this.#executor = new Executor(host, processor, settings, told, handIn);
  }

  get hasProcessor(): boolean {
    return this.#executor !== undefined;
  }

  get concurrency(): number {
    return this.#concurrency;
  }

  set concurrency(value: number) {
    // As long as fewer run than it says, one more may.
    this.#concurrency = Math.ceil(value);
    if (this.#isStarted) this.wake();
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** While all slots are busy there is nothing to poll for. */
  get isBusy(): boolean {
    return this.slots.busy >= this.#concurrency;
  }

  /** When the server last answered a poll, on the monotonic clock; 0 if never. */
  get lastPollAt(): number {
    return this.#fetcher.lastPollAt;
  }

  start(): void {
    this.#isStarted = true;
    this.#leaveNeighbours = joinNeighbours(this.#host.leases.session, (carrier) => this.#hear(carrier));
    this.wake();
  }

  /** Fetches no more; waits for running jobs if asked. */
  async pause(waitsForJobs: boolean): Promise<void> {
    this.#isPaused = true;
    this.#returnHeld();
    if (!waitsForJobs) return;
    // A fetch on its way may still bring jobs.
    await this.#exchanger.settle();
    await this.slots.untilIdle(Number.POSITIVE_INFINITY);
    await this.#exchanger.settle();
  }

  resume(): void {
    this.#isPaused = false;
    this.wake();
  }

  /** There may be work. */
  wake(): void {
    this.#isToldMeanwhile = this.#exchanger.requested > 0;
    if (this.#isToldMeanwhile) return;
    if (this.#freeSlots() > 0) this.#exchanger.fetch();
    // A marker popped while every slot is taken was meant for somebody else.
    else if (!this.#host.closing && this.#isStarted) this.#host.leases.signal().catch(this.#events.onError);
  }

  // Something was added in this process. A queue that is paused or full gives nothing, however much is added to it.
  #hear(carrier: Session): boolean {
    if (!this.#followsHints || !this.#fetcher.isSleeping) return false;
    if (!this.#exchanger.isQuiet || this.#freeSlots() <= 0) return false;
    this.#isFollowingHint = true;
    this.#host.leases.session.rideWith(carrier, () => this.#exchanger.fetch());
    return true;
  }

  #learnFromHint(hasJobs: boolean): void {
    if (hasJobs) this.#followsHints = true;
    else if (this.#isFollowingHint) this.#followsHints = false;
    this.#isFollowingHint = false;
  }

  /** Runs one job that was fetched by hand. */
  async process(job: Job, token: string): Promise<void> {
    const executor = this.#executor;
    if (!executor) throw yokeError('NO_PROCESSOR');
    const controller = executor.takesSignal ? new AbortController() : undefined;
    const renewedAt = performance.now();
    const running: Running = {
      job,
      token,
      controller,
      isAbandoned: false,
      isDone: false,
      renewedAt,
      begunAt: renewedAt,
    };
    await this.#execute(executor, running, undefined);
  }

  /** Ids that lay in the queue without a record, and the first fetch that found nothing. */
  noteEmptiness({ ghosts, jobs, limitedMs }: Exchange): void {
    for (const jobId of ghosts) {
      const error = yokeError('POISONED_RECORD', {
        jobId,
        expected: 'a job',
        given: 'nothing that can be read',
      });
      this.#events.onError(error);
    }
    if (jobs.length > 0) this.#isDrained = false;
    else if (limitedMs <= 0 && !this.#isDrained) {
      this.#isDrained = true;
      this.#events.onDrained();
    }
  }

  /** True if this worker had taken markers that others may be waiting for. */
  stopFetching(): boolean {
    this.#isStopped = true;
    this.#leaveNeighbours();
    this.#holdOff.stop();
    this.#fetcher.stop();
    this.#returnHeld();
    return this.#fetcher.isOnDuty;
  }

  /** What still runs is aborted and handed back; resolves when the queue has every outcome, a late fetch included. */
  async part(): Promise<void> {
    const returns: Promise<unknown>[] = [];
    for (const running of this.slots.inHand.values()) {
      // Its outcome is on its way already.
      if (running.isDone) continue;
      running.isAbandoned = true;
      const { shutdownTimeout: timeoutMs } = this.#options;
      running.controller?.abort(yokeError('SHUTDOWN_ABORT', { jobId: running.job.id, timeoutMs }));
      returns.push(this.#handIn(running, givingBack(running.job.id as string, running.token, 'interrupted')));
    }
    for (const result of await Promise.allSettled(returns)) {
      if (result.status === 'rejected') this.#events.onLeftover(result.reason);
    }
    await this.#exchanger.settle();
  }

  get #mayFetch(): boolean {
    return (
      this.#isStarted && !this.#isStopped && !this.#host.closing && !this.#isPaused && !this.#holdOff.isOn
    );
  }

  get #isOneByOne(): boolean {
    return this.#concurrency === 1;
  }

  // One at a time, the next begins when the queue has the outcome of the one before.
  get #mayStart(): boolean {
    return this.#isOneByOne ? this.slots.inHand.size === 0 : this.slots.busy < this.#concurrency;
  }

  #freeSlots(): number {
    if (!this.#mayFetch) return 0;
    return this.#concurrency - this.slots.busy - this.#lookahead.heldCount - this.#exchanger.requested;
  }

  #startJobs(records: readonly JobRecord[], token: string, leasedAt: number): void {
    const heldAt = performance.now();
    for (const record of records) this.#lookahead.hold({ record, token, leasedAt, heldAt });
    if (!this.#host.closing) this.#startHeld();
    if (this.#isReturning || !this.#mayFetch) this.#returnHeld();
    if (this.#lookahead.heldCount > 0) this.#lookahead.watch();
  }

  #prepare(held: HeldJob): PreparedJob {
    held.prepared ??= this.#executor!.prepare(held.record, held.token, held.leasedAt);
    return held.prepared;
  }

  #startJob(held: HeldJob): void {
    const { running, poison } = this.#prepare(held);
    if (held.record.repeatJobKey) void this.#startIteration(running, poison);
    else void this.#execute(this.#executor!, running, poison);
  }

  // As many as there are free slots. Those before may have taken their time.
  #startHeld(): void {
    while (this.#mayStart) {
      const { first } = this.#lookahead;
      if (!first) return;
      // The process stood still meanwhile: the job may be running elsewhere by now.
      if (performance.now() - first.heldAt > this.#options.lockDuration / 4) {
        this.#returnHeld();
        return;
      }
      this.#startJob(this.#lookahead.take()!);
    }
  }

  // All together, with what a fetch on its way may bring: one after the other they would change places. The first one
  // last, because what is given back runs next.
  #returnHeld(): void {
    this.#isReturning = this.#exchanger.isFetching;
    if (this.#isReturning) return;
    const held = this.#lookahead.takeAll();
    if (held.length === 0) return;
    const finishes = held.map(({ record, token }) =>
      givingBack(record.id, token, record.attemptsStarted === 1 ? 'unbegun' : 'interrupted'),
    );
    this.#exchanger.giveBack(finishes.reverse(), (error) => this.#events.onLeftover(error as Error));
  }

  async #startIteration(running: Running, poison: Error | undefined): Promise<void> {
    const { leases, inspect } = this.#host;
    this.slots.take(running);
    try {
      const { repeatStrategy } = this.#options.settings;
      await scheduleNextIteration(leases, running.job, repeatStrategy, inspect.session.clock.now());
    } catch (error) {
      // The job stays leased until it is recovered; then its successor is tried again.
      const reason = (error as Error).message;
      this.#events.onError(
        new Error(`Failed to add repeatable job for next iteration: ${reason}`, { cause: error }),
      );
      this.#release(running);
      return;
    }
    await this.#executor!.execute(running, poison);
    this.#release(running);
  }

  // The slot is free as soon as the outcome is known: its finish and the fetch of a successor go in one call.
  #handIn(running: Running, finish: Finish): Promise<number> {
    this.slots.free(running);
    this.#lookahead.noteHandler(performance.now() - running.begunAt);
    if (this.#lookahead.heldCount > 0) this.#startHeld();
    const taken = this.#exchanger.finish(finish);
    // One at a time, the next has to wait for the answer: it gets ready meanwhile.
    if (this.#isOneByOne && this.#lookahead.first) this.#prepare(this.#lookahead.first);
    return taken;
  }

  async #execute(executor: Executor, running: Running, poison: Error | undefined): Promise<void> {
    running.begunAt = performance.now();
    this.slots.take(running);
    await executor.execute(running, poison);
    this.#release(running);
  }

  #release(running: Running): void {
    this.slots.release(running);
    if (this.#lookahead.heldCount > 0) this.#startHeld();
    this.#restIfIdle();
  }

  #noteFetch(exchange: Exchange): void {
    // A fetch that filled every slot does not look further.
    this.#fetcher.noteFetch(exchange.jobs.length > 0 && exchange.dueAt === 0 ? undefined : exchange.dueAt);
    this.noteEmptiness(exchange);
    this.#learnFromHint(exchange.jobs.length > 0);
    if (exchange.limitedMs > 0) this.#waitForLimit(exchange.limitedMs);
    if (this.#isToldMeanwhile) this.wake();
    this.#restIfIdle();
  }

  // Free slots and nothing asked for: sleep until there is work. A job that ended without a finish of its own (the
  // handler moved it) frees a slot too, and a fetch may have been waiting for one.
  #restIfIdle(): void {
    if (this.#freeSlots() <= 0) return;
    if (this.#exchanger.isQuiet) this.#fetcher.sleep();
    else this.#exchanger.schedule();
  }

  #noteTrouble(error: Error): void {
    this.#events.onError(error);
    if (this.#isReturning) this.#returnHeld();
    if (!this.#host.closing)
      this.#holdOff.start(Math.min(this.#options.runRetryDelay, PAUSE_AFTER_TROUBLE_MS));
  }

  #waitForLimit(ms: number): void {
    this.#holdOff.start(Math.min(ms, this.#options.maximumRateLimitDelay));
    this.#returnHeld();
  }

  async #readLimit(): Promise<void> {
    try {
      const ms = await this.#host.inspect.limitMs(this.#options.limiter?.max);
      if (ms > 0) this.#waitForLimit(ms);
    } catch (error) {
      this.#events.onError(error as Error);
    }
  }
}
