// How a job leaves `active`, as items of one exchange: what is sent, and what a refusal of it is called. Used by
// the worker's pipeline and by people who fetch and finish by hand.

import type { KeepJobs, KeepJobsOption } from '../model/options/keep-jobs.ts';
import { normaliseKeepJobs } from '../model/options/keep-jobs.ts';
import {
  pushAwaitChildren,
  pushComplete,
  pushDelay,
  pushFail,
  pushGiveBack,
  pushRetry,
} from '../store/generated/engine.ts';
import type { Refused } from '../store/replies.ts';

export interface Finish {
  /** The item, encoded. */
  readonly argv: string[];
  /** What a refusal is about. */
  readonly of: Refused;
}

interface KeepArg {
  keepCount: string;
  keepAge: string;
  keepLimit: string;
}

const KEEP_ALL: KeepArg = Object.freeze({ keepCount: '', keepAge: '', keepLimit: '' });

function text(value: number | undefined): string {
  return value === undefined ? '' : String(value);
}

/** The job's own wish, else the worker's, else all are kept. */
export function keepOf(own: KeepJobsOption | undefined, ofWorker: KeepJobs | null): KeepArg {
  if (own === undefined && ofWorker === null) return KEEP_ALL;
  const keep = own === undefined ? ofWorker : normaliseKeepJobs('keep', own);
  if (!keep) return KEEP_ALL;
  const { count, age, limit } = keep as { count?: number; age?: number; limit?: number };
  return { keepCount: text(count), keepAge: text(age), keepLimit: text(limit) };
}

export function completing(jobId: string, token: string, result: string, keep: KeepArg): Finish {
  const argv: string[] = [];
  pushComplete(argv, { jobId, token, result, ...keep });
  return { argv, of: { jobId, command: 'moveToFinished', state: 'active' } };
}

export interface FailedAttempt {
  readonly reason: string;
  /** JSON array of all stack traces kept; '' leaves what is stored. */
  readonly stacktrace: string;
}

export function failing(
  jobId: string,
  token: string,
  attempt: FailedAttempt,
  attempts: number,
  keep: KeepArg,
): Finish {
  const argv: string[] = [];
  pushFail(argv, { jobId, token, ...attempt, attempts, ...keep });
  return { argv, of: { jobId, command: 'moveToFinished', state: 'active' } };
}

export function retrying(jobId: string, token: string, attempt: FailedAttempt, isNext: boolean): Finish {
  const argv: string[] = [];
  pushRetry(argv, { jobId, token, isNext, ...attempt });
  return { argv, of: { jobId, command: 'retryJob', state: 'active' } };
}

const NO_FAILURE: FailedAttempt = Object.freeze({ reason: '', stacktrace: '' });

export function delaying(jobId: string, token: string, delayMs: number, attempt?: FailedAttempt): Finish {
  const argv: string[] = [];
  pushDelay(argv, {
    jobId,
    token,
    delay: delayMs,
    isAttempt: attempt !== undefined,
    ...(attempt ?? NO_FAILURE),
  });
  return { argv, of: { jobId, command: 'moveToDelayed', state: 'active' } };
}

export function givingBack(jobId: string, token: string): Finish {
  const argv: string[] = [];
  pushGiveBack(argv, { jobId, token });
  return { argv, of: { jobId, command: 'moveJobFromActiveToWait', state: 'active' } };
}

export function awaitingChildren(jobId: string, token: string, childKey: string): Finish {
  const argv: string[] = [];
  pushAwaitChildren(argv, { jobId, token, childKey });
  return { argv, of: { jobId, command: 'moveToWaitingChildren', state: 'active' } };
}
