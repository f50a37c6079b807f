// Turns whatever a processor threw into an Error, and an Error into the two texts a failed job keeps. Nothing in
// here throws: a job must be able to fail even with the strangest of errors.

import { describeGiven, isInstance, readThrown } from './errors.ts';

/** Texts stored by the engine itself; BullMQ's, because dashboards and tests compare them. */
export const STALLED_TOO_OFTEN = 'job stalled more than allowable limit';
export const STARTED_TOO_OFTEN = 'job started more than allowable limit';

// Room for any stack a person will read. Without a bound one error that carries a response body in its message
// would make every later read of the job slow.
const MAX_TEXT_LENGTH = 65_536;

/** Always an Error with a readable message; a real Error is returned as it is. */
export function normaliseError(thrown: unknown): Error {
  if (isInstance(thrown, Error) && typeof readThrown(thrown, 'message') === 'string') return thrown as Error;
  if (typeof thrown === 'string') return new Error(thrown);

  const message = readThrown(thrown, 'message');
  if (typeof message === 'string') {
    const error = new Error(message, { cause: thrown });
    copyText(thrown, error, 'name');
    copyText(thrown, error, 'stack');
    const code = readThrown(thrown, 'code');
    if (typeof code === 'string' || typeof code === 'number') Object.assign(error, { code });
    return error;
  }
  return new Error(`The processor threw ${describeThrown(thrown)} instead of an Error`, { cause: thrown });
}

export interface FailureText {
  /** The message, as stored in `failedReason`. */
  readonly reason: string;
  /** The stack with its message; the message alone where there is no stack. */
  readonly stack: string;
}

export function failureText(error: Error): FailureText {
  const message = readThrown(error, 'message');
  const reason = typeof message === 'string' ? message || innerMessages(error) : 'Unreadable error';
  const stack = readThrown(error, 'stack');
  return {
    reason: clip(reason),
    stack: clip(typeof stack === 'string' && stack !== '' ? stack : reason),
  };
}

/** Node reports a refused connection as an AggregateError with no message of its own. */
function innerMessages(error: Error): string {
  const inner = readThrown(error, 'errors');
  if (!Array.isArray(inner)) return '';
  const messages = inner.map((one) => readThrown(one, 'message')).filter((text) => typeof text === 'string');
  return messages.join('; ');
}

function clip(text: string): string {
  if (text.length <= MAX_TEXT_LENGTH) return text;
  return `${text.slice(0, MAX_TEXT_LENGTH)}… (${text.length - MAX_TEXT_LENGTH} more characters)`;
}

function copyText(from: unknown, to: Error, property: 'name' | 'stack'): void {
  const text = readThrown(from, property);
  if (typeof text === 'string' && text !== '') to[property] = text;
}

function describeThrown(thrown: unknown): string {
  try {
    return describeGiven(thrown);
  } catch {
    return 'an unreadable object';
  }
}
