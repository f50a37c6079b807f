// Every error of the library: the catalogue, the classes built from it, and BullMQ's control errors.

export { type ErrorKey, errorCatalogue } from './errors/catalogue.ts';
export {
  CONNECTION_CLOSED_ERROR_MSG,
  ConnectionClosedError,
  DELAYED_ERROR,
  DelayedError,
  PermanentError,
  RATE_LIMIT_ERROR,
  RateLimitError,
  TransientError,
  UNRECOVERABLE_ERROR,
  UnrecoverableError,
  WAITING_CHILDREN_ERROR,
  WAITING_ERROR,
  WaitingChildrenError,
  WaitingError,
} from './errors/control.ts';
export { describeGiven } from './errors/describe.ts';
export {
  isConnectionError,
  isDelayedError,
  isInstance,
  isRateLimitError,
  isTransientError,
  isUnrecoverable,
  isWaitingChildrenError,
  isWaitingError,
  readThrown,
} from './errors/recognise.ts';
export type { CatalogueRow, ErrorDetails, ErrorFamily } from './errors/row.ts';
export {
  BulkAddError,
  type CauseOption,
  GroupNotFoundError,
  InvalidGroupStateError,
  OutcomeUnknownError,
  type RefusedJob,
  scriptCodeError,
  YokeError,
  yokeError,
} from './errors/yoke-error.ts';
