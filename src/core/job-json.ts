// A job as JSON: what `job.asJSON()` returns, what tools read and what `Job.fromJSON` takes back.

import type { JobsOptions } from '../model/options/job-options.ts';
import type { JobProgress } from '../model/payload.ts';

export interface ParentReference {
  id: string;
  queueKey: string;
  fpof?: boolean;
  rdof?: boolean;
  idof?: boolean;
  cpof?: boolean;
}

/** Data, result, stack traces and failure are JSON text. */
export interface JobJson {
  id: string;
  name: string;
  data: string;
  opts: JobsOptions;
  progress: JobProgress;
  attemptsMade: number;
  attemptsStarted: number;
  stalledCounter: number;
  timestamp: number;
  delay?: number;
  priority?: number;
  finishedOn?: number;
  processedOn?: number;
  processedBy?: string;
  failedReason: string;
  deferredFailure?: string;
  stacktrace?: string;
  returnvalue: string;
  parent?: ParentReference;
  parentKey?: string;
  repeatJobKey?: string;
  deduplicationId?: string;
  lane?: string;
  orderMs?: number;
}

export interface JobJsonSandbox extends JobJson {
  queueName: string;
  queueQualifiedName: string;
  prefix: string;
}
