// Recognises control errors. By class or by name, because errors from another realm, another copy of the package
// or BullMQ's own classes share only the name; the rate-limit error by its text, as BullMQ does.

import {
  CONNECTION_CLOSED_ERROR_MSG,
  ConnectionClosedError,
  DelayedError,
  RATE_LIMIT_ERROR,
  TransientError,
  UnrecoverableError,
  WaitingChildrenError,
  WaitingError,
} from './control.ts';

/** Reads a property of a thrown value, which may be anything, including an object whose getters throw. */
export function readThrown(thrown: unknown, property: string): unknown {
  if (thrown === null || (typeof thrown !== 'object' && typeof thrown !== 'function')) return undefined;
  try {
    return (thrown as Record<string, unknown>)[property];
  } catch {
    return undefined;
  }
}

function isA(thrown: unknown, type: Function, name: string): boolean {
  return isInstance(thrown, type) || readThrown(thrown, 'name') === name;
}

/** `instanceof` that survives a revoked proxy. */
export function isInstance(thrown: unknown, type: Function): boolean {
  try {
    return thrown instanceof type;
  } catch {
    return false;
  }
}

export function isUnrecoverable(error: unknown): boolean {
  return (
    isA(error, UnrecoverableError, 'UnrecoverableError') || readThrown(error, 'name') === 'PermanentError'
  );
}

export function isTransientError(error: unknown): boolean {
  return isA(error, TransientError, 'TransientError');
}

export function isDelayedError(error: unknown): boolean {
  return isA(error, DelayedError, 'DelayedError');
}

export function isWaitingError(error: unknown): boolean {
  return isA(error, WaitingError, 'WaitingError');
}

export function isWaitingChildrenError(error: unknown): boolean {
  return isA(error, WaitingChildrenError, 'WaitingChildrenError');
}

export function isRateLimitError(error: unknown): boolean {
  return readThrown(error, 'message') === RATE_LIMIT_ERROR;
}

/** BullMQ's notion of a connection error: worth trying again, never a job's failure. */
export function isConnectionError(error: unknown): boolean {
  if (isA(error, ConnectionClosedError, 'ConnectionClosedError')) return true;
  const message = readThrown(error, 'message');
  if (message === CONNECTION_CLOSED_ERROR_MSG) return true;
  if (typeof message === 'string' && message.includes('ECONNREFUSED')) return true;
  const code = readThrown(error, 'code');
  return typeof code === 'string' && code.includes('ECONNREFUSED');
}
