export type { BackendView } from './core/backend-view.ts';
export { Job, type RetryOptions } from './core/job.ts';
export type {
  Dependencies,
  DependenciesOpts,
  DependencyPage as DependencyOpts,
} from './core/job-children.ts';
export type { MoveToWaitingChildrenOpts } from './core/job-finishing.ts';
export { type GroupEvents, JobGroup } from './core/job-group.ts';
export type { JobHost as MinimalQueue } from './core/job-host.ts';
export type {
  JobJson,
  JobJsonSandbox,
  ParentReference,
  ParentReference as ParentKeys,
} from './core/job-json.ts';
export type { NextJobData } from './core/next-job.ts';
export { QueueBase } from './core/queue-base.ts';
export type { GroupCompensationResult, QueueEventsListener } from './events/event-types.ts';
export { QueueEvents } from './events/queue-events.ts';
export { QueueEventsProducer } from './events/queue-events-producer.ts';
export {
  FlowProducer,
  type FlowProducerListener,
  type FlowProducerOptions,
  type GroupNode,
} from './flow/flow-producer.ts';
export { type BackoffOptions, type BackoffStrategy, Backoffs } from './model/backoff.ts';
export {
  array2obj,
  decreaseMaxListeners,
  delay,
  errorToJSON,
  getParentKey,
  increaseMaxListeners,
  invertObject,
  isEmpty,
  lengthInUtf8Bytes,
  objectToFlatArray,
  randomUUID,
  removeUndefinedFields,
} from './model/bullmq-functions.ts';
export {
  ClientType,
  DELAY_TIME_1,
  DELAY_TIME_5,
  ErrorCode,
  MetricNames,
  MetricsTime,
  PRIORITY_LIMIT,
  QUEUE_EVENT_SUFFIX,
  SpanKind,
  TelemetryAttributes,
} from './model/constants.ts';
export type { ErrorPolicy } from './model/error-policy.ts';
export {
  BulkAddError,
  CONNECTION_CLOSED_ERROR_MSG,
  ConnectionClosedError,
  DELAYED_ERROR,
  DelayedError,
  type ErrorKey,
  errorCatalogue,
  GroupNotFoundError,
  InvalidGroupStateError,
  OutcomeUnknownError,
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
  YokeError,
} from './model/errors.ts';
export type {
  CompensationData,
  FinalGroupState,
  GroupAudit,
  GroupCompensation,
  GroupFinding,
  GroupJobEntry,
  GroupJobStatus,
  GroupState,
  GroupStateName,
} from './model/group.ts';
export type { Logger } from './model/logger.ts';
export type { BaseOptions as QueueBaseOptions, ConnectionOptions } from './model/options/base-options.ts';
export type {
  CompensationJobDefinition,
  GroupJobDefinition,
  GroupOptions,
} from './model/options/group-options.ts';
export type {
  BaseJobOptions,
  BulkJobOptions,
  DeduplicationOptions,
  DefaultJobOptions,
  JobsOptions,
  ParentOptions,
} from './model/options/job-options.ts';
export type { KeepJobs } from './model/options/keep-jobs.ts';
export type { QueueEventsOptions } from './model/options/queue-events-options.ts';
export type { QueueOptions, RepeatStrategy } from './model/options/queue-options.ts';
export type { RateLimiterOptions, WorkerOptions } from './model/options/worker-options.ts';
export type { JobProgress } from './model/payload.ts';
export { reliableDefaults } from './model/presets.ts';
export type { StandardSchemaV1 } from './model/schema.ts';
export type { FinishedStatus, JobState, JobType } from './model/states.ts';
export { version } from './model/version.ts';
export type { DependencyItem, DependencyPageResult } from './queue/dependency-page.ts';
export { type CleanType, type ObliterateOpts, Queue } from './queue/queue.ts';
export {
  type MetricsData,
  type MetricsData as Metrics,
  QueueGetters,
  type QueueMeta,
} from './queue/queue-getters.ts';
export type { GroupPage } from './queue/queue-groups.ts';
export type { QueueListener } from './queue/queue-listener.ts';
export type { RedisClient } from './store/client.ts';
export {
  isNotConnectionError,
  isRedisCluster,
  isRedisInstance,
  isRedisVersionLowerThan,
  removeAllQueueData,
} from './store/client-functions.ts';
export type { ClusterOptions, RedisOptions } from './store/connection.ts';
export type { LaneAudit, LaneFinding, LaneInfo } from './store/lane-store.ts';
export { type KeysMap, QueueKeys } from './store/queue-keys.ts';
export type { JobSchedulerJson } from './store/schedule-store.ts';
export type { Processor } from './worker/executor.ts';
export { type GetNextJobOptions, Worker, type WorkerHealth } from './worker/worker.ts';
export type { WorkerListener } from './worker/worker-listener.ts';
