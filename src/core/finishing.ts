// How a job leaves `active`, as items of one exchange: what is sent, and what a refusal of it is called. Used by
// the worker's pipeline and by people who fetch and finish by hand.

import type { JobsOptions } from '../model/options/job-options.ts';
import type { KeepJobs, KeepJobsOption } from '../model/options/keep-jobs.ts';
import { normaliseKeepJobs } from '../model/options/keep-jobs.ts';
import {
  type CompleteArg,
  type CompleteInLaneArg,
  pushAwaitChildren,
  pushComplete,
  pushCompleteInLane,
  pushDelay,
  pushFail,
  pushGiveBack,
  pushRetry,
} from '../store/generated/engine.ts';
import { ItemRun } from '../store/item-run.ts';
import type { Refused } from '../store/replies.ts';

export interface Finish {
  /** The item, encoded; or, as it mostly is, a completion (lane '' = none), which is encoded with those beside it. */
  readonly item: string[] | CompleteInLaneArg;
  /** What a refusal is about. */
  readonly of: Refused;
  /** Set where the server accepted it but did something else: a group that is undone ends its members. */
  instead?: 'failed' | 'cancelled';
}

/** True if the server accepted the finish; notes on it what became of it otherwise than asked. */
export function isAccepted(finish: Finish, word: string): boolean {
  if (word === 'ok') return true;
  if (word !== 'failed' && word !== 'cancelled') return false;
  finish.instead = word;
  return true;
}

/** The items of one call. Completions mostly differ in their job and its lane alone, and then only those are sent. */
export function encodeFinishes(finishes: readonly Finish[]): string[] {
  const argv: string[] = [];
  const plain = new ItemRun<CompleteArg>();
  const inLanes = new ItemRun<CompleteInLaneArg>();
  for (const { item } of finishes) {
    if (Array.isArray(item)) argv.push(...item);
    else if (item.lane === '') pushComplete(argv, item, plain);
    else pushCompleteInLane(argv, item, inLanes);
  }
  return argv;
}

/** About how many bytes it sends. */
export function sizeOf({ item }: Finish): number {
  if (!Array.isArray(item)) return item.result.length;
  let size = 0;
  for (const text of item) size += text.length;
  return size;
}

/** The completion that it is; undefined for anything else. */
export function completionOf({ item }: Finish): CompleteInLaneArg | undefined {
  return Array.isArray(item) ? undefined : item;
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

/** Of a job that had never begun and is tied to its lane at most, as its worker got it: then the server need not look. */
export interface Seen {
  /** '' = none. */
  readonly lane: string;
  /** Of its record; '' for any other job. */
  readonly fieldCount: string;
}

const UNSEEN: Seen = Object.freeze({ lane: '', fieldCount: '' });

export function completing(
  jobId: string,
  token: string,
  result: string,
  keep: KeepArg,
  { lane, fieldCount }: Seen = UNSEEN,
): Finish {
  const { keepCount, keepAge, keepLimit } = keep;
  return {
    item: { jobId, lane, token, result, fieldCount, keepCount, keepAge, keepLimit },
    of: { jobId, command: 'moveToFinished', state: 'active' },
  };
}

export interface FailedAttempt {
  readonly reason: string;
  /** JSON array of all stack traces kept; '' leaves what is stored. */
  readonly stacktrace: string;
}

/** What a failure for good needs to know; a retry carries it too, because it may become one. */
export interface Ending extends KeepArg {
  attempts: number;
}

export function endingOf(opts: JobsOptions, ofWorker: KeepJobs | null): Ending {
  return { attempts: opts.attempts ?? 0, ...keepOf(opts.removeOnFail, ofWorker) };
}

export function failing(jobId: string, token: string, attempt: FailedAttempt, ending: Ending): Finish {
  const argv: string[] = [];
  pushFail(argv, { jobId, token, ...attempt, ...ending });
  return { item: argv, of: { jobId, command: 'moveToFinished', state: 'active' } };
}

export function retrying(
  jobId: string,
  token: string,
  attempt: FailedAttempt,
  ending: Ending,
  isNext: boolean,
): Finish {
  const argv: string[] = [];
  pushRetry(argv, { jobId, token, isNext, ...attempt, ...ending });
  return { item: argv, of: { jobId, command: 'retryJob', state: 'active' } };
}

/** After a failed attempt. */
export function backingOff(
  jobId: string,
  token: string,
  attempt: FailedAttempt,
  ending: Ending,
  delayMs: number,
): Finish {
  const argv: string[] = [];
  pushDelay(argv, { jobId, token, delay: delayMs, isAttempt: true, ...attempt, ...ending });
  return { item: argv, of: { jobId, command: 'moveToDelayed', state: 'active' } };
}

const NO_FAILURE = Object.freeze({ reason: '', stacktrace: '', attempts: 0, ...KEEP_ALL });

/** By the handler's wish; costs no attempt. */
export function postponing(jobId: string, token: string, delayMs: number): Finish {
  const argv: string[] = [];
  pushDelay(argv, { jobId, token, delay: delayMs, isAttempt: false, ...NO_FAILURE });
  return { item: argv, of: { jobId, command: 'moveToDelayed', state: 'active' } };
}

/**
 * By the handler's wish (`asked`); or it was interrupted and runs again whatever happened; or it has never begun
 * (`unbegun`) and is as new.
 */
export function givingBack(jobId: string, token: string, why: 'asked' | 'interrupted' | 'unbegun'): Finish {
  const argv: string[] = [];
  pushGiveBack(argv, { jobId, token, isWish: why === 'asked', isNew: why === 'unbegun' });
  return { item: argv, of: { jobId, command: 'moveJobFromActiveToWait', state: 'active' } };
}

export function awaitingChildren(jobId: string, token: string, childKey: string): Finish {
  const argv: string[] = [];
  pushAwaitChildren(argv, { jobId, token, childKey });
  return { item: argv, of: { jobId, command: 'moveToWaitingChildren', state: 'active' } };
}
