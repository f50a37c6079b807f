// JSON in and out. What a user gives is encoded here once, before anything is sent, and passes through the server
// as bytes.

import { yokeError } from './errors.ts';

/** What a job may report as its progress. */
export type JobProgress = string | boolean | number | object;

/** 10 MB of UTF-8: far more than a job should carry, far less than what makes a server stop for others. */
export const DEFAULT_MAX_PAYLOAD_BYTES = 10 * 1024 * 1024;

export interface PayloadRules {
  /** What is being encoded, for the message: `job data`, `return value`, `progress`. */
  readonly what: string;
  readonly maxBytes: number;
  /** The text for a top-level `undefined`; without it, undefined is refused. */
  readonly ifUndefined?: string;
}

/** Throws PAYLOAD_NOT_SERIALISABLE or PAYLOAD_TOO_LARGE. Lone surrogates survive: JSON writes them as escapes. */
export function encodePayload(value: unknown, rules: PayloadRules): string {
  if (value === undefined && rules.ifUndefined !== undefined) return rules.ifUndefined;
  const text = stringify(value, rules.what);
  assertSize(text, rules.what, rules.maxBytes);
  return text;
}

export interface JobDataLimits {
  /** The job's own limit in bytes; 0 = none. */
  readonly sizeLimit: number;
  readonly maxPayloadBytes: number;
}

/** A job's data: undefined is stored as `{}`, and the job's own limit has BullMQ's text. */
export function encodeJobData(name: string, data: unknown, limits: JobDataLimits): string {
  if (data === undefined) return '{}';
  const text = stringify(data, 'job data');
  const limit = limits.sizeLimit;
  if (limit > 0 && exceeds(text, limit)) throw yokeError('JOB_SIZE_LIMIT', { name, limit });
  assertSize(text, 'job data', limits.maxPayloadBytes);
  return text;
}

// So many bytes of JSON at most, of what is seen to be encodable without encoding it.
const SURE_BYTES = 16_384;

/**
 * That `encodeJobData` will not throw, known at a tenth of its cost: small data of plain objects and arrays. False says
 * nothing.
 */
export function isSurelyEncodable(data: unknown, { sizeLimit, maxPayloadBytes }: JobDataLimits): boolean {
  const mostBytes = sizeLimit > 0 ? Math.min(sizeLimit, maxPayloadBytes) : maxPayloadBytes;
  return roomAfter(data, Math.min(SURE_BYTES, mostBytes)) >= 0;
}

// What is left of the room, at least; below 0 where that or the value itself is not known. A circle ends with the room.
function roomAfter(value: unknown, room: number): number {
  // An escaped UTF-16 unit has six bytes; then quotes and a comma. No number has more than 24 digits and signs.
  if (typeof value === 'string') return room - 6 * value.length - 3;
  if (typeof value === 'number') return room - 25;
  if (typeof value === 'boolean' || value === null) return room - 6;
  if (typeof value !== 'object' || room < 0 || 'toJSON' in value) return -1;
  let left = room - 3;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && left >= 0; i++) left = roomAfter(value[i], left);
    return left;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return -1;
  for (const key in value) {
    left = roomAfter((value as Record<string, unknown>)[key], left - 6 * key.length - 4);
    if (left < 0) break;
  }
  return left;
}

/** For text that is stored as it is, such as a log row. */
export function assertSize(text: string, what: string, maxBytes: number): void {
  if (!exceeds(text, maxBytes)) return;
  throw yokeError('PAYLOAD_TOO_LARGE', { what, maxBytes, bytes: Buffer.byteLength(text) });
}

/** Throws POISONED_RECORD. `__proto__` stays plain data: JSON.parse makes it an own property. */
export function decodePayload(text: string, what = 'data', jobId = '?'): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The parser's message quotes the text, so it stays in the cause and out of what is logged and stored.
    throw yokeError(
      'POISONED_RECORD',
      { jobId, expected: `JSON in ${what}`, given: 'something else' },
      { cause },
    );
  }
}

function exceeds(text: string, maxBytes: number): boolean {
  // A UTF-16 unit takes at most three bytes, so most payloads are never measured.
  return text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes;
}

function stringify(value: unknown, what: string): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    const given = cause instanceof Error ? firstLine(cause.message) : 'a toJSON that throws';
    throw yokeError('PAYLOAD_NOT_SERIALISABLE', { what, given }, { cause });
  }
  if (text === undefined) throw yokeError('PAYLOAD_NOT_SERIALISABLE', { what, given: nothingLeft(value) });
  return text;
}

// The lines after the first draw the cycle with property names of the payload.
function firstLine(message: string): string {
  return message.split('\n', 1)[0] ?? message;
}

function nothingLeft(value: unknown): string {
  if (value === undefined) return 'undefined';
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'symbol') return 'a symbol';
  return 'an object whose toJSON returns nothing';
}
