// Names under which BullMQ reports traces and metrics; kept so that dashboards built on them keep working.

export const SpanKind = { INTERNAL: 0, SERVER: 1, CLIENT: 2, PRODUCER: 3, CONSUMER: 4 } as const;
export type SpanKind = (typeof SpanKind)[keyof typeof SpanKind];

export const MetricNames = {
  QueueJobsCount: 'bullmq.queue.jobs',
  JobsCompleted: 'bullmq.jobs.completed',
  JobsFailed: 'bullmq.jobs.failed',
  JobsDelayed: 'bullmq.jobs.delayed',
  JobsRetried: 'bullmq.jobs.retried',
  JobsWaiting: 'bullmq.jobs.waiting',
  JobsWaitingChildren: 'bullmq.jobs.waiting_children',
  JobDuration: 'bullmq.job.duration',
} as const;
export type MetricNames = (typeof MetricNames)[keyof typeof MetricNames];

export const TelemetryAttributes = {
  QueueName: 'bullmq.queue.name',
  QueueOperation: 'bullmq.queue.operation',
  BulkCount: 'bullmq.job.bulk.count',
  BulkNames: 'bullmq.job.bulk.names',
  JobName: 'bullmq.job.name',
  JobId: 'bullmq.job.id',
  JobKey: 'bullmq.job.key',
  JobIds: 'bullmq.job.ids',
  JobAttemptsMade: 'bullmq.job.attempts.made',
  DeduplicationKey: 'bullmq.job.deduplication.key',
  JobOptions: 'bullmq.job.options',
  JobProgress: 'bullmq.job.progress',
  QueueDrainDelay: 'bullmq.queue.drain.delay',
  QueueGrace: 'bullmq.queue.grace',
  QueueCleanLimit: 'bullmq.queue.clean.limit',
  QueueCleanCount: 'bullmq.queue.clean.count',
  QueueRateLimit: 'bullmq.queue.rate.limit',
  JobType: 'bullmq.job.type',
  QueueOptions: 'bullmq.queue.options',
  QueueEventMaxLength: 'bullmq.queue.event.max.length',
  QueueJobsState: 'bullmq.queue.jobs.state',
  WorkerOptions: 'bullmq.worker.options',
  WorkerName: 'bullmq.worker.name',
  WorkerId: 'bullmq.worker.id',
  WorkerRateLimit: 'bullmq.worker.rate.limit',
  WorkerDoNotWaitActive: 'bullmq.worker.do.not.wait.active',
  WorkerForceClose: 'bullmq.worker.force.close',
  WorkerStalledJobs: 'bullmq.worker.stalled.jobs',
  WorkerFailedJobs: 'bullmq.worker.failed.jobs',
  WorkerJobsToExtendLocks: 'bullmq.worker.jobs.to.extend.locks',
  JobAttemptFinishedTimestamp: 'bullmq.job.attempt_finished_timestamp',
  JobProcessedTimestamp: 'bullmq.job.processed.timestamp',
  JobResult: 'bullmq.job.result',
  JobFailedReason: 'bullmq.job.failed.reason',
  FlowName: 'bullmq.flow.name',
  JobSchedulerId: 'bullmq.job.scheduler.id',
  JobState: 'bullmq.job.state',
} as const;
export type TelemetryAttributes = (typeof TelemetryAttributes)[keyof typeof TelemetryAttributes];
