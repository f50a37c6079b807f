// What a failed attempt leads to: another one now, another one later, or the end.

import { type BackoffStrategy, Backoffs } from '../model/backoff.ts';
import { classifyError, type ErrorPolicy } from '../model/error-policy.ts';

export interface FailurePolicy {
  readonly errorPolicy: ErrorPolicy;
  readonly backoffStrategy: BackoffStrategy | null;
}

export type FailurePlan =
  | { readonly next: 'fail' }
  | { readonly next: 'retry' }
  | { readonly next: 'delay'; readonly delayMs: number };

const FAIL: FailurePlan = Object.freeze({ next: 'fail' });
const RETRY: FailurePlan = Object.freeze({ next: 'retry' });

interface FailingJob {
  readonly attemptsMade: number;
  readonly opts: { attempts?: number; backoff?: unknown };
  /** v5's `discard()`: no further attempts. */
  readonly isDiscarded?: boolean;
}

/** May throw what a backoff strategy throws, or that the type is unknown. */
export async function planFailure(
  job: FailingJob,
  error: Error,
  policy: FailurePolicy,
): Promise<FailurePlan> {
  const attempt = job.attemptsMade + 1;
  if (job.isDiscarded || attempt >= (job.opts.attempts ?? 0)) return FAIL;
  if (classifyError(error, policy.errorPolicy) === 'permanent') return FAIL;
  const backoff = Backoffs.normalize(job.opts.backoff as never);
  const delayMs = await Backoffs.calculate(backoff, attempt, error, job, policy.backoffStrategy);
  if (delayMs === -1) return FAIL;
  return delayMs ? { next: 'delay', delayMs: Math.max(0, Math.round(delayMs)) } : RETRY;
}

/** The stack traces to keep, as JSON: the newest last, as many as the job wants. */
export function stackTraces(
  before: readonly string[],
  latest: string,
  limit: number | undefined,
): { list: string[]; json: string } {
  const all = [...before, latest];
  const list = limit === 0 ? [] : limit ? all.slice(-limit) : all;
  return { list, json: JSON.stringify(list) };
}
