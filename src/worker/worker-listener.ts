// The events of a Worker object: what happens to the jobs that it runs, and to itself.

import type { Job } from '../core/job.ts';
import type { JobProgress } from '../model/payload.ts';

export interface WorkerListener<
  // biome-ignore lint/suspicious/noExplicitAny: the defaults of BullMQ's own generics.
  DataType = any,
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  ResultType = any,
  NameType extends string = string,
  ProgressType extends JobProgress = JobProgress,
> {
  active: (job: Job<DataType, ResultType, NameType, ProgressType>, prev: string) => void;
  completed: (
    job: Job<DataType, ResultType, NameType, ProgressType>,
    result: ResultType,
    prev: string,
  ) => void;
  /** Every failing attempt, also one that will be retried. */
  failed: (
    job: Job<DataType, ResultType, NameType, ProgressType> | undefined,
    error: Error,
    prev: string,
  ) => void;
  progress: (job: Job<DataType, ResultType, NameType, ProgressType>, progress: ProgressType) => void;
  /** A job whose worker stopped renewing its lease was put back. */
  stalled: (jobId: string, prev: string) => void;
  /** The first fetch that found nothing since the last job. */
  drained: () => void;
  lockRenewalFailed: (jobIds: string[]) => void;
  locksRenewed: (renewed: { count: number; jobIds: string[] }) => void;
  /** Both connections are up. */
  ready: () => void;
  paused: () => void;
  resumed: () => void;
  closing: (message: string) => void;
  closed: () => void;
  error: (error: Error) => void;
  /** The connection was lost; it is being restored. */
  'ioredis:close': () => void;
}
