// The options of a Worker, as users write them and as the rest of the code reads them.

import type { BackoffStrategy } from '../backoff.ts';
import type { ErrorPolicy } from '../error-policy.ts';
import type { StandardSchemaV1 } from '../schema.ts';
import { type BaseOptions, baseOptionNames, type ResolvedBaseOptions } from './base-options.ts';
import type { KeepJobs, KeepJobsOption } from './keep-jobs.ts';
import type { RepeatStrategy } from './queue-options.ts';
import type { UnknownOption } from './unknown-options.ts';

/** At most `max` jobs started in `duration` milliseconds, over all workers of the queue. */
export interface RateLimiterOptions {
  max: number;
  duration: number;
}

export interface WorkerSettings {
  /** Computes the delay of backoff types of your own. */
  backoffStrategy?: BackoffStrategy;
  /** A cron strategy of your own. Default: cron patterns. */
  repeatStrategy?: RepeatStrategy;
  /** Only meaningful for repeatable jobs of v5. */
  repeatKeyHashAlgorithm?: string;
}

export interface WorkerOptions extends BaseOptions {
  /** Stored with the jobs it runs and part of its client name. Default: none. */
  name?: string;
  /** Start on construction if there is a processor. Default true. */
  autorun?: boolean;
  /** Jobs run at a time. Default 1. */
  concurrency?: number;
  /**
   * While handlers take milliseconds, takes a few jobs more than it can run at once (128 at most, for 50 ms at most), so
   * that no slot waits for the next fetch. At concurrency 1 a job is completed before the next begins. Default true.
   */
  fetchAhead?: boolean;
  /** Rate limit of the queue. Default: none. */
  limiter?: RateLimiterOptions;
  /** Longest sleep while rate limited, in milliseconds. Default 30,000. */
  maximumRateLimitDelay?: number;
  /** Not supported yet. */
  metrics?: { maxDataPoints?: number };
  /** Length of a lease in milliseconds. Default 30,000. */
  lockDuration?: number;
  /** Time between renewals of leases in milliseconds. Default: half of `lockDuration`. */
  lockRenewTime?: number;
  /** Time between looks for stalled jobs in milliseconds. Default 30,000. */
  stalledInterval?: number;
  /** Times a job may stall before it fails. Default 1. */
  maxStalledCount?: number;
  /** Times a job may be started before it fails. Default: no limit. */
  maxStartedAttempts?: number;
  /** Longest wait for new jobs in one call, in seconds. Default 5. */
  drainDelay?: number;
  /** Default false. */
  skipStalledCheck?: boolean;
  /** Default false. */
  skipLockRenewal?: boolean;
  /** What to keep of completed jobs that do not say it themselves; ages in seconds. Default: all. */
  removeOnComplete?: KeepJobsOption;
  /** What to keep of failed jobs that do not say it themselves; ages in seconds. Default: all. */
  removeOnFail?: KeepJobsOption;
  /** Wait after a connection error in milliseconds, at most 1000; accepted for BullMQ's sake. Default 15,000, so 1000. */
  runRetryDelay?: number;
  settings?: WorkerSettings;
  /** Not supported yet: sandboxed processors. */
  useWorkerThreads?: boolean;
  /** Not supported yet: sandboxed processors. */
  workerForkOptions?: object;
  /** Not supported yet: sandboxed processors. */
  workerThreadsOptions?: object;
  /** Longest wait of close() for running jobs in milliseconds; then they are handed back. Default 25,000. */
  shutdownTimeout?: number;
  /** Which errors are worth another attempt. Default `retry`: all. */
  errorPolicy?: ErrorPolicy;
  /** Checks the data of every job before it runs. Default: no check. */
  schema?: StandardSchemaV1;
  /** Most bytes of JSON of return values, progress and log rows. Default 10 MB. */
  maxPayloadBytes?: number;
  /** Name of this worker on every log line. Default `{hostname}-{pid}-{six random digits}`. */
  workerId?: string;
}

export interface ResolvedWorkerOptions extends ResolvedBaseOptions {
  /** '' = none. */
  readonly name: string;
  readonly autorun: boolean;
  readonly concurrency: number;
  readonly fetchAhead: boolean;
  /** null = none. */
  readonly limiter: Readonly<RateLimiterOptions> | null;
  /** Milliseconds. */
  readonly maximumRateLimitDelay: number;
  /** Milliseconds. */
  readonly lockDuration: number;
  /** Milliseconds. */
  readonly lockRenewTime: number;
  /** Milliseconds. */
  readonly stalledInterval: number;
  readonly maxStalledCount: number;
  /** Infinity = no limit. */
  readonly maxStartedAttempts: number;
  /** Seconds. */
  readonly drainDelay: number;
  readonly skipStalledCheck: boolean;
  readonly skipLockRenewal: boolean;
  /** null = all are kept. */
  readonly removeOnComplete: KeepJobs | null;
  /** null = all are kept. */
  readonly removeOnFail: KeepJobs | null;
  /** Milliseconds. */
  readonly runRetryDelay: number;
  readonly settings: {
    readonly backoffStrategy: BackoffStrategy | null;
    readonly repeatStrategy: RepeatStrategy | null;
  };
  /** Milliseconds. */
  readonly shutdownTimeout: number;
  readonly errorPolicy: ErrorPolicy;
  /** null = no check. */
  readonly schema: StandardSchemaV1 | null;
  /** Bytes. */
  readonly maxPayloadBytes: number;
  readonly workerId: string;
  /** Option names nobody knows, for one warning. */
  readonly unknown: readonly UnknownOption[];
}

export const workerOptionNames = [
  ...baseOptionNames,
  'name',
  'autorun',
  'concurrency',
  'fetchAhead',
  'limiter',
  'maximumRateLimitDelay',
  'metrics',
  'lockDuration',
  'lockRenewTime',
  'stalledInterval',
  'maxStalledCount',
  'maxStartedAttempts',
  'drainDelay',
  'skipStalledCheck',
  'skipLockRenewal',
  'removeOnComplete',
  'removeOnFail',
  'runRetryDelay',
  'settings',
  'useWorkerThreads',
  'workerForkOptions',
  'workerThreadsOptions',
  'shutdownTimeout',
  'errorPolicy',
  'schema',
  'maxPayloadBytes',
  'workerId',
] as const satisfies readonly (keyof WorkerOptions)[];
