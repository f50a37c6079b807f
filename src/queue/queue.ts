// Queue: adds jobs and looks after them. Bad input is refused before anything is sent; every other method is one
// atomic transition, or a bounded number of them.

import { randomUUID } from 'node:crypto';
import { Job } from '../core/job.ts';
import { encodeAdd, placeJob } from '../core/job-adding.ts';
import type { FinishSettings } from '../core/job-host.ts';
import { defaultFinishSettings } from '../core/job-host.ts';
import { yokeError } from '../model/errors.ts';
import { assertJobName } from '../model/names.ts';
import type { JobsOptions, ResolvedJobOptions } from '../model/options/job-options.ts';
import { resolveJobOptions } from '../model/options/job-options.ts';
import {
  type QueueOptions,
  type ResolvedQueueOptions,
  resolveQueueOptions,
} from '../model/options/queue-options.ts';
import { assertSize, encodePayload, type JobProgress } from '../model/payload.ts';
import { validateWith } from '../model/schema.ts';
import type { FinishedStatus } from '../model/states.ts';
import { version } from '../model/version.ts';
import { groupFields } from '../store/group-store.ts';
import { jobIdsByKeys } from '../store/orphans.ts';
import { BulkAdd } from './bulk-add.ts';
import { QueueLanes } from './queue-lanes.ts';

export type CleanType =
  | 'completed'
  | 'wait'
  | 'waiting'
  | 'active'
  | 'paused'
  | 'prioritized'
  | 'delayed'
  | 'failed';

export interface ObliterateOpts {
  /** Also with active jobs. Default false. */
  force?: boolean;
  /** Most keys removed per step. Default 1000. */
  count?: number;
}

// What one call may remove; a longer job is done in steps, so that the server serves others in between.
const MOST_PER_CLEAN = 1000;

type DataOf<T> = T extends Job<infer D, infer _R, infer _N> ? D : T;
// biome-ignore lint/suspicious/noExplicitAny: as in BullMQ, a Job type carries its own result type.
type ResultOf<T, R> = T extends Job<any, infer JR, any> ? JR : R;
// biome-ignore lint/suspicious/noExplicitAny: as above for the name.
type NameOf<T, N extends string> = T extends Job<any, any, infer JN> ? JN : N;

export class Queue<
  // biome-ignore lint/suspicious/noExplicitAny: the defaults of BullMQ's own generics.
  DataTypeOrJob = any,
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  DefaultResultType = any,
  DefaultNameType extends string = string,
  DataType = DataOf<DataTypeOrJob>,
  ResultType = ResultOf<DataTypeOrJob, DefaultResultType>,
  NameType extends string = NameOf<DataTypeOrJob, DefaultNameType>,
> extends QueueLanes<Job<DataType, ResultType, NameType>> {
  readonly token = randomUUID();
  readonly jobsOpts: JobsOptions;
  /** @internal */ readonly finishSettings: FinishSettings;
  protected readonly libName = 'bullmq';
  readonly #options: ResolvedQueueOptions;
  #metaWritten: Promise<void> | undefined;

  constructor(name: string, opts: QueueOptions = {}, _backendFactory?: unknown) {
    const options = resolveQueueOptions(opts);
    super(name, opts, options);
    this.#options = options;
    this.jobsOpts = options.defaultJobOptions;
    this.finishSettings = { ...defaultFinishSettings, maxPayloadBytes: options.maxPayloadBytes };
    if (options.skipMetasUpdate) this.waitUntilReady().catch((error) => this.emitError(error));
    else this.#metaWritten = this.#writeMeta();
  }

  get defaultJobOptions(): JobsOptions {
    return { ...this.jobsOpts };
  }

  get metaValues(): Record<string, string | number> {
    return {
      'opts.maxLenEvents': this.#options.streams.events.maxLen,
      version: `${this.libName}:${version}`,
    };
  }

  async add(
    name: NameType,
    data: DataType,
    opts?: JobsOptions,
  ): Promise<Job<DataType, ResultType, NameType>> {
    this.#assertOpen();
    const checked = this.#checked(data);
    const payload = checked instanceof Promise ? await checked : checked;
    const options = this.#resolve(name, opts);
    const arg = encodeAdd(name, payload, options);
    const { id, at } = await this.jobs.add(arg);
    const job = new Job<DataType, ResultType, NameType>(this, name, payload, options.stored as JobsOptions);
    placeJob(job, arg, id, at);
    this.emit('waiting', job);
    return job;
  }

  /** All or, where the server refused some, an error that names the ids of those that were added. */
  async addBulk(
    jobs: { name: NameType; data: DataType; opts?: JobsOptions }[],
  ): Promise<Job<DataType, ResultType, NameType>[]> {
    this.#assertOpen();
    const bulk = new BulkAdd<DataType, ResultType, NameType>(this);
    // All are checked before the first is sent: a mistake in one adds none.
    for (const { name, data, opts } of jobs) {
      const checked = this.#checked(data);
      if (checked instanceof Promise) bulk.encode();
      const payload = checked instanceof Promise ? await checked : checked;
      bulk.take(name, payload, this.#resolve(name, opts));
    }
    return bulk.send();
  }

  async pause(): Promise<void> {
    await this.jobs.pause();
    this.emit('paused');
  }

  async resume(): Promise<void> {
    await this.jobs.resume();
    this.emit('resumed');
  }

  async isPaused(): Promise<boolean> {
    return Number(await this.session.command('HEXISTS', [this.keys.meta!, 'paused'])) === 1;
  }

  /** The global concurrency is set and reached. */
  async isMaxed(): Promise<boolean> {
    const concurrency = await this.getGlobalConcurrency();
    return concurrency !== null && (await this.getActiveCount()) >= concurrency;
  }

  setGlobalConcurrency(concurrency: number): Promise<number> {
    return this.#setMeta({ concurrency });
  }

  removeGlobalConcurrency(): Promise<number> {
    return this.#unsetMeta('concurrency');
  }

  setGlobalRateLimit(max: number, duration: number): Promise<number> {
    return this.#setMeta({ max, duration });
  }

  removeGlobalRateLimit(): Promise<number> {
    return this.#unsetMeta('max', 'duration');
  }

  /** No job starts for this many ms, on workers that have a limiter or where a global limit is set. */
  async rateLimit(expireTimeMs: number): Promise<void> {
    await this.jobs.holdStarts(expireTimeMs);
  }

  async removeRateLimitKey(): Promise<number> {
    return Number(await this.session.command('DEL', [this.keys.limiter!]));
  }

  async removeDeduplicationKey(id: string): Promise<number> {
    return Number(await this.session.command('DEL', [this.toKey(`de:${id}`)]));
  }

  /** Deprecated name of removeDeduplicationKey. */
  removeDebounceKey(id: string): Promise<number> {
    return this.removeDeduplicationKey(id);
  }

  /** 1 if removed, 0 if a worker holds the job. */
  async remove(jobId: string, { removeChildren = true }: { removeChildren?: boolean } = {}): Promise<number> {
    const isRemoved = await this.jobs.remove(jobId, removeChildren);
    if (isRemoved) this.emit('removed', jobId);
    return isRemoved ? 1 : 0;
  }

  async updateJobProgress(jobId: string, progress: JobProgress): Promise<void> {
    const text = encodePayload(progress, { what: 'progress', maxBytes: this.#options.maxPayloadBytes });
    await this.jobs.updateProgress(jobId, text);
    this.emit('progress', jobId, progress);
  }

  async addJobLog(jobId: string, logRow: string, keepLogs?: number): Promise<number> {
    assertSize(logRow, 'log row', this.#options.maxPayloadBytes);
    return this.jobs.addLog(jobId, logRow, keepLogs ?? 0);
  }

  /** Removes all that waits, and with `delayed` what is delayed. */
  async drain(delayed = false): Promise<void> {
    await this.jobs.drain(delayed);
  }

  /** Removes up to `limit` jobs (0: all) of one state that are older than `grace` ms; resolves to their ids. */
  async clean(grace: number, limit: number, type: CleanType = 'completed'): Promise<string[]> {
    const state = type === 'waiting' ? 'wait' : type;
    const most = limit > 0 ? limit : Number.POSITIVE_INFINITY;
    const cutoff = Math.floor(this.session.clock.now()) - grace;
    const cleaned: string[] = [];
    while (cleaned.length < most) {
      const step = Math.min(MOST_PER_CLEAN, most - cleaned.length);
      const ids = await this.jobs.clean(state, cutoff, limit > 0 ? limit - cleaned.length : 0, step);
      this.emit('cleaned', ids, state);
      cleaned.push(...ids);
      if (ids.length < step) break;
    }
    return cleaned;
  }

  /** Removes the queue and all its jobs. Refuses while jobs are active, unless forced. */
  async obliterate({ force = false, count = 1000 }: ObliterateOpts = {}): Promise<void> {
    await this.pause();
    for (;;) {
      const word = await this.jobs.obliterate(force, count);
      if (word === 'not_paused') throw yokeError('QUEUE_NOT_PAUSED');
      if (word === 'has_active') throw yokeError('QUEUE_HAS_ACTIVE_JOBS');
      if (word === 'has_groups') throw yokeError('QUEUE_HAS_OPEN_GROUPS', { queue: this.name });
      if (word === 'done') return;
    }
  }

  /** Finished jobs run again. */
  async retryJobs({
    count = 1000,
    state = 'failed',
    timestamp,
  }: {
    count?: number;
    state?: FinishedStatus;
    timestamp?: number;
  } = {}): Promise<void> {
    await this.jobs.reprocessMany(state, timestamp ?? Math.ceil(this.session.clock.now()), count);
  }

  /** Delayed jobs become runnable now. */
  async promoteJobs({ count = 1000 }: { count?: number } = {}): Promise<void> {
    await this.jobs.promoteMany(count);
  }

  async trimEvents(maxLength: number): Promise<number> {
    return Number(await this.session.command('XTRIM', [this.keys.events!, 'MAXLEN', '~', maxLength]));
  }

  async getVersion(): Promise<string | null> {
    await this.#metaWritten;
    return (await this.session.command('HGET', [this.keys.meta!, 'version'])) as string | null;
  }

  async removeDeprecatedPriorityKey(): Promise<number> {
    return Number(await this.session.command('DEL', [this.toKey('priority')]));
  }

  /** Deletes records that lie in no collection of the queue; resolves to how many. */
  async removeOrphanedJobs(count = 1000, limit = 0): Promise<number> {
    let removed = 0;
    for (const id of await jobIdsByKeys(this.session, count)) {
      if (limit > 0 && removed >= limit) break;
      if (await this.jobs.removeOrphan(id)) removed++;
    }
    return removed;
  }

  /** Resolves when nothing waits, is delayed or runs; false after `timeoutMs`. */
  async waitForEmpty(timeoutMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    const end = performance.now() + timeoutMs;
    for (;;) {
      if ((await this.getJobCountByTypes('waiting', 'paused', 'active', 'delayed', 'prioritized')) === 0)
        return true;
      if (performance.now() >= end) return false;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  #assertOpen(): void {
    if (this.closing) throw yokeError('QUEUE_CLOSED', { queue: this.name });
  }

  // A promise only where the schema is asynchronous: waiting would let later calls of the same turn go first.
  #checked(data: DataType): DataType | Promise<DataType> {
    const { schema } = this.#options;
    return schema
      ? (validateWith(schema, data, `Queue "${this.name}"`) as DataType | Promise<DataType>)
      : data;
  }

  #resolve(name: NameType, opts: JobsOptions | undefined): ResolvedJobOptions {
    assertJobName(name);
    return resolveJobOptions(opts, this.jobsOpts, this.#options);
  }

  async #writeMeta(): Promise<void> {
    try {
      const { lanes, keepGroups } = this.#options;
      const fields = Object.entries({
        ...this.metaValues,
        'yoke.layout': '1',
        ...groupFields(keepGroups),
      }).flat();
      const hasLanes = Object.values(lanes).some((value) => value !== undefined);
      // Both are sent at once, so that what is added next finds them.
      await Promise.all([
        this.session.command('HSET', [this.keys.meta!, ...fields]),
        hasLanes && this.lanes.configure(lanes),
      ]);
    } catch (error) {
      this.emitError(error as Error);
    }
  }

  async #setMeta(fields: Record<string, number>): Promise<number> {
    for (const [name, value] of Object.entries(fields)) {
      if (!Number.isFinite(value) || value < 0) {
        throw yokeError('INVALID_OPTION', {
          option: name,
          expected: 'a number of at least 0',
          given: String(value),
        });
      }
    }
    return Number(await this.session.command('HSET', [this.keys.meta!, ...Object.entries(fields).flat()]));
  }

  async #unsetMeta(...fields: string[]): Promise<number> {
    return Number(await this.session.command('HDEL', [this.keys.meta!, ...fields]));
  }
}
