// A job, as producers add it and workers run it. Its properties are a copy of the record; its methods change the
// record, and each is one atomic transition.

import { yokeError } from '../model/errors.ts';
import type { JobsOptions } from '../model/options/job-options.ts';
import { resolveJobOptions } from '../model/options/job-options.ts';
import { assertSize, encodePayload, type JobProgress } from '../model/payload.ts';
import type { FinishedStatus, JobState } from '../model/states.ts';
import { decodeOptions, type JobRecord } from '../store/codec.ts';
import { GroupStore } from '../store/group-store.ts';
import * as children from './job-children.ts';
import * as byHand from './job-finishing.ts';
import { JobGroup } from './job-group.ts';
import { type FinishSettings, type JobHost, settingsOf } from './job-host.ts';
import type { JobJson, JobJsonSandbox, ParentReference } from './job-json.ts';
import { dataOf, optsOf, recordFromJson, takeOver } from './job-record.ts';
import { type FinishedEvents, waitUntilFinished } from './job-waiting.ts';
import type { NextJobData } from './next-job.ts';

export interface RetryOptions {
  resetAttemptsMade?: boolean;
  resetAttemptsStarted?: boolean;
}

export class Job<
  // biome-ignore lint/suspicious/noExplicitAny: the defaults of BullMQ's own generics.
  DataType = any,
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  ReturnType = any,
  NameType extends string = string,
  ProgressType extends JobProgress = JobProgress,
> {
  id?: string;
  name: NameType;
  data: DataType;
  opts: JobsOptions;
  progress: ProgressType | number = 0;
  returnvalue: ReturnType = null as ReturnType;
  stacktrace: string[] = null as unknown as string[];
  /** Milliseconds. */
  delay: number;
  priority: number;
  /** Milliseconds since the epoch. */
  timestamp: number;
  attemptsStarted = 0;
  attemptsMade = 0;
  stalledCounter = 0;
  failedReason!: string;
  deferredFailure?: string;
  finishedOn?: number;
  processedOn?: number;
  processedBy?: string;
  parentKey?: string;
  parent?: ParentReference;
  /** Key of the transactional group this job belongs to, as member or as compensation. */
  groupKey?: string;
  deduplicationId?: string;
  repeatJobKey?: string;
  /** The lane in whose order the job runs. */
  lane?: string;
  /** Its place in the lane. */
  orderMs?: number;
  token?: string;

  readonly #queue: JobHost;
  #isDiscarded = false;

  constructor(queue: JobHost, name: NameType, data: DataType, opts: JobsOptions = {}, id?: string) {
    this.#queue = queue;
    this.name = name;
    this.data = data;
    this.opts = opts;
    this.id = id;
    this.delay = opts.delay && opts.delay > 0 ? opts.delay : 0;
    this.priority = opts.priority ?? 0;
    this.timestamp = opts.timestamp || Date.now();
  }

  /** Validates, adds and returns the job. */
  static async create<D, R, N extends string>(
    queue: JobHost & Producing,
    name: N,
    data: D,
    opts?: JobsOptions,
  ): Promise<Job<D, R, N>> {
    return queue.add(name, data, opts) as Promise<Job<D, R, N>>;
  }

  static async createBulk<D, R, N extends string>(
    queue: JobHost & Producing,
    jobs: { name: N; data: D; opts?: JobsOptions }[],
  ): Promise<Job<D, R, N>[]> {
    return queue.addBulk(jobs) as Promise<Job<D, R, N>[]>;
  }

  static async fromId<D, R, N extends string>(queue: JobHost, id: string): Promise<Job<D, R, N> | undefined> {
    if (!id) return undefined;
    const record = await queue.inspect.record(id);
    return record && Job.fromRecord<D, R, N>(queue, record);
  }

  /** From raw hash fields, as v5 hands them out, or from what `asJSON` returns. */
  static fromJSON<D, R, N extends string>(
    queue: JobHost,
    json: Record<string, unknown> | JobJson,
    jobId?: string,
  ): Job<D, R, N> {
    return Job.fromRecord<D, R, N>(queue, recordFromJson(json as Record<string, unknown>, jobId));
  }

  /** Throws POISONED_RECORD where the record's JSON is broken. */
  static fromRecord<D, R, N extends string>(queue: JobHost, record: JobRecord): Job<D, R, N> {
    const job = new Job<D, R, N>(queue, record.name as N, dataOf(record) as D, optsOf(record), record.id);
    takeOver(job as Job, record);
    return job;
  }

  static optsFromJSON(text: string): JobsOptions {
    return decodeOptions(text);
  }

  static async addJobLog(queue: JobHost, jobId: string, row: string, keepLogs?: number): Promise<number> {
    assertSize(row, 'log row', settingsOf(queue).maxPayloadBytes);
    return queue.jobs.addLog(jobId, row, keepLogs ?? 0);
  }

  /** @internal The queue or worker this job came from. */
  get queue(): JobHost {
    return this.#queue;
  }

  /** @internal */
  get isDiscarded(): boolean {
    return this.#isDiscarded;
  }

  get queueName(): string {
    return this.queue.name;
  }

  get prefix(): string {
    return this.queue.opts.prefix ?? 'bull';
  }

  get queueQualifiedName(): string {
    return this.queue.qualifiedName;
  }

  toJSON(): Record<string, unknown> {
    return { ...this } as Record<string, unknown>;
  }

  /** The form in which jobs are stored: JSON fields as text, nothing undefined. */
  asJSON(): JobJson {
    const json = {
      ...this.toJSON(),
      data: JSON.stringify(this.data === undefined ? {} : this.data),
      returnvalue: JSON.stringify(this.returnvalue),
      stacktrace: JSON.stringify(this.stacktrace),
      failedReason: JSON.stringify(this.failedReason),
    };
    return Object.fromEntries(
      Object.entries(json).filter(([, value]) => value !== undefined),
    ) as unknown as JobJson;
  }

  asJSONSandbox(): JobJsonSandbox {
    return {
      ...this.asJSON(),
      queueName: this.queueName,
      queueQualifiedName: this.queueQualifiedName,
      prefix: this.prefix,
    };
  }

  async updateData(data: DataType): Promise<void> {
    const text = encodePayload(data, {
      what: 'job data',
      maxBytes: this.#settings.maxPayloadBytes,
      ifUndefined: '{}',
    });
    this.data = data;
    await this.queue.jobs.updateData(this.#id, text);
  }

  async updateProgress(progress: ProgressType): Promise<void> {
    const text = encodePayload(progress, { what: 'progress', maxBytes: this.#settings.maxPayloadBytes });
    this.progress = progress;
    await this.queue.jobs.updateProgress(this.#id, text);
    this.queue.emit('progress', this, progress);
  }

  /** Appends a row; resolves to how many there are. */
  async log(row: string): Promise<number> {
    return Job.addJobLog(this.queue, this.#id, row, this.opts.keepLogs);
  }

  async clearLogs(keepLogs?: number): Promise<void> {
    await this.queue.jobs.clearLogs(this.#id, keepLogs ?? 0);
  }

  async remove({ removeChildren = true }: { removeChildren?: boolean } = {}): Promise<void> {
    if (!(await this.queue.jobs.remove(this.#id, removeChildren)))
      throw yokeError('JOB_LOCKED', { jobId: this.#id });
    this.queue.emit('removed', this);
  }

  /** Leaves its parent; false if the parent did not wait for it. */
  async removeChildDependency(): Promise<boolean> {
    if (!this.parentKey) return false;
    const wasRelated = await this.queue.jobs.detach(this.#id, this.parentKey);
    if (wasRelated) {
      this.parent = undefined;
      this.parentKey = undefined;
    }
    return wasRelated;
  }

  async removeUnprocessedChildren(): Promise<void> {
    await this.queue.jobs.removeUnprocessedChildren(this.#id);
  }

  /** Frees the deduplication id if this job still holds it. */
  async removeDeduplicationKey(): Promise<boolean> {
    return this.deduplicationId ? this.queue.jobs.releaseDedup(this.#id, this.deduplicationId) : false;
  }

  /** 1 if this token still held the lease. */
  async extendLock(token: string, durationMs: number): Promise<number> {
    const lost = await this.queue.leases.extend([{ jobId: this.#id, token }], durationMs);
    return lost.length === 0 ? 1 : 0;
  }

  /** Completes; resolves to the next job's data where one was asked for and there is one. */
  moveToCompleted(returnValue: ReturnType, token: string, fetchNext = true): Promise<NextJobData> {
    return byHand.complete(this as Job, returnValue, token, fetchNext);
  }

  /** Retries now, later, or fails for good, as attempts, backoff and the error say. */
  moveToFailed(error: Error, token: string, fetchNext = false): Promise<NextJobData | undefined> {
    return byHand.fail(this as Job, error, token, fetchNext);
  }

  /** Back to delayed until `timestamp` (ms), no attempt charged; the handler then throws DelayedError. */
  moveToDelayed(timestamp: number, token = this.token ?? '0'): Promise<void> {
    return byHand.postpone(this as Job, timestamp, token);
  }

  /** Back to wait, next in line, no attempt charged; the handler then throws WaitingError. */
  moveToWait(token = this.token ?? '0'): Promise<number> {
    return byHand.giveBack(this as Job, token);
  }

  /** False if no child is pending; if true, the handler throws WaitingChildrenError. */
  moveToWaitingChildren(token: string, opts: byHand.MoveToWaitingChildrenOpts = {}): Promise<boolean> {
    return byHand.awaitChildren(this as Job, token, opts);
  }

  async getState(): Promise<JobState | 'unknown'> {
    return this.queue.inspect.state(this.#id);
  }

  isCompleted(): Promise<boolean> {
    return this.#isIn('completed');
  }

  isFailed(): Promise<boolean> {
    return this.#isIn('failed');
  }

  isDelayed(): Promise<boolean> {
    return this.#isIn('delayed');
  }

  isWaitingChildren(): Promise<boolean> {
    return this.#isIn('waiting-children');
  }

  isActive(): Promise<boolean> {
    return this.#isIn('active');
  }

  isWaiting(): Promise<boolean> {
    return this.#isIn('waiting');
  }

  async changeDelay(delayMs: number): Promise<void> {
    const { delayMs: delay } = resolveJobOptions({ delay: delayMs }, {}, this.#settings);
    await this.queue.jobs.changeDelay(this.#id, delay);
    this.delay = delay;
  }

  async changePriority(opts: { priority?: number; lifo?: boolean }): Promise<void> {
    const { priority } = resolveJobOptions({ priority: opts.priority ?? 0 }, {}, this.#settings);
    await this.queue.jobs.changePriority(this.#id, priority, opts.lifo === true);
    this.priority = priority;
  }

  async promote(): Promise<void> {
    await this.queue.jobs.promote(this.#id);
    this.delay = 0;
  }

  /** A finished job runs again. */
  async retry(state: FinishedStatus = 'failed', opts: RetryOptions = {}): Promise<void> {
    await this.queue.jobs.reprocess({
      jobId: this.#id,
      from: state,
      isNext: this.opts.lifo === true,
      resetsMade: opts.resetAttemptsMade === true,
      resetsStarted: opts.resetAttemptsStarted === true,
    });
    this.failedReason = null as unknown as string;
    this.finishedOn = null as unknown as number;
    this.processedOn = null as unknown as number;
    this.returnvalue = null as ReturnType;
    if (opts.resetAttemptsMade) this.attemptsMade = 0;
    if (opts.resetAttemptsStarted) this.attemptsStarted = 0;
  }

  /** v5: this attempt is the last, whatever `attempts` says. */
  discard(): void {
    this.#isDiscarded = true;
  }

  /** Resolves to the return value; rejects with the failure's reason, or after `ttl` ms. */
  async waitUntilFinished(queueEvents: FinishedEvents, ttl?: number): Promise<ReturnType> {
    return (await waitUntilFinished(
      this.queue,
      { id: this.#id, name: this.name },
      queueEvents,
      ttl,
    )) as ReturnType;
  }

  getChildrenValues<Value = unknown>(): Promise<Record<string, Value>> {
    return children.childrenValues<Value>(this.queue, this.#id);
  }

  getIgnoredChildrenFailures(): Promise<Record<string, string>> {
    return children.ignoredFailures(this.queue, this.#id);
  }

  /** Deprecated name of getIgnoredChildrenFailures. */
  getFailedChildrenValues(): Promise<Record<string, string>> {
    return this.getIgnoredChildrenFailures();
  }

  getDependencies(opts?: children.DependenciesOpts): Promise<children.Dependencies> {
    return children.dependencies(this.queue, this.#id, opts);
  }

  getDependenciesCount(
    opts?: children.DependencyKinds,
  ): Promise<Partial<Record<keyof children.DependencyKinds, number>>> {
    return children.dependenciesCount(this.queue, this.#id, opts);
  }

  /** The group this job is a member or a compensation of; undefined for any other job. */
  getGroup(): JobGroup | undefined {
    const [, home, id] = this.groupKey?.match(/^(.*):groups:([^:]*)$/) ?? [];
    if (home === undefined || id === undefined) return undefined;
    return new JobGroup(new GroupStore(this.queue.inspect.session.of(home), this.prefix), id);
  }

  get #id(): string {
    return this.id as string;
  }

  get #settings(): FinishSettings {
    return settingsOf(this.queue);
  }

  async #isIn(state: JobState): Promise<boolean> {
    return (await this.getState()) === state;
  }
}

export interface Producing {
  add(name: string, data: unknown, opts?: JobsOptions): Promise<unknown>;
  addBulk(jobs: { name: string; data: unknown; opts?: JobsOptions }[]): Promise<unknown>;
}
