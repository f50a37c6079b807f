// The reading half of Queue: jobs, states, counts, settings. Nothing here changes a job.

import { Job } from '../core/job.ts';
import { QueueBase } from '../core/queue-base.ts';
import { YokeError } from '../model/errors.ts';
import { type JobState, type JobType, jobStates, normaliseTypes } from '../model/states.ts';
import { listWorkers, type WorkerEntry } from '../store/client-list.ts';
import type { JobRecord } from '../store/codec.ts';
import { clientNameOf } from '../store/keys.ts';
import { type DependencyPageResult, dependencyPage } from './dependency-page.ts';
import type { QueueListener } from './queue-listener.ts';

export interface QueueMeta {
  concurrency?: number;
  max?: number;
  duration?: number;
  maxLenEvents?: number;
  paused: boolean;
  version?: string;
  [field: string]: unknown;
}

export interface MetricsData {
  meta: { count: number; prevTS: number; prevCount: number };
  data: number[];
  count: number;
}

const numericMeta: Record<string, string> = {
  concurrency: 'concurrency',
  max: 'max',
  duration: 'duration',
  'opts.maxLenEvents': 'maxLenEvents',
};

// biome-ignore lint/suspicious/noExplicitAny: the defaults of BullMQ's own generics.
export abstract class QueueGetters<JobBase extends Job = Job<any, any, string>> extends QueueBase<
  QueueListener<JobBase>
> {
  async getJob(jobId: string): Promise<JobBase | undefined> {
    return (await Job.fromId(this, jobId)) as JobBase | undefined;
  }

  async getJobState(jobId: string): Promise<JobState | 'unknown'> {
    return this.inspect.state(jobId);
  }

  /** Ranges apply to each type on its own. A record that cannot be read is passed over. */
  async getJobs(types?: JobType | JobType[], start = 0, end = -1, asc = false): Promise<JobBase[]> {
    return this.readable(
      await this.inspect.list(normaliseTypes(types), { first: start, last: end, isAscending: asc }),
    );
  }

  /** The jobs of these records; one that cannot be read is told as an error and passed over. */
  protected readable(records: readonly JobRecord[]): JobBase[] {
    const jobs: JobBase[] = [];
    for (const record of records) {
      try {
        jobs.push(Job.fromRecord(this, record) as unknown as JobBase);
      } catch (error) {
        if (!(error instanceof YokeError)) throw error;
        this.emitError(error);
      }
    }
    return jobs;
  }

  getWaiting(start = 0, end = -1): Promise<JobBase[]> {
    return this.getJobs(['waiting'], start, end, true);
  }

  getWaitingChildren(start = 0, end = -1): Promise<JobBase[]> {
    return this.getJobs(['waiting-children'], start, end, true);
  }

  getActive(start = 0, end = -1): Promise<JobBase[]> {
    return this.getJobs(['active'], start, end, true);
  }

  getDelayed(start = 0, end = -1): Promise<JobBase[]> {
    return this.getJobs(['delayed'], start, end, true);
  }

  getPrioritized(start = 0, end = -1): Promise<JobBase[]> {
    return this.getJobs(['prioritized'], start, end, true);
  }

  getCompleted(start = 0, end = -1): Promise<JobBase[]> {
    return this.getJobs(['completed'], start, end, false);
  }

  getFailed(start = 0, end = -1): Promise<JobBase[]> {
    return this.getJobs(['failed'], start, end, false);
  }

  async getRanges(types: JobType[], start = 0, end = 1, asc = false): Promise<string[]> {
    return this.inspect.ranges(normaliseTypes(types), { first: start, last: end, isAscending: asc });
  }

  async getJobCounts(...types: JobType[]): Promise<Record<string, number>> {
    const asked = types.length > 0 ? [...new Set(types)] : [...jobStates];
    const counts = await this.inspect.counts(asked);
    return Object.fromEntries(asked.map((type, i) => [type, counts[i] ?? 0]));
  }

  async getJobCountByTypes(...types: JobType[]): Promise<number> {
    const counts = await this.getJobCounts(...types);
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  }

  /** Everything that has not run yet. */
  count(): Promise<number> {
    return this.getJobCountByTypes('waiting', 'paused', 'delayed', 'prioritized', 'waiting-children');
  }

  getCompletedCount(): Promise<number> {
    return this.getJobCountByTypes('completed');
  }

  getFailedCount(): Promise<number> {
    return this.getJobCountByTypes('failed');
  }

  getDelayedCount(): Promise<number> {
    return this.getJobCountByTypes('delayed');
  }

  getActiveCount(): Promise<number> {
    return this.getJobCountByTypes('active');
  }

  getPrioritizedCount(): Promise<number> {
    return this.getJobCountByTypes('prioritized');
  }

  getWaitingCount(): Promise<number> {
    return this.getJobCountByTypes('waiting');
  }

  getWaitingChildrenCount(): Promise<number> {
    return this.getJobCountByTypes('waiting-children');
  }

  /** The counts; a gauge too, once meters are supported. */
  recordJobCountsMetric(...types: JobType[]): Promise<Record<string, number>> {
    return this.getJobCounts(...types);
  }

  async getCountsPerPriority(priorities: number[]): Promise<Record<string, number>> {
    const unique = [...new Set(priorities)];
    const counts = await this.inspect.perPriority(unique);
    return Object.fromEntries(unique.map((priority, i) => [String(priority), counts[i] ?? 0]));
  }

  /** A parent's children: those that have completed, with their results, or those it waits for. */
  getDependencies(
    parentId: string,
    type: 'processed' | 'pending',
    start: number,
    end: number,
  ): Promise<DependencyPageResult> {
    return dependencyPage(this.session, parentId, type, start, end);
  }

  async getJobLogs(
    jobId: string,
    start = 0,
    end = -1,
    asc = true,
  ): Promise<{ logs: string[]; count: number }> {
    return this.inspect.logs(jobId, start, end, asc);
  }

  async getMeta(): Promise<QueueMeta> {
    const meta: QueueMeta = { paused: false };
    for (const [field, value] of await this.inspect.meta()) {
      if (field === 'paused') meta.paused = value === '1';
      else if (numericMeta[field]) meta[numericMeta[field]] = Number(value);
      else meta[field] = value;
    }
    return meta;
  }

  async getGlobalConcurrency(): Promise<number | null> {
    return (await this.getMeta()).concurrency ?? null;
  }

  async getGlobalRateLimit(): Promise<{ max: number; duration: number } | null> {
    const { max, duration } = await this.getMeta();
    return max === undefined || duration === undefined ? null : { max, duration };
  }

  /** Milliseconds; 0 not limited, −2 no counter, −1 a counter without an end. */
  async getRateLimitTtl(maxJobs?: number): Promise<number> {
    return this.inspect.limitMs(maxJobs);
  }

  async getDeduplicationJobId(id: string): Promise<string | null> {
    return (await this.session.command('GET', [this.toKey(`de:${id}`)])) as string | null;
  }

  /** Deprecated name of getDeduplicationJobId. */
  getDebounceJobId(id: string): Promise<string | null> {
    return this.getDeduplicationJobId(id);
  }

  /** The workers connected now, by their client names. */
  async getWorkers(): Promise<WorkerEntry[]> {
    const name = clientNameOf(this.opts.prefix, this.name, '');
    return this.#clients((client) => client === name || client.startsWith(`${name}:w:`));
  }

  async getWorkersCount(): Promise<number> {
    return (await this.getWorkers()).length;
  }

  /** Deprecated: the QueueEvents connected now. */
  async getQueueEvents(): Promise<WorkerEntry[]> {
    const name = clientNameOf(this.opts.prefix, this.name, ':qe');
    return this.#clients((client) => client === name);
  }

  async getMetrics(type: 'completed' | 'failed', start = 0, end = -1): Promise<MetricsData> {
    const key = this.toKey(`metrics:${type}`);
    const [meta, data, count] = await Promise.all([
      this.session.command('HMGET', [key, 'count', 'prevTS', 'prevCount']) as Promise<(string | null)[]>,
      this.session.command('LRANGE', [`${key}:data`, start, end]) as Promise<string[]>,
      this.session.command('LLEN', [`${key}:data`]) as Promise<number>,
    ]);
    const number = (text: string | null | undefined) => Number(text ?? 0);
    return {
      meta: { count: number(meta[0]), prevTS: number(meta[1]), prevCount: number(meta[2]) },
      data: data.map(Number),
      count,
    };
  }

  /** Counts per state and finished totals in Prometheus' text format. */
  async exportPrometheusMetrics(globalVariables: Record<string, string> = {}): Promise<string> {
    const escaped = (value: string) =>
      value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
    const labels = (own: Record<string, string>) =>
      Object.entries({ ...own, ...globalVariables })
        .map(([name, value]) => `${name}="${escaped(String(value))}"`)
        .join(', ');
    const [counts, completed, failed] = await Promise.all([
      this.getJobCounts(),
      this.getMetrics('completed', 0, 0),
      this.getMetrics('failed', 0, 0),
    ]);
    return [
      '# HELP bullmq_job_count Number of jobs in the queue by state',
      '# TYPE bullmq_job_count gauge',
      ...Object.entries(counts).map(
        ([state, count]) => `bullmq_job_count{${labels({ queue: this.name, state })}} ${count}`,
      ),
      '# HELP bullmq_job_completed_total Total number of completed jobs',
      '# TYPE bullmq_job_completed_total counter',
      `bullmq_job_completed_total{${labels({ queue: this.name })}} ${completed.meta.count}`,
      '# HELP bullmq_job_failed_total Total number of failed jobs',
      '# TYPE bullmq_job_failed_total counter',
      `bullmq_job_failed_total{${labels({ queue: this.name })}} ${failed.meta.count}`,
    ].join('\n');
  }

  async #clients(matches: (clientName: string) => boolean): Promise<WorkerEntry[]> {
    return listWorkers(await this.connection.ready(), matches, this.name);
  }
}
