// The options of a transactional group. The object is ours alone, so a name nobody knows is refused.

import { yokeError } from '../errors.ts';
import { assertJobName, assertQueueName, isCompensationQueue } from '../names.ts';
import { encodePayload } from '../payload.ts';
import { invalidOption, isGiven, readBoolean, readNumber, readObject, readString } from './checks.ts';
import { type JobsOptions, type ResolvedJobOptions, resolveJobOptions } from './job-options.ts';
import { refuseUnknownOptions } from './unknown-options.ts';

export interface GroupJobDefinition {
  name: string;
  queueName: string;
  // biome-ignore lint/suspicious/noExplicitAny: a payload's type is its owner's.
  data?: any;
  /** As for any job, but for what would tie it to something else: parent, repeat, deduplication, group. */
  opts?: JobsOptions;
}

export interface CompensationJobDefinition {
  name: string;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  data?: any;
  /** Default: 3 attempts, exponential backoff from 1 s. */
  opts?: Pick<JobsOptions, 'attempts' | 'backoff' | 'removeOnComplete' | 'removeOnFail'>;
  /** Also undo a member that failed: it may have had effects. Its `originalReturnValue` is null. Default false. */
  onFailed?: boolean;
}

export interface GroupOptions {
  name: string;
  jobs: GroupJobDefinition[];
  /** Job name -> what undoes it. */
  compensation?: Record<string, CompensationJobDefinition>;
  /** An id of your own: a second `addGroup` with it returns the group that exists. Default: a UUID. */
  groupId?: string;
  /** The queue that keeps the group. Default: the queue of the first job. */
  queueName?: string;
  /** The group cancels itself if it has not completed after this many ms. Default: never. */
  timeoutMs?: number;
  /** `reverse` undoes one at a time, last completed first. Default `parallel`. */
  compensationOrder?: 'parallel' | 'reverse';
}

export interface ResolvedGroupJob {
  readonly name: string;
  readonly queueName: string;
  readonly data: unknown;
  readonly options: ResolvedJobOptions;
  /** Index into `compensations`; -1 = none. */
  readonly compensation: number;
}

export interface ResolvedCompensation {
  readonly name: string;
  /** JSON. */
  readonly data: string;
  readonly stored: Readonly<JobsOptions>;
  readonly onFailed: boolean;
}

export interface ResolvedGroupOptions {
  readonly name: string;
  readonly jobs: readonly ResolvedGroupJob[];
  readonly compensations: readonly ResolvedCompensation[];
  /** The mapping as it was given, JSON. */
  readonly mapping: string;
  /** '' = make one. */
  readonly groupId: string;
  readonly home: string;
  /** 0 = none. */
  readonly timeoutMs: number;
  readonly isReverse: boolean;
}

const names = ['name', 'jobs', 'compensation', 'groupId', 'queueName', 'timeoutMs', 'compensationOrder'];
const jobNames = ['name', 'queueName', 'data', 'opts'];
const compensationNames = ['name', 'data', 'opts', 'onFailed'];
const compensationOptionNames = ['attempts', 'backoff', 'removeOnComplete', 'removeOnFail'];

/** One call adds a group whole; more would hold the server. */
export const MOST_MEMBERS = 1_000;

const COMPENSATION_DEFAULTS = Object.freeze({ attempts: 3, backoff: { type: 'exponential', delay: 1000 } });

/** Throws before anything is sent; nothing is ignored. */
export function resolveGroupOptions(input: GroupOptions, maxPayloadBytes: number): ResolvedGroupOptions {
  const given = readObject('group', input) as GroupOptions;
  refuseUnknownOptions('group', given, names);
  if (!Array.isArray(given.jobs)) throw invalidOption('group.jobs', 'an array of jobs', given.jobs);
  if (given.jobs.length === 0) throw yokeError('GROUP_EMPTY');
  if (given.jobs.length > MOST_MEMBERS)
    throw yokeError('GROUP_TOO_LARGE', { count: given.jobs.length, most: MOST_MEMBERS });
  const mapping = readObject('group.compensation', given.compensation);
  const keys = Object.keys(mapping);
  const compensations = keys.map((key) => readCompensation(key, mapping[key], maxPayloadBytes));
  const jobs = given.jobs.map((job, index) => readJob(index, job, keys, maxPayloadBytes));
  for (const key of keys) {
    if (!jobs.some(({ name }) => name === key)) throw yokeError('GROUP_COMPENSATION_UNMATCHED', { key });
  }
  assertJobName(given.name);
  const home = given.queueName ?? jobs[0]!.queueName;
  assertMemberQueue(home);
  const order = given.compensationOrder ?? 'parallel';
  if (order !== 'parallel' && order !== 'reverse')
    throw invalidOption('group.compensationOrder', "'parallel' or 'reverse'", order);
  return {
    name: given.name,
    jobs,
    compensations,
    mapping: JSON.stringify(mapping),
    groupId: readGroupId(given.groupId),
    home,
    timeoutMs: Math.ceil(readNumber('group.timeoutMs', given.timeoutMs, 0)),
    isReverse: order === 'reverse',
  };
}

// BullMQ's sweep for orphans takes `groups:<one of these>` for a part of a job called `groups`, and deletes it.
const PARTS_OF_JOBS = ['dependencies', 'failed', 'lock', 'logs', 'processed', 'unsuccessful'];

/** An id becomes part of keys and of the ids of compensation jobs. */
export function readGroupId(value: unknown): string {
  const id = readString('groupId', value, '');
  if (PARTS_OF_JOBS.includes(id)) throw invalidOption('groupId', `none of ${PARTS_OF_JOBS.join(', ')}`, id);
  if (id !== '' && !/^[\w.@~+=,-]{1,128}$/.test(id))
    throw invalidOption('groupId', 'at most 128 letters, digits or any of _ . @ ~ + = , -', id);
  return id;
}

const BONDS = ['repeat', 'deduplication', 'debounce', 'group'] as const;

function readJob(
  index: number,
  job: GroupJobDefinition,
  compensated: readonly string[],
  maxPayloadBytes: number,
): ResolvedGroupJob {
  const path = `group.jobs[${index}]`;
  if (typeof job !== 'object' || job === null) throw invalidOption(path, 'a job', job);
  refuseUnknownOptions(path, job, jobNames);
  assertJobName(job.name);
  assertMemberQueue(job.queueName);
  const opts = readObject(`${path}.opts`, job.opts) as Record<string, unknown>;
  if (isGiven(opts.parent)) throw yokeError('GROUP_JOB_HAS_PARENT');
  for (const bond of BONDS) {
    if (isGiven(opts[bond])) throw yokeError('GROUP_JOB_TIED', { job: job.name, option: bond });
  }
  return {
    name: job.name,
    queueName: job.queueName,
    data: job.data,
    options: resolveJobOptions(opts as JobsOptions, {}, { maxPayloadBytes }),
    compensation: compensated.indexOf(job.name),
  };
}

function readCompensation(
  key: string,
  definition: CompensationJobDefinition | undefined,
  maxPayloadBytes: number,
): ResolvedCompensation {
  const path = `group.compensation.${key}`;
  if (typeof definition !== 'object' || definition === null)
    throw invalidOption(path, 'a job that undoes it', definition);
  refuseUnknownOptions(path, definition, compensationNames);
  assertJobName(definition.name);
  const opts = readObject(`${path}.opts`, definition.opts);
  refuseUnknownOptions(`${path}.opts`, opts, compensationOptionNames);
  const { stored } = resolveJobOptions({ ...COMPENSATION_DEFAULTS, ...opts }, {}, { maxPayloadBytes });
  return {
    name: definition.name,
    data: encodePayload(definition.data, {
      what: `compensation data of ${key}`,
      maxBytes: maxPayloadBytes,
      ifUndefined: '{}',
    }),
    stored,
    onFailed: readBoolean(`${path}.onFailed`, definition.onFailed, false),
  };
}

function assertMemberQueue(queueName: unknown): asserts queueName is string {
  assertQueueName(queueName);
  if (isCompensationQueue(queueName)) throw yokeError('GROUP_ON_COMPENSATION_QUEUE', { queue: queueName });
}
