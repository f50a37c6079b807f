// BullMQ's exported constants. Its enums are plain objects here with a type of the same name: they read the same
// at the place of use.

export const ErrorCode = {
  JobNotExist: -1,
  JobLockNotExist: -2,
  JobNotInState: -3,
  JobPendingChildren: -4,
  ParentJobNotExist: -5,
  JobLockMismatch: -6,
  ParentJobCannotBeReplaced: -7,
  JobBelongsToJobScheduler: -8,
  JobHasFailedChildren: -9,
  SchedulerJobIdCollision: -10,
  SchedulerJobSlotsBusy: -11,
} as const;
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** Minutes. */
export const MetricsTime = {
  ONE_MINUTE: 1,
  FIVE_MINUTES: 5,
  FIFTEEN_MINUTES: 15,
  THIRTY_MINUTES: 30,
  ONE_HOUR: 60,
  ONE_WEEK: 10_080,
  TWO_WEEKS: 20_160,
  // Four times two weeks: BullMQ's number, wrong as it is.
  ONE_MONTH: 80_640,
} as const;
export type MetricsTime = (typeof MetricsTime)[keyof typeof MetricsTime];

export const ClientType = { blocking: 'blocking', normal: 'normal' } as const;
export type ClientType = (typeof ClientType)[keyof typeof ClientType];

/** 2^21 − 1: with the insertion counter below it, a priority still fits exactly into a sorted-set score. */
export const PRIORITY_LIMIT = 2_097_151;

/** Ending of the client name of a QueueEvents connection. */
export const QUEUE_EVENT_SUFFIX = ':qe';

/** Milliseconds. */
export const DELAY_TIME_5 = 5000;
/** Milliseconds. */
export const DELAY_TIME_1 = 100;

export { MetricNames, SpanKind, TelemetryAttributes } from './telemetry-names.ts';
