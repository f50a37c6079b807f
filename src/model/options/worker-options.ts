// Reads the options of a Worker: the only place that sees what the user typed.

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { ErrorPolicy } from '../error-policy.ts';
import { type ErrorKey, yokeError } from '../errors.ts';
import { resolveBaseOptions } from './base-options.ts';
import {
  invalidOption,
  isGiven,
  readBoolean,
  readFunction,
  readNumber,
  readObject,
  readString,
  refuseUnsupported,
} from './checks.ts';
import { normaliseKeepJobs } from './keep-jobs.ts';
import { readMaxPayloadBytes, readSchema } from './queue-options.ts';
import { findUnknownOptions } from './unknown-options.ts';
import type {
  RateLimiterOptions,
  ResolvedWorkerOptions,
  WorkerOptions,
  WorkerSettings,
} from './worker-option-types.ts';
import { workerOptionNames } from './worker-option-types.ts';

export type * from './worker-option-types.ts';

const DEFAULT_LOCK_DURATION_MS = 30_000;
const DEFAULT_STALLED_INTERVAL_MS = 30_000;
const DEFAULT_MAXIMUM_RATE_LIMIT_DELAY_MS = 30_000;
const DEFAULT_RUN_RETRY_DELAY_MS = 15_000;
const DEFAULT_DRAIN_DELAY_SECONDS = 5;
// Below the 30 seconds after which Kubernetes kills, with time left to hand leases back.
const DEFAULT_SHUTDOWN_TIMEOUT_MS = 25_000;

const unsupported = ['metrics', 'useWorkerThreads', 'workerForkOptions', 'workerThreadsOptions'];

export function resolveWorkerOptions(input: WorkerOptions | null | undefined): ResolvedWorkerOptions {
  const opts: WorkerOptions = readObject('options', input);
  refuseUnsupported('options', opts, unsupported);
  // The server takes whole milliseconds.
  const lockDuration = Math.ceil(
    readNumber('lockDuration', opts.lockDuration, DEFAULT_LOCK_DURATION_MS, { min: 1 }),
  );
  const atLeast0 = (key: ErrorKey, value: unknown, byDefault: number) =>
    readBullNumber(key, value, byDefault, (n) => n >= 0);
  const above0 = (key: ErrorKey, value: unknown, byDefault: number) =>
    readBullNumber(key, value, byDefault, (n) => n > 0 && Number.isFinite(n));

  return Object.freeze({
    ...resolveBaseOptions(opts),
    name: readString('name', opts.name, ''),
    autorun: readBoolean('autorun', opts.autorun, true),
    concurrency: above0('CONCURRENCY_INVALID', opts.concurrency, 1),
    fetchAhead: readBoolean('fetchAhead', opts.fetchAhead, true),
    limiter: readLimiter(opts.limiter),
    maximumRateLimitDelay: readNumber(
      'maximumRateLimitDelay',
      opts.maximumRateLimitDelay,
      DEFAULT_MAXIMUM_RATE_LIMIT_DELAY_MS,
    ),
    lockDuration,
    lockRenewTime: readRenewTime(opts.lockRenewTime, lockDuration),
    stalledInterval: Math.ceil(
      above0('STALLED_INTERVAL_INVALID', opts.stalledInterval, DEFAULT_STALLED_INTERVAL_MS),
    ),
    // Infinity is a way to say "never", but it must reach the server as a number.
    maxStalledCount: Math.min(
      atLeast0('MAX_STALLED_COUNT_INVALID', opts.maxStalledCount, 1),
      Number.MAX_SAFE_INTEGER,
    ),
    maxStartedAttempts: atLeast0(
      'MAX_STARTED_ATTEMPTS_INVALID',
      opts.maxStartedAttempts,
      Number.POSITIVE_INFINITY,
    ),
    drainDelay: above0('DRAIN_DELAY_INVALID', opts.drainDelay, DEFAULT_DRAIN_DELAY_SECONDS),
    skipStalledCheck: readBoolean('skipStalledCheck', opts.skipStalledCheck, false),
    skipLockRenewal: readBoolean('skipLockRenewal', opts.skipLockRenewal, false),
    removeOnComplete: normaliseKeepJobs('removeOnComplete', opts.removeOnComplete),
    removeOnFail: normaliseKeepJobs('removeOnFail', opts.removeOnFail),
    runRetryDelay: readNumber('runRetryDelay', opts.runRetryDelay, DEFAULT_RUN_RETRY_DELAY_MS),
    settings: readSettings(opts.settings),
    shutdownTimeout: readNumber('shutdownTimeout', opts.shutdownTimeout, DEFAULT_SHUTDOWN_TIMEOUT_MS),
    errorPolicy: readErrorPolicy(opts.errorPolicy),
    schema: readSchema(opts.schema),
    maxPayloadBytes: readMaxPayloadBytes(opts.maxPayloadBytes),
    workerId: readString('workerId', opts.workerId, '') || newWorkerId(),
    unknown: findUnknownOptions(opts, workerOptionNames),
  });
}

/** `concurrency` can be set while the worker runs; the setter checks it here. */
export function assertConcurrency(value: unknown): asserts value is number {
  readBullNumber('CONCURRENCY_INVALID', value ?? Number.NaN, 1, (n) => n > 0 && Number.isFinite(n));
}

/** BullMQ has its own sentence for each of these, whatever is wrong with the value. */
function readBullNumber(
  key: ErrorKey,
  value: unknown,
  byDefault: number,
  isRight: (n: number) => boolean,
): number {
  if (!isGiven(value)) return byDefault;
  if (typeof value === 'number' && isRight(value)) return value;
  throw yokeError(key, { given: value });
}

/** 0 counts as not given, as in BullMQ. */
function readRenewTime(value: unknown, lockDuration: number): number {
  return readNumber('lockRenewTime', value, 0) || lockDuration / 2;
}

function readLimiter(input: RateLimiterOptions | null | undefined): RateLimiterOptions | null {
  if (!isGiven(input)) return null;
  const { max, duration } = readObject('limiter', input);
  if (!isGiven(max)) throw invalidOption('limiter.max', 'a number of jobs', max);
  if (!isGiven(duration)) throw invalidOption('limiter.duration', 'milliseconds', duration);
  return Object.freeze({
    max: readNumber('limiter.max', max, 1, { min: 1, integer: true }),
    duration: readNumber('limiter.duration', duration, 1, { min: 1, integer: true }),
  });
}

function readSettings(input: WorkerSettings | undefined): ResolvedWorkerOptions['settings'] {
  const settings = readObject('settings', input);
  return Object.freeze({
    backoffStrategy: readFunction('settings.backoffStrategy', settings.backoffStrategy),
    repeatStrategy: readFunction('settings.repeatStrategy', settings.repeatStrategy),
  });
}

function readErrorPolicy(policy: unknown): ErrorPolicy {
  if (!isGiven(policy)) return 'retry';
  if (policy === 'retry' || policy === 'strict' || typeof policy === 'function') return policy as ErrorPolicy;
  throw invalidOption('errorPolicy', "'retry', 'strict' or a function", policy);
}

function newWorkerId(): string {
  return `${hostname()}-${process.pid}-${randomBytes(3).toString('hex')}`;
}
