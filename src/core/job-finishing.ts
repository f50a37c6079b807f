// Finishing by hand: what a job's `moveTo…` methods do. A worker hands in its own jobs by the same verbs (finishing.ts),
// many in one call; here each is a call of its own, and the job's properties follow what the server accepted.

import { failureText } from '../model/failure.ts';
import { encodePayload } from '../model/payload.ts';
import { type Exchange, NO_FETCH } from '../store/lease-store.ts';
import { refusal } from '../store/replies.ts';
import { planFailure, stackTraces } from './failure-plan.ts';
import {
  awaitingChildren,
  backingOff,
  completing,
  encodeFinishes,
  endingOf,
  type Finish,
  failing,
  givingBack,
  isAccepted,
  keepOf,
  postponing,
  retrying,
} from './finishing.ts';
import type { Job } from './job.ts';
import { settingsOf } from './job-host.ts';
import { type NextJobData, nextJobData } from './next-job.ts';

export interface MoveToWaitingChildrenOpts {
  /** A child that must still be pending; `queue` is its queue's qualified name. */
  child?: { id: string; queue: string };
}

export async function complete(
  job: Job,
  returnValue: unknown,
  token: string,
  fetchNext: boolean,
): Promise<NextJobData> {
  const { maxPayloadBytes, removeOnComplete } = settingsOf(job.queue);
  const result = encodePayload(returnValue, {
    what: 'return value',
    maxBytes: maxPayloadBytes,
    ifUndefined: 'null',
  });
  const keep = keepOf(job.opts.removeOnComplete, removeOnComplete);
  const exchange = await handIn(job, completing(idOf(job), token, result, keep), token, fetchNext);
  job.returnvalue = returnValue || undefined;
  job.finishedOn = exchange.at;
  job.attemptsMade += 1;
  return nextJobData(exchange);
}

export async function fail(
  job: Job,
  error: Error,
  token: string,
  fetchNext: boolean,
): Promise<NextJobData | undefined> {
  const settings = settingsOf(job.queue);
  const { reason, stack } = failureText(error);
  const traces = stackTraces(job.stacktrace ?? [], stack, job.opts.stackTraceLimit);
  const plan = await planFailure(job, error, settings);
  const attempt = { reason, stacktrace: traces.json };
  const ending = endingOf(job.opts, settings.removeOnFail);
  const id = idOf(job);
  let finish: Finish;
  if (plan.next === 'retry') finish = retrying(id, token, attempt, ending, job.opts.lifo === true);
  else if (plan.next === 'delay') finish = backingOff(id, token, attempt, ending, plan.delayMs);
  else finish = failing(id, token, attempt, ending);
  const exchange = await handIn(job, finish, token, fetchNext && plan.next !== 'retry');
  job.failedReason = reason;
  job.stacktrace = traces.list;
  job.attemptsMade += 1;
  if (plan.next === 'delay') job.delay = plan.delayMs;
  if (plan.next === 'fail' || finish.instead) job.finishedOn = exchange.at;
  return plan.next === 'retry' ? undefined : nextJobData(exchange);
}

export async function postpone(job: Job, timestamp: number, token: string): Promise<void> {
  const delayMs = Math.max(0, Math.round(timestamp - job.queue.inspect.session.clock.now()));
  await handIn(job, postponing(idOf(job), token, delayMs), token, false);
  job.delay = delayMs;
}

/** Resolves to how long the queue's rate limit still holds, in ms. */
export async function giveBack(job: Job, token: string): Promise<number> {
  await handIn(job, givingBack(idOf(job), token, 'asked'), token, false);
  return Math.max(0, await job.queue.inspect.limitMs(undefined));
}

export async function awaitChildren(
  job: Job,
  token: string,
  { child }: MoveToWaitingChildrenOpts,
): Promise<boolean> {
  const finish = awaitingChildren(idOf(job), token, child ? `${child.queue}:${child.id}` : '');
  const exchange = await job.queue.leases.exchange(encodeFinishes([finish]), NO_FETCH);
  const [, word, value] = exchange.refused;
  if (word === 'nothing_pending') return false;
  if (word !== undefined) throw refusal(word, value as string, finish.of);
  return true;
}

async function handIn(job: Job, finish: Finish, token: string, fetchNext: boolean): Promise<Exchange> {
  const { leaseMs, workerName, limiter } = settingsOf(job.queue);
  const exchange = await job.queue.leases.exchange(encodeFinishes([finish]), {
    count: fetchNext && !job.queue.closing ? 1 : 0,
    token,
    leaseMs,
    workerName,
    limiter,
    isAfterFinish: true,
  });
  const [, word, value] = exchange.refused;
  if (word !== undefined && !isAccepted(finish, word)) throw refusal(word, value as string, finish.of);
  return exchange;
}

function idOf(job: Job): string {
  return job.id as string;
}
