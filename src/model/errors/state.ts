// The state said no: the call was right, but the queue or the job is not where it would have to be.

import { rows } from './row.ts';

export const stateErrors = rows({
  JOB_LOCKED: {
    family: 'state',
    exact: true,
    message: (d) => `Job ${d.jobId} could not be removed because it is locked by another worker`,
    hint: 'Wait until the job has finished, or cancel it in its worker.',
  },
  LEASE_LOST: {
    family: 'state',
    exact: true,
    message: (d) => `could not renew lock for job ${d.jobId}`,
    hint: 'The job may already run elsewhere; stop its work and store nothing more.',
  },
  JOB_WAIT_TIMEOUT: {
    family: 'state',
    exact: true,
    message: (d) =>
      `Job wait ${d.name} timed out before finishing, no finish notification arrived after ${d.timeoutMs}ms (id=${d.jobId})`,
    hint: 'Raise the time limit, or check that a worker is running.',
  },
  QUEUE_NOT_PAUSED: {
    family: 'state',
    exact: true,
    message: () => 'Cannot obliterate non-paused queue',
    hint: 'Another client resumed the queue meanwhile; pause it and try again.',
  },
  QUEUE_HAS_ACTIVE_JOBS: {
    family: 'state',
    exact: true,
    message: () => 'Cannot obliterate queue with active jobs',
    hint: 'Wait for the running jobs, or pass force: true.',
  },
  SHUTDOWN_ABORT: {
    family: 'state',
    message: (d) => `Job ${d.jobId} was still running ${d.timeoutMs} ms after its worker began to close.`,
    hint: 'The job goes back to the queue with no attempt charged; raise shutdownTimeout or react to the signal.',
  },
  POISONED_RECORD: {
    family: 'state',
    message: (d) => `Job ${d.jobId}: expected ${d.expected} in its record, got ${d.given}.`,
    hint: 'Another program wrote to this key; the job fails, the worker goes on.',
  },
  PARTLY_REFUSED: {
    family: 'state',
    message: (d) =>
      `addBulk: expected to add ${d.total} jobs, ${d.refusedCount} refused (the first: ${d.first}).`,
    hint: 'The others are in the queue: error.added has their ids, error.refused the index and error of the rest.',
  },
});
