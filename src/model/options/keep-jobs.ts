// How many finished jobs are kept, and for how long. Evaluated when another job finishes, as in BullMQ.

import { invalidOption, isGiven } from './checks.ts';

/** Ages are in seconds. With both given, a job must satisfy both to be kept. */
export type KeepJobs =
  | { /** Number of jobs kept; 0 keeps none, −1 all. */ count: number }
  | {
      /** Seconds a job is kept. */
      age: number;
      /** Number of jobs kept. */
      count?: number;
      /** Most jobs removed at a time. */
      limit?: number;
    };

/** true keeps none, false keeps all, a number keeps that many. */
export type KeepJobsOption = boolean | number | KeepJobs;

/** Throws INVALID_OPTION for what would end as an error, or as nothing, inside the server. */
export function checkKeepJobs(path: string, value: unknown): void {
  if (!isGiven(value) || typeof value === 'boolean') return;
  if (typeof value === 'number') {
    checkInteger(path, value, -1);
    return;
  }
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalidOption(path, 'true, false, a number or { age, count, limit }', value);
  }
  const { age, count, limit } = value as Record<string, unknown>;
  if (isGiven(count)) checkInteger(`${path}.count`, count, -1);
  if (isGiven(limit)) checkInteger(`${path}.limit`, limit, 0);
  if (isGiven(age) && (typeof age !== 'number' || !Number.isFinite(age) || age < 0)) {
    throw invalidOption(`${path}.age`, 'a number of seconds', age);
  }
}

/** The object form; null where nothing was said, so that somebody else's setting applies. */
export function normaliseKeepJobs(path: string, value: KeepJobsOption | null | undefined): KeepJobs | null {
  checkKeepJobs(path, value);
  if (!isGiven(value)) return null;
  if (typeof value === 'object') return Object.freeze({ ...value });
  if (typeof value === 'number') return Object.freeze({ count: value });
  return Object.freeze({ count: value ? 0 : -1 });
}

function checkInteger(path: string, value: unknown, min: number): void {
  if (!Number.isInteger(value) || (value as number) < min) {
    throw invalidOption(path, `an integer of at least ${min}`, value);
  }
}
