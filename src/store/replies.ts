// A status word from the engine -> the error of the catalogue. The only place that knows both.

import { type ErrorKey, yokeError } from '../model/errors.ts';
import { translateServerError } from './server-errors.ts';

const keyOf: Record<string, ErrorKey> = {
  not_found: 'JOB_NOT_EXIST',
  lease_missing: 'JOB_LOCK_NOT_EXIST',
  not_in_state: 'JOB_NOT_IN_STATE',
  pending_children: 'JOB_PENDING_CHILDREN',
  parent_missing: 'PARENT_JOB_NOT_EXIST',
  lease_lost: 'JOB_LOCK_MISMATCH',
  failed_children: 'JOB_HAS_FAILED_CHILDREN',
  scheduled: 'JOB_BELONGS_TO_JOB_SCHEDULER',
  group_member: 'JOB_IN_GROUP',
  compensation: 'JOB_IS_COMPENSATION',
};

export interface Reply {
  readonly word: string;
  /** The server's time. */
  readonly now: string;
  readonly body: unknown;
}

/**
 * Every reply says a word, the server's time and more. The calls that are made all the time answer with one text when all
 * is well, the time and behind it a list as JSON: one text is read quicker than a list of them. A list alone has the time
 * as its last entry, and the time alone stands for an empty list.
 */
export function readReply(reply: unknown): Reply {
  if (typeof reply !== 'string') {
    const [word, now, body] = reply as [string, string, unknown];
    return { word, now, body };
  }
  const from = reply.indexOf('[');
  if (from < 0) return { word: 'ok', now: reply, body: [] };
  const body = JSON.parse(from === 0 ? reply : reply.slice(from));
  return { word: 'ok', now: from === 0 ? body.pop() : reply.slice(0, from), body };
}

export interface Refused {
  readonly jobId: string;
  /** The verb as BullMQ's error texts have it. */
  readonly command: string;
  readonly state?: string;
  readonly parentKey?: string;
}

/** The error for a word that is not among the successes of its transition. */
export function refusal(word: string, value: string, of: Refused): Error {
  if (word === 'error') return translateServerError(new Error(value), of.command);
  const key = keyOf[word];
  if (key) return yokeError(key, { ...of });
  return yokeError('CALL_REFUSED', { call: of.command, reason: word });
}

/** Throws unless the word is one of the expected ones. */
export function expectWord<Word extends string>(
  reply: readonly unknown[],
  of: Refused,
  ...expected: Word[]
): { word: Word; value: string } {
  const [word, value] = reply as [string, string];
  if ((expected as string[]).includes(word)) return { word: word as Word, value };
  throw refusal(word, value, of);
}
