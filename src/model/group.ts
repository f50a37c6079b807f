// What people are told of a group.

export const groupStates = ['ACTIVE', 'COMPENSATING', 'COMPLETED', 'FAILED', 'FAILED_COMPENSATION'] as const;
export type GroupStateName = (typeof groupStates)[number];

/** States in which nothing more happens. */
export const finalGroupStates = ['COMPLETED', 'FAILED', 'FAILED_COMPENSATION'] as const;
export type FinalGroupState = (typeof finalGroupStates)[number];

export function isFinalGroupState(state: string): state is FinalGroupState {
  return (finalGroupStates as readonly string[]).includes(state);
}

export interface GroupState {
  id: string;
  name: string;
  state: GroupStateName;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** When the state last changed, in ms since the epoch. */
  updatedAt: number;
  totalJobs: number;
  completedCount: number;
  failedCount: number;
  cancelledCount: number;
  /** Why it failed: the failed member's reason, `cancelled`, `timeout`, `member missing` or the reason given. */
  reason?: string;
  /** The member that failed; undefined where none did. */
  failedJobId?: string;
  /** When the group cancels itself, in ms since the epoch. */
  timeoutAt?: number;
}

export type GroupJobStatus = 'pending' | 'active' | 'completed' | 'failed' | 'cancelled';

export interface GroupCompensation {
  jobId: string;
  queueName: string;
  status: 'waiting' | 'completed' | 'failed';
  failedReason?: string;
}

export interface GroupJobEntry {
  jobId: string;
  /** `<prefix>:<queue>:<id>`. */
  jobKey: string;
  status: GroupJobStatus;
  queueName: string;
  /** What undoes it, once it has to be undone. */
  compensation?: GroupCompensation;
}

/** What an open group does not know of one of its jobs; the next maintenance tick puts it right. */
export interface GroupFinding {
  groupId: string;
  kind: 'member' | 'compensation';
  jobKey: string;
  recorded: string;
  found: 'completed' | 'failed' | 'missing';
}

export interface GroupAudit {
  /** How many open groups were compared with their jobs. */
  groups: number;
  findings: GroupFinding[];
}

/** Data of the job that undoes a member. */
// biome-ignore lint/suspicious/noExplicitAny: payloads and results are their owner's.
export interface CompensationData<Data = any, Result = any> {
  groupId: string;
  originalJobName: string;
  originalJobId: string;
  /** null for a member that failed. */
  originalReturnValue: Result;
  compensationData: Data;
}
