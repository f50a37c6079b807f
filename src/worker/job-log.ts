// The lines that a worker logs about its jobs: ids, counts and durations, never data, results or tokens.

import type { Job } from '../core/job.ts';
import { classifyError, type ErrorPolicy } from '../model/error-policy.ts';
import { type BoundLogger, LogEvent, type LogFields } from '../model/logger.ts';

export class JobLog {
  readonly #log: BoundLogger;
  readonly #errorPolicy: ErrorPolicy;

  constructor(log: BoundLogger, errorPolicy: ErrorPolicy) {
    this.#log = log;
    this.#errorPolicy = errorPolicy;
  }

  pickedUp(job: Job): void {
    if (!this.#log.isSilent) this.#log.info(LogEvent.jobPickedUp, about(job));
  }

  completed(job: Job): void {
    if (this.#log.isSilent) return;
    const durationMs = (job.finishedOn ?? 0) - (job.processedOn ?? 0);
    this.#log.info(LogEvent.jobCompleted, { ...about(job), attemptsMade: job.attemptsMade, durationMs });
  }

  failed(job: Job, error: Error, willRetry: boolean): void {
    if (this.#log.isSilent) return;
    const fields = { ...about(job), attemptsMade: job.attemptsMade, reason: error.message };
    if (willRetry) this.#log.warn(LogEvent.jobRetried, { ...fields, delayMs: job.delay });
    else
      this.#log.error(LogEvent.jobFailed, { ...fields, category: classifyError(error, this.#errorPolicy) });
  }

  stalled(jobId: string): void {
    this.#log.warn(LogEvent.jobStalled, { jobId });
  }

  leaseLost(jobId: string, error: Error): void {
    this.#log.warn(LogEvent.heartbeatFailed, { jobId, reason: error.message });
  }
}

function about(job: Job): LogFields {
  return { jobId: job.id, name: job.name };
}
