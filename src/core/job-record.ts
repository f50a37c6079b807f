// From a stored record, or from JSON in either of BullMQ's shapes, to a job's properties. Data and options must be
// readable, or the job cannot run; what is only shown (progress, stack traces) falls back to nothing.

import { yokeError } from '../model/errors.ts';
import type { JobsOptions } from '../model/options/job-options.ts';
import { decodePayload } from '../model/payload.ts';
import { decodeOptions, decodeRawFields, type JobRecord } from '../store/codec.ts';
import type { Job } from './job.ts';
import type { ParentReference } from './job-json.ts';

/** Throws POISONED_RECORD. */
export function dataOf(record: JobRecord): unknown {
  return decodePayload(record.data, 'data', record.id);
}

/** Throws POISONED_RECORD. */
export function optsOf(record: JobRecord): JobsOptions {
  try {
    const opts = decodeOptions(record.opts) as JobsOptions & { repeatJobKey?: string };
    // The job itself says to which scheduler it belongs; as an option it would travel into copies of the job.
    if (record.repeatJobKey !== undefined) delete opts.repeatJobKey;
    return opts;
  } catch (cause) {
    throw yokeError(
      'POISONED_RECORD',
      { jobId: record.id, expected: 'JSON in opts', given: 'something else' },
      { cause },
    );
  }
}

/** Copies what the constructor does not take. */
export function takeOver(job: Job, record: JobRecord): void {
  job.delay = record.delay;
  job.priority = record.priority;
  job.timestamp = record.timestamp;
  job.attemptsStarted = record.attemptsStarted;
  job.attemptsMade = record.attemptsMade;
  job.stalledCounter = record.stalledCounter;
  job.stacktrace = record.stacktrace === undefined ? [] : lenientArray(record.stacktrace);
  if (record.progress !== undefined) job.progress = lenient(record.progress, 0) as never;
  if (record.returnvalue !== undefined) job.returnvalue = lenient(record.returnvalue, undefined);
  if (record.failedReason !== undefined) job.failedReason = record.failedReason;
  if (record.deferredFailure !== undefined) job.deferredFailure = record.deferredFailure;
  if (record.finishedOn !== undefined) job.finishedOn = record.finishedOn;
  if (record.processedOn !== undefined) job.processedOn = record.processedOn;
  if (record.processedBy !== undefined) job.processedBy = record.processedBy;
  if (record.parentKey !== undefined) job.parentKey = record.parentKey;
  if (record.parent !== undefined)
    job.parent = lenient(record.parent, undefined) as ParentReference | undefined;
  if (record.deduplicationId !== undefined) job.deduplicationId = record.deduplicationId;
  if (record.groupTie !== undefined) job.groupKey = record.groupTie.split(':').slice(3).join(':');
  if (record.lane !== undefined) job.lane = record.lane;
  if (record.orderMs !== undefined) job.orderMs = record.orderMs;
  if (record.repeatJobKey !== undefined) job.repeatJobKey = record.repeatJobKey;
}

const jsonToField: Record<string, string> = {
  attemptsStarted: 'ats',
  stalledCounter: 'stc',
  processedBy: 'pb',
  repeatJobKey: 'rjk',
  deduplicationId: 'deid',
  deferredFailure: 'defa',
};

/** From raw hash fields, as v5 hands them out, or from what `asJSON` returns. */
export function recordFromJson(json: Record<string, unknown>, jobId?: string): JobRecord {
  const id = jobId ?? String(json.id ?? '');
  const fields: Record<string, unknown> = { ...json };
  for (const [name, field] of Object.entries(jsonToField)) if (name in json) fields[field] = json[name];
  for (const name of ['opts', 'data', 'stacktrace', 'parent', 'progress']) {
    if (typeof fields[name] === 'object' || typeof fields[name] === 'number')
      fields[name] = JSON.stringify(fields[name]);
  }
  return decodeRawFields(id, fields);
}

function lenient(text: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}

function lenientArray(text: string): string[] {
  const value = lenient(text, []);
  return Array.isArray(value) ? value : [];
}
