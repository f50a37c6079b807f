// The refusals BullMQ numbers −1 to −11. Texts and numbers are part of its public API.

import { rows } from './row.ts';

export const scriptCodeErrors = rows({
  JOB_NOT_EXIST: {
    family: 'state',
    code: -1,
    exact: true,
    message: (d) => `Missing key for job ${d.jobId}. ${d.command}`,
    hint: 'The job was removed, by retention or by hand; check removeOnComplete and removeOnFail.',
  },
  JOB_LOCK_NOT_EXIST: {
    family: 'state',
    code: -2,
    exact: true,
    message: (d) => `Missing lock for job ${d.jobId}. ${d.command}`,
    hint: 'The lease ran out before the job finished; raise lockDuration or keep the event loop free.',
  },
  JOB_NOT_IN_STATE: {
    family: 'state',
    code: -3,
    exact: true,
    message: (d) => `Job ${d.jobId} is not in the ${d.state} state. ${d.command}`,
    hint: 'Read the state with job.getState() first; another client may have moved the job.',
  },
  JOB_PENDING_CHILDREN: {
    family: 'state',
    code: -4,
    exact: true,
    message: (d) => `Job ${d.jobId} has pending dependencies. ${d.command}`,
    hint: 'Wait for the children: job.moveToWaitingChildren(), then throw WaitingChildrenError.',
  },
  PARENT_JOB_NOT_EXIST: {
    family: 'state',
    code: -5,
    exact: true,
    message: (d) => `Missing key for parent job ${d.parentKey}. ${d.command}`,
    hint: 'Add the parent before its children, or keep it until they are added.',
  },
  JOB_LOCK_MISMATCH: {
    family: 'state',
    code: -6,
    exact: true,
    message: (d) => `Lock mismatch for job ${d.jobId}. Cmd ${d.command} from ${d.state}`,
    hint: 'Another worker has the job now; this run lost its lease and its outcome is not stored.',
  },
  PARENT_JOB_CANNOT_BE_REPLACED: {
    family: 'state',
    code: -7,
    exact: true,
    message: (d) => `The parent job ${d.parentKey} cannot be replaced. ${d.command}`,
    hint: 'A job with this id already belongs to another parent; use another jobId.',
  },
  JOB_BELONGS_TO_JOB_SCHEDULER: {
    family: 'state',
    code: -8,
    exact: true,
    message: (d) => `Job ${d.jobId} belongs to a job scheduler and cannot be removed directly. ${d.command}`,
    hint: 'Remove its scheduler instead, with the removeJobScheduler(id) of the BullMQ queue that made it.',
  },
  JOB_HAS_FAILED_CHILDREN: {
    family: 'state',
    code: -9,
    exact: true,
    message: (d) => `Cannot complete job ${d.jobId} because it has at least one failed child. ${d.command}`,
    hint: 'The job fails without further attempts; retry the failed child first.',
  },
  SCHEDULER_JOB_ID_COLLISION: {
    family: 'state',
    code: -10,
    exact: true,
    message: (d) => `Cannot create job scheduler iteration - job ID already exists. ${d.command}`,
    hint: 'Remove the job that has the id of the next iteration.',
  },
  SCHEDULER_JOB_SLOTS_BUSY: {
    family: 'state',
    code: -11,
    exact: true,
    message: (d) =>
      `Cannot create job scheduler iteration - current and next time slots already have jobs. ${d.command}`,
    hint: 'Remove the jobs in those slots, or wait until they have run.',
  },
  UNKNOWN_SCRIPT_CODE: {
    family: 'state',
    exact: true,
    message: (d) => `Unknown code ${d.code} error for ${d.jobId}. ${d.command}`,
    hint: 'Client and server code disagree; report it with both versions.',
  },
});
