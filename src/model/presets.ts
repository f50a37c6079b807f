// Ready-made job options for people who would rather retry than lose a job. BullMQ's own default is one attempt.

import type { DefaultJobOptions } from './options/job-option-types.ts';

/**
 * Three attempts, one second apart and doubling, up to a fifth of each delay random so that a batch which failed
 * together does not come back together, never more than an hour, and at most a thousand log rows per job.
 */
export const reliableDefaults = Object.freeze({
  attempts: 3,
  backoff: Object.freeze({ type: 'exponential', delay: 1000, jitter: 0.2, maxDelay: 3_600_000 }),
  keepLogs: 1000,
}) satisfies Readonly<DefaultJobOptions>;
