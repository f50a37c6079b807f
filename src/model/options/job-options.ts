// Reads a job's options. Runs once per add, so a job without options costs a comparison and no object.

import { normaliseBackoff } from '../backoff.ts';
import { PRIORITY_LIMIT } from '../constants.ts';
import { yokeError } from '../errors.ts';
import { assertJobId, assertLane } from '../names.ts';
import { invalidOption, isGiven } from './checks.ts';
import type { JobsOptions, ResolvedJobOptions, StoredJobOptions } from './job-option-types.ts';
import { checkKeepJobs } from './keep-jobs.ts';

export type * from './job-option-types.ts';

export interface JobLimits {
  /** Bytes of JSON a job's data may have. */
  readonly maxPayloadBytes: number;
  /** A job's `groupId` is its lane. */
  readonly groupIdAsLane?: boolean;
}

// Due times become scores (milliseconds · 4096) that are written as 64-bit integers; timestamp plus delay must fit.
const MAX_INSTANT_MS = 1e15;

const unsupported = new Set(['deduplication', 'debounce', 'repeat', 'parent', 'repeatJobKey', 'telemetry']);

const exclusive = [
  'removeDependencyOnFailure',
  'failParentOnFailure',
  'continueParentOnFailure',
  'ignoreDependencyOnFailure',
] as const;

let plain = plainOptions(0);

interface KnownDefaults {
  readonly resolved: ResolvedJobOptions;
  readonly groupIdAsLane: boolean | undefined;
}

// Frozen defaults cannot change, so what they resolve to alone is kept with them, and under which limits.
const resolvedDefaults = new WeakMap<object, KnownDefaults>();

/**
 * The job's own options over the queue's defaults; `jobId` is never taken from the defaults, and a key given as
 * undefined is not given. Throws a typed error for anything that would be stored wrong; nothing is ignored.
 */
export function resolveJobOptions(
  opts: JobsOptions | null | undefined,
  defaults: JobsOptions,
  limits: JobLimits,
): ResolvedJobOptions {
  const own = isGiven(opts) && !isEmpty(opts) ? withoutUndefined(opts) : undefined;
  if (isEmpty(defaults)) {
    return own === undefined
      ? plainFor(limits)
      : resolve({ attempts: 0, ...own } as StoredJobOptions, limits);
  }
  if (own === undefined && Object.isFrozen(defaults)) return defaultsFor(defaults, limits);
  const merged = { attempts: 0, ...withoutUndefined(defaults), ...own } as StoredJobOptions;
  if (own === undefined || !Object.hasOwn(own, 'jobId')) delete merged.jobId;
  return resolve(merged, limits);
}

function plainFor(limits: JobLimits): ResolvedJobOptions {
  if (plain.maxPayloadBytes !== limits.maxPayloadBytes) plain = plainOptions(limits.maxPayloadBytes);
  return plain;
}

function plainOptions(maxPayloadBytes: number): ResolvedJobOptions {
  return Object.freeze({
    stored: Object.freeze({ attempts: 0 }),
    jobId: '',
    delayMs: 0,
    priority: 0,
    lifo: false,
    timestamp: undefined,
    attempts: 1,
    sizeLimit: 0,
    maxPayloadBytes,
    lane: '',
    orderMs: undefined,
  });
}

function defaultsFor(defaults: JobsOptions, limits: JobLimits): ResolvedJobOptions {
  const { maxPayloadBytes, groupIdAsLane } = limits;
  const known = resolvedDefaults.get(defaults);
  if (known?.resolved.maxPayloadBytes === maxPayloadBytes && known.groupIdAsLane === groupIdAsLane) {
    return known.resolved;
  }
  const merged = { attempts: 0, ...withoutUndefined(defaults) } as StoredJobOptions;
  delete merged.jobId;
  const resolved = resolve(merged, limits);
  Object.freeze(resolved.stored);
  resolvedDefaults.set(defaults, { resolved: Object.freeze(resolved), groupIdAsLane });
  return resolved;
}

/** Takes over `stored`, which must be a fresh object, and brings it into the form in which it is kept. */
function resolve(stored: StoredJobOptions, limits: JobLimits): ResolvedJobOptions {
  let jobId = '';
  let delayMs = 0;
  let priority = 0;
  let lifo = false;
  let timestamp: number | undefined;
  let sizeLimit = 0;
  let lane = '';
  let orderMs: number | undefined;

  for (const key of Object.keys(stored)) {
    const value: unknown = (stored as unknown as Record<string, unknown>)[key];
    if (value === null) {
      dropNull(stored, key);
      continue;
    }
    switch (key) {
      case 'attempts':
        checkFinite(key, value);
        break;
      case 'jobId':
        if (value === '') delete stored.jobId;
        else jobId = readJobId(value);
        break;
      case 'delay':
        delayMs = Math.max(0, readInstant(key, value));
        break;
      case 'timestamp':
        // 0 means now, as in BullMQ.
        timestamp = readInstant(key, value) || undefined;
        break;
      case 'priority':
        priority = readPriority(value);
        break;
      case 'lifo':
        if (typeof value !== 'boolean') throw invalidOption(key, 'true or false', value);
        lifo = value;
        break;
      case 'backoff':
        stored.backoff = normaliseBackoff(stored.backoff);
        break;
      case 'removeOnComplete':
      case 'removeOnFail':
        checkKeepJobs(key, value);
        break;
      case 'keepLogs':
      case 'stackTraceLimit':
        stored[key] = readCount(key, value);
        break;
      case 'sizeLimit':
        sizeLimit = readCount(key, value);
        break;
      case 'group':
        throw yokeError('GROUP_OPTION_RESERVED');
      case 'lane':
        lane = readLane(key, value);
        break;
      case 'groupId':
        if (limits.groupIdAsLane && stored.lane === undefined) lane = readLane(key, value);
        break;
      case 'orderMs':
        orderMs = readOrder(value);
        break;
      default:
        if (value) refuseUnsupported(stored, key);
    }
  }
  const attempts = Math.max(1, Math.ceil(stored.attempts));
  const { maxPayloadBytes } = limits;
  if (lane !== '' && lifo) throw yokeError('EXCLUSIVE_OPTIONS', { options: 'lane, lifo' });
  if (lane === '' && orderMs !== undefined) throw invalidOption('orderMs', 'a lane beside it', orderMs);
  return {
    stored,
    jobId,
    delayMs,
    priority,
    lifo,
    timestamp,
    attempts,
    sizeLimit,
    maxPayloadBytes,
    lane,
    orderMs,
  };
}

function isEmpty(options: object): boolean {
  for (const _ in options) return false;
  return true;
}

/** The same object where nothing is undefined, which is the usual case. */
function withoutUndefined(options: JobsOptions): JobsOptions {
  if (!Object.values(options).includes(undefined)) return options;
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** BullMQ's encoder drops nulls, so null means "no value": also not the default of the queue. */
function dropNull(stored: StoredJobOptions, key: string): void {
  if (key === 'attempts') stored.attempts = 0;
  else delete (stored as unknown as Record<string, unknown>)[key];
}

function checkFinite(option: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw invalidOption(option, 'a finite number', value);
}

function readJobId(value: unknown): string {
  assertJobId(value);
  return value;
}

function readLane(option: string, value: unknown): string {
  assertLane(value, option);
  return value;
}

function readOrder(value: unknown): number {
  if (Number.isSafeInteger(value)) return value as number;
  throw invalidOption('orderMs', 'a safe integer', value);
}

function readInstant(option: string, value: unknown): number {
  const ms = Math.round(checkFinite(option, value));
  if (Math.abs(ms) > MAX_INSTANT_MS)
    throw invalidOption(option, `milliseconds up to ${MAX_INSTANT_MS}`, value);
  return ms;
}

function readPriority(value: unknown): number {
  const priority = checkFinite('priority', value);
  if (!Number.isInteger(priority)) throw yokeError('PRIORITY_FLOAT', { priority });
  if (priority < 0 || priority > PRIORITY_LIMIT) {
    throw yokeError('PRIORITY_RANGE', { priority, limit: PRIORITY_LIMIT });
  }
  return priority;
}

/**
 * Whole numbers reach the server: a fraction there is an error after half of the work is done. Rounded up, because
 * 0 has a meaning of its own.
 */
function readCount(option: string, value: unknown): number {
  const count = Math.ceil(checkFinite(option, value));
  if (count < 0) throw invalidOption(option, 'a number of at least 0', value);
  return count;
}

function refuseUnsupported(stored: StoredJobOptions, key: string): void {
  if (unsupported.has(key)) throw yokeError('NOT_SUPPORTED_YET', { feature: `job option ${key}` });
  if (!exclusive.includes(key as (typeof exclusive)[number])) return;
  const given = exclusive.filter((name) => stored[name]);
  if (given.length > 1) throw yokeError('EXCLUSIVE_OPTIONS', { options: given.join(', ') });
  throw yokeError('NOT_SUPPORTED_YET', { feature: `job option ${key}` });
}
