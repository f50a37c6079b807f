// Refusals of transactional groups. Texts marked exact are part of the API, because applications compare them.

import { rows } from './row.ts';

export const groupErrors = rows({
  GROUP_EMPTY: {
    family: 'caller',
    exact: true,
    message: () => 'Group must contain at least one job',
    hint: 'Give at least one job, or add nothing.',
  },
  GROUP_COMPENSATION_UNMATCHED: {
    family: 'caller',
    exact: true,
    message: (d) => `Compensation key "${d.key}" does not match any job name`,
    hint: 'Keys of `compensation` are names of jobs in `jobs`.',
  },
  GROUP_JOB_HAS_PARENT: {
    family: 'caller',
    exact: true,
    message: () => 'A job cannot belong to both a group and a flow',
    hint: 'Remove opts.parent, or use a flow.',
  },
  GROUP_TOO_LARGE: {
    family: 'caller',
    message: (d) => `group: expected at most ${d.most} jobs, got ${d.count}.`,
    hint: 'Split the work into several groups.',
  },
  GROUP_BYTES: {
    family: 'caller',
    message: (d) =>
      `group: expected at most ${d.most} bytes of jobs and compensations in all, got ${d.bytes}.`,
    hint: 'Store large data elsewhere and pass references to it.',
  },
  GROUP_JOB_TIED: {
    family: 'caller',
    message: (d) => `group: expected job "${d.job}" without opts.${d.option}, got it.`,
    hint: 'A member of a group may have a lane, but cannot be tied to anything else.',
  },
  GROUP_ON_COMPENSATION_QUEUE: {
    family: 'caller',
    message: (d) => `group: expected an ordinary queue, got "${d.queue}".`,
    hint: 'Compensation queues hold the jobs that undo; put the member on a queue of its own.',
  },
  GROUP_OPTION_RESERVED: {
    family: 'caller',
    message: () => 'opts.group: expected nothing, got a value.',
    hint: 'Jobs become members by FlowProducer.addGroup(), all at once.',
  },
  GROUP_JOB_TAKEN: {
    family: 'state',
    message: (d) => `group: expected new job ids, got one that exists or appears twice (${d.jobKey}).`,
    hint: 'Nothing was added. Leave out jobId, or choose ids that are free.',
  },
  GROUP_SPANS_SLOTS: {
    family: 'caller',
    message: (d) => `group: expected queues in one hash slot of the cluster, got ${d.queues}.`,
    hint: 'Give the queues a common tag, as in {shop}-payments and {shop}-inventory.',
  },
  GROUP_NOT_FOUND: {
    family: 'state',
    message: (d) => `Group ${d.groupId}: expected it at home in ${d.queue}, found none.`,
    hint: "Ask the group's home: the queue of its first job, or the queueName given to addGroup.",
  },
  GROUP_CANCEL_COMPLETED: {
    family: 'state',
    exact: true,
    message: () => 'Cannot cancel a completed group',
    hint: 'All its jobs have completed; undo them by jobs of your own.',
  },
  GROUP_CANCEL_STATE: {
    family: 'state',
    exact: true,
    message: (d) => `Cannot cancel group in state ${d.state}`,
    hint: 'It has failed already and is being undone, or has been.',
  },
  GROUP_NOT_TERMINAL: {
    family: 'state',
    message: (d) => `Group ${d.groupId}: expected a final state, got ${d.state}.`,
    hint: 'Cancel the group and wait until it has been undone.',
  },
  GROUP_NOT_FAILED_COMPENSATION: {
    family: 'state',
    message: (d) => `Group ${d.groupId}: expected state FAILED_COMPENSATION, got ${d.state}.`,
    hint: 'Only compensations that have failed can be tried again.',
  },
  GROUP_WAIT_TIMEOUT: {
    family: 'state',
    message: (d) => `Group ${d.groupId}: expected a final state within ${d.timeoutMs} ms, got none.`,
    hint: 'Raise the time limit, or check that workers run on every queue and compensation queue.',
  },
  JOB_IN_GROUP: {
    family: 'state',
    message: (d) => `Job ${d.jobId} is a member of a group and cannot be changed alone (${d.command}).`,
    hint: "Cancel the group instead: queue.cancelGroup(id). A member's outcome stands.",
  },
  JOB_IS_COMPENSATION: {
    family: 'state',
    message: (d) => `Job ${d.jobId} undoes a member of a group and cannot be changed alone (${d.command}).`,
    hint: 'Wait until it has settled; a failed one is tried again by queue.retryGroupCompensation(id).',
  },
  QUEUE_HAS_OPEN_GROUPS: {
    family: 'state',
    message: (d) => `Queue "${d.queue}": expected no open groups, found some.`,
    hint: 'Wait for them, or pass force: true: they are cancelled and what they did is undone.',
  },
});
