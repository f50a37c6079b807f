// The error class of this library and the one way to build it: from a row of the catalogue.

import { type ErrorKey, errorCatalogue } from './catalogue.ts';
import type { ErrorDetails } from './row.ts';

export interface CauseOption {
  readonly cause?: unknown;
}

/** Anything this library refuses or reports. Tell errors apart by `code` or `key`, not by their text. */
export class YokeError extends Error {
  readonly key: ErrorKey;
  /** The key, or BullMQ's number for the eleven refusals that have one. */
  readonly code: string | number;
  readonly details: ErrorDetails;
  /** What to do, in one sentence. */
  readonly hint: string | undefined;

  constructor(key: ErrorKey, details: ErrorDetails = {}, options?: CauseOption) {
    const row = errorCatalogue[key];
    const text = row.message(details);
    super(row.exact || !row.hint ? text : `${text} ${row.hint}`, options);
    this.name = 'YokeError';
    this.key = key;
    this.code = row.code ?? key;
    this.details = details;
    this.hint = row.hint;
  }
}

/** A call was sent and its reply never came: it may have run or not. */
export class OutcomeUnknownError extends YokeError {
  constructor(details: ErrorDetails = {}, options?: CauseOption) {
    super('OUTCOME_UNKNOWN', details, options);
    this.name = 'OutcomeUnknownError';
  }
}

export class GroupNotFoundError extends YokeError {
  constructor(details: ErrorDetails = {}, options?: CauseOption) {
    super('GROUP_NOT_FOUND', details, options);
    this.name = 'GroupNotFoundError';
  }
}

/** The group is in a state in which this cannot be done. */
export class InvalidGroupStateError extends YokeError {
  constructor(key: ErrorKey, details: ErrorDetails = {}, options?: CauseOption) {
    super(key, details, options);
    this.name = 'InvalidGroupStateError';
  }
}

const groupStateKeys: ReadonlySet<ErrorKey> = new Set([
  'GROUP_CANCEL_COMPLETED',
  'GROUP_CANCEL_STATE',
  'GROUP_NOT_TERMINAL',
  'GROUP_NOT_FAILED_COMPENSATION',
]);

export interface RefusedJob {
  /** Position in the array given to addBulk. */
  readonly index: number;
  readonly error: Error;
}

/**
 * Some jobs of an addBulk were refused; the others are in the queue. The first refusal is the `cause`, and `details` says
 * how many there are. Its lists are getters, so that Node does not print them with it: of a thousand jobs that are refused
 * for one reason it would print that reason a hundred times.
 */
export class BulkAddError extends YokeError {
  readonly #added: string[];
  readonly #refused: RefusedJob[];

  constructor(added: string[], refused: RefusedJob[]) {
    const first = refused[0]?.error;
    const details = {
      total: added.length + refused.length,
      refusedCount: refused.length,
      first: first?.message,
    };
    super('PARTLY_REFUSED', details, { cause: first });
    this.name = 'BulkAddError';
    this.#added = added;
    this.#refused = refused;
  }

  /** Ids of the jobs that were added, in the order given. */
  get added(): string[] {
    return this.#added;
  }

  get refused(): RefusedJob[] {
    return this.#refused;
  }
}

/** Builds the error of a catalogue row, in the class that belongs to it. */
export function yokeError(key: ErrorKey, details: ErrorDetails = {}, options?: CauseOption): YokeError {
  const error = build(key, details, options);
  // The stack should start where the refusal was decided, not here.
  Error.captureStackTrace(error, yokeError);
  return error;
}

function build(key: ErrorKey, details: ErrorDetails, options?: CauseOption): YokeError {
  if (key === 'GROUP_NOT_FOUND') return new GroupNotFoundError(details, options);
  if (groupStateKeys.has(key)) return new InvalidGroupStateError(key, details, options);
  if (key === 'OUTCOME_UNKNOWN') return new OutcomeUnknownError(details, options);
  if (key === 'PARTLY_REFUSED') {
    return new BulkAddError((details.added ?? []) as string[], (details.refused ?? []) as RefusedJob[]);
  }
  const error = new YokeError(key, details, options);
  // BullMQ throws this one as UnrecoverableError, and workers of both libraries recognise that by name.
  if (key === 'JOB_HAS_FAILED_CHILDREN') error.name = 'UnrecoverableError';
  return error;
}

const keysByScriptCode = new Map(
  (Object.keys(errorCatalogue) as ErrorKey[])
    .filter((key) => errorCatalogue[key].code !== undefined)
    .map((key) => [errorCatalogue[key].code as number, key]),
);

/** The error for one of BullMQ's negative reply codes; details as in `{ jobId, command, state, parentKey }`. */
export function scriptCodeError(code: number, details: ErrorDetails): YokeError {
  const key = keysByScriptCode.get(code);
  return key ? yokeError(key, details) : yokeError('UNKNOWN_SCRIPT_CODE', { ...details, code });
}
