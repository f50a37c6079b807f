// The next job as a tuple, for people who finish by hand and fetch in the same call.

import type { Exchange } from '../store/lease-store.ts';

/** `[job, id, rateLimitDelayMs, delayUntilMs]`, or nothing. */
export type NextJobData = [Record<string, unknown> | null, string, number?, number?] | [];

/** What a finish that fetched hands to people who process by hand. */
export function nextJobData(exchange: Exchange): NextJobData {
  const [next] = exchange.jobs;
  if (next) return [{ ...next }, next.id, exchange.limitedMs, exchange.dueAt];
  if (exchange.limitedMs > 0 || exchange.dueAt > 0) return [null, '', exchange.limitedMs, exchange.dueAt];
  return [];
}
