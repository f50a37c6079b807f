// How long a failed job waits before its next attempt.

import { describeGiven, yokeError } from './errors.ts';

export interface BackoffOptions {
  /** `fixed`, `exponential`, or a name of your own that the worker's `settings.backoffStrategy` understands. */
  type: 'fixed' | 'exponential' | (string & {});
  /** Milliseconds; for `exponential` the delay after the first failure, doubled with every further one. Default 0. */
  delay?: number;
  /** Share of the delay that is random, 0 to 1; it only shortens. Default 0. */
  jitter?: number;
  /** Ceiling in milliseconds; jitter applies below it. Default: none. */
  maxDelay?: number;
}

/** Milliseconds to wait; −1 fails the job now, 0 or undefined retries at once. `job` is the failing Job. */
export type BackoffStrategy = (
  attemptsMade: number,
  type?: string,
  err?: Error,
  // biome-ignore lint/suspicious/noExplicitAny: a strategy may annotate its own Job type.
  job?: any,
) => Promise<number | undefined> | number | undefined;

// 2^(attempt−1) outgrows every sorted-set score and becomes Infinity, which times 0 is no number at all. Thirty
// thousand years are late enough.
const MAX_DELAY_MS = 1e15;

/** Accepts BullMQ's two forms; undefined if there is no backoff. Throws a typed error for anything else. */
export function normaliseBackoff(
  backoff: number | BackoffOptions | null | undefined,
  path = 'backoff',
): BackoffOptions | undefined {
  if (backoff === undefined || backoff === null) return undefined;
  if (typeof backoff === 'number' && Number.isFinite(backoff)) return { type: 'fixed', delay: backoff };
  if (typeof backoff !== 'object' || Array.isArray(backoff)) {
    throw invalid(path, 'a number of milliseconds or { type, delay }', backoff);
  }
  if (typeof backoff.type !== 'string' || backoff.type === '') {
    throw invalid(`${path}.type`, "'fixed', 'exponential' or the name of a strategy", backoff.type);
  }
  checkMs(`${path}.delay`, backoff.delay);
  checkMs(`${path}.maxDelay`, backoff.maxDelay);
  const jitter: unknown = backoff.jitter;
  if (jitter !== undefined && jitter !== null) {
    if (typeof jitter !== 'number' || Number.isNaN(jitter))
      throw invalid(`${path}.jitter`, 'a number', jitter);
    if (jitter < 0 || jitter > 1) throw yokeError('JITTER_RANGE', { jitter });
  }
  return backoff;
}

function checkMs(path: string, value: unknown): void {
  if (value === undefined || value === null) return;
  if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid(path, 'milliseconds', value);
}

function invalid(option: string, expected: string, given: unknown) {
  return yokeError('INVALID_OPTION', { option, expected, given: describeGiven(given) });
}

/**
 * Delay in whole milliseconds after the given failed attempt (1 = the first), for the built-in types.
 * The ceiling comes before the jitter, so that jobs that have reached it still spread out.
 */
export function backoffDelay(
  backoff: BackoffOptions,
  attempt: number,
  random: () => number = Math.random,
): number {
  const delay = backoff.delay ?? 0;
  let base: number;
  if (backoff.type === 'fixed') base = delay;
  else if (backoff.type === 'exponential')
    base = Math.round(Math.min(2 ** (attempt - 1), MAX_DELAY_MS) * delay);
  else throw yokeError('BACKOFF_UNKNOWN', { type: backoff.type });

  const capped = Math.min(base, backoff.maxDelay ?? MAX_DELAY_MS, MAX_DELAY_MS);
  const jitter = backoff.jitter ?? 0;
  if (jitter > 0) return Math.max(0, Math.floor(random() * capped * jitter + capped * (1 - jitter)));
  return Math.max(0, Math.round(capped));
}

type BuiltinStrategy = (delay?: number, jitter?: number, maxDelay?: number) => BackoffStrategy;

function builtin(type: 'fixed' | 'exponential'): BuiltinStrategy {
  return (delay, jitter, maxDelay) => (attemptsMade) =>
    backoffDelay({ type, delay, jitter, maxDelay }, attemptsMade);
}

/** BullMQ's class of the same name. */
// biome-ignore lint/complexity/noStaticOnlyClass: its shape is BullMQ's public API.
export class Backoffs {
  static builtinStrategies: Record<string, BuiltinStrategy> = {
    fixed: builtin('fixed'),
    exponential: builtin('exponential'),
  };

  static normalize(backoff: number | BackoffOptions | undefined): BackoffOptions | undefined {
    return normaliseBackoff(backoff);
  }

  /** Undefined without a backoff; throws BACKOFF_UNKNOWN for a type that nobody knows. */
  static calculate(
    backoff: BackoffOptions | undefined,
    attemptsMade: number,
    err: Error,
    job: unknown,
    customStrategy?: BackoffStrategy | null,
  ): Promise<number | undefined> | number | undefined {
    if (!backoff) return undefined;
    if (Object.hasOwn(Backoffs.builtinStrategies, backoff.type)) {
      const strategy = Backoffs.builtinStrategies[backoff.type] as BuiltinStrategy;
      return strategy(backoff.delay, backoff.jitter, backoff.maxDelay)(attemptsMade, backoff.type, err, job);
    }
    if (!customStrategy) throw yokeError('BACKOFF_UNKNOWN', { type: backoff.type });
    const delay = customStrategy(attemptsMade, backoff.type, err, job);
    const ceiling = backoff.maxDelay;
    if (ceiling === undefined) return delay;
    return delay instanceof Promise ? delay.then((ms) => below(ms, ceiling)) : below(delay, ceiling);
  }
}

function below(delay: number | undefined, ceiling: number): number | undefined {
  return delay === undefined ? undefined : Math.min(delay, ceiling);
}
