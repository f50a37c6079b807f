// The options of one job, as users write them. Names and meanings are BullMQ's.

import type { BackoffOptions } from '../backoff.ts';
import type { KeepJobsOption } from './keep-jobs.ts';

/** What may stand in a queue's `defaultJobOptions`. */
export interface DefaultJobOptions {
  /** Creation time in milliseconds since the epoch. Default: now, by the server's clock. */
  timestamp?: number;
  /** 1 is the highest, 2,097,151 the lowest; 0 means none and runs before all prioritized jobs. Default 0. */
  priority?: number;
  /** Milliseconds to wait before the job may run; negative means none, fractions are rounded. Default 0. */
  delay?: number;
  /** Tries in all; 0 and 1 both mean one. Default 0. */
  attempts?: number;
  /** Wait between attempts; a number of milliseconds means `fixed`. Default: retry at once. */
  backoff?: number | BackoffOptions;
  /** Run before those already waiting. Default false. */
  lifo?: boolean;
  /** What to keep of completed jobs; ages in seconds. Default: the worker's setting, else all. */
  removeOnComplete?: KeepJobsOption;
  /** What to keep of failed jobs; ages in seconds. Default: the worker's setting, else all. */
  removeOnFail?: KeepJobsOption;
  /** Log rows kept per job; 0 keeps all. Default: all. */
  keepLogs?: number;
  /** Stack traces kept per job, the newest; 0 keeps none. Default: all. */
  stackTraceLimit?: number;
  /** Most bytes of JSON the data may have; 0 is no limit. Default: the queue's `maxPayloadBytes` only. */
  sizeLimit?: number;
}

export interface BaseJobOptions extends DefaultJobOptions {
  /** An id of your own; a second add with the same id adds nothing. Default: the next number of the queue. */
  jobId?: string;
  /** Not supported yet: the parent this job belongs to. */
  parent?: ParentOptions;
  /** Internal to schedulers. */
  repeatJobKey?: string;
  /** Internal to schedulers. */
  prevMillis?: number;
}

export interface JobsOptions extends BaseJobOptions {
  /** Jobs of one lane run in order, one at a time: any text of 1 to 256 bytes. Default: none. */
  lane?: string;
  /** The lane, where the queue was made with `groupIdAsLane: true`; ignored elsewhere. */
  groupId?: string;
  /** Place in the lane, ascending; any safe integer, usually a time in ms. Default: the time of the add. */
  orderMs?: number;
  /** Not supported yet. */
  deduplication?: DeduplicationOptions;
  /** Not supported yet; v5's name for deduplication. */
  debounce?: DeduplicationOptions;
  /** Not supported yet. */
  repeat?: object;
  /** Not supported yet. */
  failParentOnFailure?: boolean;
  /** Not supported yet. */
  continueParentOnFailure?: boolean;
  /** Not supported yet. */
  ignoreDependencyOnFailure?: boolean;
  /** Not supported yet. */
  removeDependencyOnFailure?: boolean;
  /** Membership of a transactional group; set by `addGroup`, refused in `add`. */
  group?: { id: string; name: string };
  /** Not supported yet. */
  telemetry?: { metadata?: string; omitContext?: boolean };
}

export type BulkJobOptions = Omit<JobsOptions, 'repeat'>;

export interface ParentOptions {
  id: string;
  /** The qualified name of the parent's queue, with its prefix. */
  queue: string;
}

export interface DeduplicationOptions {
  id: string;
  /** Milliseconds. */
  ttl?: number;
  extend?: boolean;
  replace?: boolean;
  keepLastIfActive?: boolean;
}

/** The options object as it is stored, under public names; keys nobody knows are kept as they came. */
export type StoredJobOptions = JobsOptions & { attempts: number; backoff?: BackoffOptions };

/** What the queue needs to know of a job's options, with nothing left to decide. */
export interface ResolvedJobOptions {
  readonly stored: Readonly<StoredJobOptions>;
  /** '' = automatic. */
  readonly jobId: string;
  /** Whole milliseconds, at least 0. */
  readonly delayMs: number;
  /** 0 = none. */
  readonly priority: number;
  readonly lifo: boolean;
  /** Whole milliseconds since the epoch; undefined = now. */
  readonly timestamp: number | undefined;
  /** Tries in all, at least 1. */
  readonly attempts: number;
  /** Bytes; 0 = none. */
  readonly sizeLimit: number;
  /** Bytes; the queue's limit, passed on so that one object says all about the data's size. */
  readonly maxPayloadBytes: number;
  /** '' = none. */
  readonly lane: string;
  /** undefined = the time of the add. */
  readonly orderMs: number | undefined;
}
