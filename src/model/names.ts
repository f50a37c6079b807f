// Names that become part of Redis keys. What BullMQ accepts stays accepted unless it would corrupt the queue.

import { describeGiven, yokeError } from './errors.ts';

/** The only second segment a queue name may have: the queue that holds the compensations of `<name>`. */
const COMPENSATION_SUFFIX = ':compensation';

/**
 * First segments a job id may not have. A job lives at `<queue>:<id>`, so an id equal to one of the queue's own
 * keys, or below one of them, would overwrite it or be taken for it.
 */
export const reservedIdSegments: ReadonlySet<string> = new Set([
  // the wire's
  '',
  'active',
  'wait',
  'waiting-children',
  'paused',
  'id',
  'delayed',
  'prioritized',
  'stalled-check',
  'completed',
  'failed',
  'stalled',
  'repeat',
  'limiter',
  'meta',
  'events',
  'pc',
  'marker',
  'de',
  'dn',
  'metrics',
  'priority',
  'delay',
  // ours
  'groups',
  'lanes',
  'compensation',
]);

/** Long enough for any two UUIDs and a prefix, short enough to be a key, a list entry and a log field. */
const MAX_ID_BYTES = 256;
/** A lane is part of a key and of several entries; longer keys are better hashed. */
const MAX_LANE_BYTES = 256;

const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/;
// With the u flag a surrogate pair is one character, so only lone halves match.
const loneSurrogate = /\p{Surrogate}/u;

/** Throws QUEUE_NAME_MISSING, QUEUE_NAME_COLON, LONE_SURROGATE or INVALID_OPTION. */
export function assertQueueName(name: unknown): asserts name is string {
  if (name === undefined || name === null || name === '') throw yokeError('QUEUE_NAME_MISSING');
  if (typeof name !== 'string') throw notText('queue name', name);
  assertWellFormed('queue name', name);
  const base = isCompensationQueue(name) ? name.slice(0, -COMPENSATION_SUFFIX.length) : name;
  if (base === '' || base.includes(':')) throw yokeError('QUEUE_NAME_COLON', { name });
}

export function isCompensationQueue(name: string): boolean {
  return name.endsWith(COMPENSATION_SUFFIX);
}

/** Any text will do, also with colons or empty, as in BullMQ. */
export function assertJobName(name: unknown): asserts name is string {
  if (typeof name !== 'string') throw notText('job name', name);
  assertWellFormed('job name', name);
}

export interface JobIdRules {
  /** Skip the refusal of `0:…`, for ids that come from an existing queue rather than from a caller. */
  readonly allowZero?: boolean;
}

/** Checks a custom id. The empty id means "automatic" and is for the caller to treat before. */
export function assertJobId(id: unknown, rules: JobIdRules = {}): asserts id is string {
  if (typeof id !== 'string') throw notText('jobId', id);
  if (!rules.allowZero && (id === '0' || id.startsWith('0:'))) throw yokeError('JOB_ID_ZERO', { jobId: id });
  if (`${Number.parseInt(id, 10)}` === id) throw yokeError('CUSTOM_ID_INTEGER', { jobId: id });

  // A length below a third of the limit cannot exceed it in UTF-8.
  if (id.length * 3 > MAX_ID_BYTES) {
    const bytes = Buffer.byteLength(id);
    if (bytes > MAX_ID_BYTES) throw yokeError('JOB_ID_TOO_LONG', { bytes, maxBytes: MAX_ID_BYTES });
  }
  const position = id.search(controlCharacter);
  if (position !== -1) throw yokeError('JOB_ID_CONTROL_CHARACTER', { position });
  assertWellFormed('jobId', id);

  const colon = id.indexOf(':');
  // Three segments are the form of a scheduler's iterations, which BullMQ lets users imitate.
  if (colon !== -1 && id.split(':').length !== 3) throw yokeError('CUSTOM_ID_COLON', { jobId: id });
  const segment = colon === -1 ? id : id.slice(0, colon);
  if (reservedIdSegments.has(segment)) throw yokeError('JOB_ID_RESERVED', { jobId: id, segment });
}

/** Any text of 1 to 256 bytes is a lane. Throws INVALID_OPTION or LONE_SURROGATE. */
export function assertLane(lane: unknown, option = 'lane'): asserts lane is string {
  const isRight = typeof lane === 'string' && lane !== '' && Buffer.byteLength(lane) <= MAX_LANE_BYTES;
  if (!isRight) {
    const expected = `a string of 1 to ${MAX_LANE_BYTES} bytes`;
    const given =
      typeof lane === 'string' && lane !== '' ? `${Buffer.byteLength(lane)} bytes` : describeGiven(lane);
    throw yokeError('INVALID_OPTION', { option, expected, given });
  }
  assertWellFormed(option, lane);
}

/** Text that is stored raw would come back changed: UTF-8 has no lone surrogates. */
export function assertWellFormed(what: string, text: string): void {
  if (!loneSurrogate.test(text)) return;
  throw yokeError('LONE_SURROGATE', { what, position: text.search(loneSurrogate) });
}

function notText(option: string, given: unknown) {
  return yokeError('INVALID_OPTION', { option, expected: 'a string', given: describeGiven(given) });
}
