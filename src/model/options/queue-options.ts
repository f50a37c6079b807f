// The options of a Queue.

import { DEFAULT_MAX_PAYLOAD_BYTES } from '../payload.ts';
import { isStandardSchema, type StandardSchemaV1 } from '../schema.ts';
import {
  type BaseOptions,
  baseOptionNames,
  type ResolvedBaseOptions,
  resolveBaseOptions,
} from './base-options.ts';
import {
  invalidOption,
  isGiven,
  readBoolean,
  readFunction,
  readNumber,
  readObject,
  readString,
} from './checks.ts';
import {
  type DefaultJobOptions,
  type JobLimits,
  type JobsOptions,
  resolveJobOptions,
} from './job-options.ts';
import { findUnknownOptions, type UnknownOption } from './unknown-options.ts';

/** Computes the next time of a scheduler; must be given to both Queue and Worker. */
export type RepeatStrategy = (
  millis: number,
  // biome-ignore lint/suspicious/noExplicitAny: a strategy may annotate its own options type.
  opts: any,
  name?: string,
) => number | undefined | Promise<number | undefined>;

export interface QueueSettings {
  /** A cron strategy of your own. Default: cron patterns. */
  repeatStrategy?: RepeatStrategy;
  /** Only meaningful for repeatable jobs of v5. Default `md5`. */
  repeatKeyHashAlgorithm?: string;
}

export interface QueueOptions extends BaseOptions {
  /** Options of every job added here, unless the job has its own. Default `{}`. */
  defaultJobOptions?: DefaultJobOptions;
  /** Cap of the event stream, in entries. Default 10,000. */
  streams?: { events?: { maxLen?: number } };
  /** Do not write the queue's settings on construction. Default false. */
  skipMetasUpdate?: boolean;
  settings?: QueueSettings;
  /** Checks the data of every job before it is added. Default: no check. */
  schema?: StandardSchemaV1;
  /** Most bytes of JSON a job's data may have. Default 10 MB. */
  maxPayloadBytes?: number;
  /** Groups kept after they have ended, for each final state; `age` in seconds. Default: all. */
  keepGroups?: { age?: number; count?: number };
  /** Jobs of one lane that may be out at a time; stored with the queue. Default: what is stored, else 1. */
  laneConcurrency?: number;
  /** A failing job blocks its lane while it backs off, or steps aside; stored with the queue. Default: what is stored, else `block`. */
  laneOnRetry?: 'block' | 'skip';
  /** After a job failed for good its lane goes on, or halts; stored with the queue. Default: what is stored, else `continue`. */
  laneOnFailure?: 'continue' | 'halt';
  /** How long a job of a lane is held back for earlier ones, in ms; stored with the queue. Default: what is stored, else 0. */
  orderingDelayMs?: number;
  /** A job's `groupId` is its lane, as in GroupMQ. Default false. */
  groupIdAsLane?: boolean;
}

/** What the lanes of a queue have in common; what is not given stays as it is stored. */
export interface LaneSettings {
  readonly concurrency?: number | undefined;
  readonly onRetry?: 'block' | 'skip' | undefined;
  readonly onFailure?: 'continue' | 'halt' | undefined;
  readonly orderingDelayMs?: number | undefined;
}

export interface ResolvedQueueOptions extends ResolvedBaseOptions {
  /** Frozen, and checked already. */
  readonly defaultJobOptions: Readonly<JobsOptions>;
  readonly streams: { readonly events: { readonly maxLen: number } };
  readonly skipMetasUpdate: boolean;
  readonly settings: {
    readonly repeatStrategy: RepeatStrategy | null;
    readonly repeatKeyHashAlgorithm: string;
  };
  /** null = no check. */
  readonly schema: StandardSchemaV1 | null;
  /** Bytes. */
  readonly maxPayloadBytes: number;
  /** null = keep all, or as another process has said. */
  readonly keepGroups: { readonly ageMs?: number; readonly count?: number } | null;
  readonly lanes: LaneSettings;
  readonly groupIdAsLane: boolean;
  /** Option names nobody knows, for one warning. */
  readonly unknown: readonly UnknownOption[];
}

const names = [
  ...baseOptionNames,
  'defaultJobOptions',
  'streams',
  'skipMetasUpdate',
  'settings',
  'schema',
  'maxPayloadBytes',
  'keepGroups',
  'laneConcurrency',
  'laneOnRetry',
  'laneOnFailure',
  'orderingDelayMs',
  'groupIdAsLane',
] as const satisfies readonly (keyof QueueOptions)[];

/** BullMQ's default; about the last thousand jobs, at some ten events each. */
const DEFAULT_MAX_EVENTS = 10_000;

export function resolveQueueOptions(input: QueueOptions | null | undefined): ResolvedQueueOptions {
  const opts: QueueOptions = readObject('options', input);
  const maxPayloadBytes = readMaxPayloadBytes(opts.maxPayloadBytes);
  const groupIdAsLane = readBoolean('groupIdAsLane', opts.groupIdAsLane, false);
  return Object.freeze({
    ...resolveBaseOptions(opts),
    defaultJobOptions: readDefaults(opts.defaultJobOptions, { maxPayloadBytes, groupIdAsLane }),
    streams: readStreams(opts.streams),
    skipMetasUpdate: readBoolean('skipMetasUpdate', opts.skipMetasUpdate, false),
    settings: readSettings(opts.settings),
    schema: readSchema(opts.schema),
    maxPayloadBytes,
    keepGroups: readKeepGroups(opts.keepGroups),
    lanes: readLanes(opts),
    groupIdAsLane,
    unknown: findUnknownOptions(opts, names),
  });
}

function readKeepGroups(input: QueueOptions['keepGroups']): ResolvedQueueOptions['keepGroups'] {
  if (!isGiven(input)) return null;
  const { age, count } = readObject('keepGroups', input);
  return Object.freeze({
    ...(isGiven(age) && { ageMs: Math.round(readNumber('keepGroups.age', age, 0) * 1000) }),
    ...(isGiven(count) && { count: readNumber('keepGroups.count', count, 0, { integer: true }) }),
  });
}

function readLanes(opts: QueueOptions): LaneSettings {
  const { laneConcurrency, laneOnRetry, laneOnFailure, orderingDelayMs } = opts;
  return Object.freeze({
    concurrency: isGiven(laneConcurrency) ? readLaneConcurrency(laneConcurrency) : undefined,
    onRetry: readWord('laneOnRetry', laneOnRetry, ['block', 'skip']),
    onFailure: readWord('laneOnFailure', laneOnFailure, ['continue', 'halt']),
    orderingDelayMs: isGiven(orderingDelayMs)
      ? readNumber('orderingDelayMs', orderingDelayMs, 0, { integer: true })
      : undefined,
  });
}

/** Who is out is one field of a hash, so a lane is no place for thousands. */
const MAX_LANE_CONCURRENCY = 1000;

export function readLaneConcurrency(value: unknown): number {
  const concurrency = readNumber('laneConcurrency', value, 1, { min: 1, integer: true });
  if (concurrency > MAX_LANE_CONCURRENCY)
    throw invalidOption('laneConcurrency', `at most ${MAX_LANE_CONCURRENCY}`, value);
  return concurrency;
}

function readWord<W extends string>(option: string, value: unknown, words: readonly W[]): W | undefined {
  if (!isGiven(value)) return undefined;
  if (words.includes(value as W)) return value as W;
  throw invalidOption(option, words.map((word) => `'${word}'`).join(' or '), value);
}

export function readMaxPayloadBytes(value: unknown): number {
  return readNumber('maxPayloadBytes', value, DEFAULT_MAX_PAYLOAD_BYTES, { min: 1 });
}

export function readSchema(schema: unknown): StandardSchemaV1 | null {
  if (!isGiven(schema)) return null;
  if (isStandardSchema(schema)) return schema;
  throw invalidOption('schema', 'a Standard Schema (zod, valibot, arktype, …)', schema);
}

/** Resolving them once here makes a mistake show at construction, not at the first add. */
function readDefaults(defaults: JobsOptions | undefined, limits: JobLimits): Readonly<JobsOptions> {
  const copy = Object.freeze({ ...readObject('defaultJobOptions', defaults) });
  resolveJobOptions(undefined, copy, limits);
  return copy;
}

function readStreams(streams: QueueOptions['streams']): ResolvedQueueOptions['streams'] {
  const events = readObject('streams.events', readObject('streams', streams).events);
  const maxLen = readNumber('streams.events.maxLen', events.maxLen, DEFAULT_MAX_EVENTS, { integer: true });
  return Object.freeze({ events: Object.freeze({ maxLen }) });
}

function readSettings(input: QueueSettings | undefined): ResolvedQueueOptions['settings'] {
  const settings = readObject('settings', input);
  return Object.freeze({
    repeatStrategy: readFunction('settings.repeatStrategy', settings.repeatStrategy),
    repeatKeyHashAlgorithm: readString(
      'settings.repeatKeyHashAlgorithm',
      settings.repeatKeyHashAlgorithm,
      'md5',
    ),
  });
}
