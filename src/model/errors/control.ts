// Errors a processor throws to tell the worker what to do next. Names, texts and constants are BullMQ's, so that
// code moved from there keeps working, and so do errors that lost their class on the way from another process.

export const UNRECOVERABLE_ERROR = 'bullmq:unrecoverable';
export const DELAYED_ERROR = 'bullmq:movedToDelayed';
export const WAITING_ERROR = 'bullmq:movedToWait';
export const WAITING_CHILDREN_ERROR = 'bullmq:movedToWaitingChildren';
export const RATE_LIMIT_ERROR = 'bullmq:rateLimitExceeded';
export const CONNECTION_CLOSED_ERROR_MSG = 'Connection is closed.';

/**
 * A subclass is named after itself, as in BullMQ. Our own classes spell their name out, because a bundler may
 * shorten class names and recognition across processes goes by name.
 */
function nameOf(target: Function, base: Function, name: string): string {
  return target === base ? name : target.name;
}

/** Fails the job at once, whatever attempts are left. `PermanentError` is this same class. */
export class UnrecoverableError extends Error {
  constructor(message: string = UNRECOVERABLE_ERROR, options?: ErrorOptions) {
    super(message, options);
    this.name = nameOf(new.target, UnrecoverableError, 'UnrecoverableError');
  }
}

/** The same class object as `UnrecoverableError`, under the name that says what it means. */
export const PermanentError = UnrecoverableError;
export type PermanentError = UnrecoverableError;

/** Retries while attempts are left, also under an error policy that would call it permanent. */
export class TransientError extends Error {
  constructor(message?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = nameOf(new.target, TransientError, 'TransientError');
  }
}

/** The processor has moved its job to delayed; the worker leaves it there. */
export class DelayedError extends Error {
  constructor(message: string = DELAYED_ERROR) {
    super(message);
    this.name = nameOf(new.target, DelayedError, 'DelayedError');
  }
}

/** The processor has moved its job back to waiting; the worker leaves it there. */
export class WaitingError extends Error {
  constructor(message: string = WAITING_ERROR) {
    super(message);
    this.name = nameOf(new.target, WaitingError, 'WaitingError');
  }
}

/** The processor has moved its job to waiting for its children; the worker leaves it there. */
export class WaitingChildrenError extends Error {
  constructor(message: string = WAITING_CHILDREN_ERROR) {
    super(message);
    this.name = nameOf(new.target, WaitingChildrenError, 'WaitingChildrenError');
  }
}

/** The rate limit is used up: the job goes back to waiting and no attempt is charged. */
export class RateLimitError extends Error {
  constructor(message: string = RATE_LIMIT_ERROR) {
    super(message);
    this.name = nameOf(new.target, RateLimitError, 'RateLimitError');
  }
}

/** The connection was closed before or during a command. Never a job's failure. */
export class ConnectionClosedError extends Error {
  constructor(message: string = CONNECTION_CLOSED_ERROR_MSG, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = nameOf(new.target, ConnectionClosedError, 'ConnectionClosedError');
  }
}
