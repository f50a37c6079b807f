// A fetched iteration of a job scheduler stores its successor before it runs. The server decides whether it may;
// the client's part is the next time of a cron pattern.

import { Cron } from 'croner';
import type { Job } from '../core/job.ts';
import { assertLane } from '../model/names.ts';
import type { RepeatStrategy } from '../model/options/queue-options.ts';
import { encodeOptions } from '../store/codec.ts';
import type { LeaseStore } from '../store/lease-store.ts';

interface RepeatRule {
  pattern?: string;
  every?: number;
  tz?: string;
  limit?: number;
  count?: number;
  offset?: number;
  startDate?: number | string;
  endDate?: number | string;
  utc?: boolean;
}

export async function scheduleNextIteration(
  leases: LeaseStore,
  job: Job,
  strategy: RepeatStrategy | null,
  now: number,
): Promise<void> {
  const opts = job.opts as Job['opts'] & { repeat?: RepeatRule; prevMillis?: number };
  const rule = opts.repeat;
  if (!job.repeatJobKey || !rule) return;
  const count = rule.count ? rule.count + 1 : 1;
  if (rule.limit !== undefined && count > rule.limit) return;
  if (rule.endDate !== undefined && now > new Date(rule.endDate).getTime()) return;

  let nextAt = '';
  if (rule.pattern) {
    const from = Math.max(now, opts.prevMillis ?? 0);
    const millis = strategy ? await strategy(from, rule, job.name) : nextCronTime(from, rule);
    if (!millis) return;
    nextAt = String(Math.max(Math.floor(millis), Math.floor(now)));
  }
  const { jobId: _jobId, delay: _delay, ...kept } = opts as Record<string, unknown>;
  const stored: Record<string, unknown> = {
    ...kept,
    repeat: { ...rule, count },
    timestamp: Math.floor(now),
    repeatJobKey: job.repeatJobKey,
  };
  if (nextAt) stored.prevMillis = Number(nextAt);
  await leases.scheduleNext({
    jobId: job.id as string,
    scheduleId: job.repeatJobKey,
    nextAt,
    every: rule.every === undefined ? '' : String(rule.every),
    offset: rule.offset === undefined ? '' : String(rule.offset),
    opts: encodeOptions(stored as never).slice(0, -1),
    idText: JSON.stringify(`repeat:${job.repeatJobKey}:`).slice(0, -1),
    priority: job.opts.priority ?? 0,
    isNext: job.opts.lifo === true,
    data: JSON.stringify(job.data ?? {}),
    lane: laneOf(opts.lane),
  });
}

/** A template that others have written may hold anything; what is no lane is none. */
function laneOf(lane: unknown): string {
  try {
    assertLane(lane);
    return lane;
  } catch {
    return '';
  }
}

/** The first occurrence of a cron pattern after `from`; none after the end date. */
function nextCronTime(from: number, rule: RepeatRule): number | undefined {
  const start = rule.startDate === undefined ? from : Math.max(new Date(rule.startDate).getTime(), from);
  const cron = new Cron(rule.pattern as string, {
    timezone: rule.tz ?? (rule.utc ? 'UTC' : undefined),
    legacyMode: true,
  });
  const next = cron.nextRun(new Date(start))?.getTime();
  const isOver = next !== undefined && rule.endDate !== undefined && next > new Date(rule.endDate).getTime();
  return isOver ? undefined : next;
}
