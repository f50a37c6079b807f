// The events of a queue's stream and what their listeners get. `id` is the stream entry's id.

import type { JobProgress } from '../model/payload.ts';

export interface GroupCompensationResult {
  /** Of the compensation. */
  jobId: string;
  /** Key of the member that it undoes. */
  originalJobKey: string;
  status: 'completed' | 'failed';
  failedReason?: string;
}

type Told<Args> = (args: Args, id: string) => void;

// biome-ignore lint/suspicious/noExplicitAny: as in BullMQ, the result's type is the user's business.
export interface QueueEventsListener<ReturnType = any> {
  added: Told<{ jobId: string; name: string }>;
  /** `lane` where the job comes into one. */
  waiting: Told<{ jobId: string; prev?: string; lane?: string }>;
  'waiting-children': Told<{ jobId: string; prev?: string }>;
  /** `delay` is the time at which the job is due, in ms since the epoch. */
  delayed: Told<{ jobId: string; delay: number }>;
  active: Told<{ jobId: string; prev?: string }>;
  progress: Told<{ jobId: string; data: JobProgress }>;
  completed: Told<{ jobId: string; returnvalue: ReturnType; prev?: string }>;
  failed: Told<{ jobId: string; failedReason: string; prev?: string }>;
  /** On the stream of the group's home, as all events of groups. */
  'group:completed': Told<{ groupId: string; groupName: string }>;
  /** `failedJobId` is empty where no member failed: the group was cancelled, timed out or lost a member. */
  'group:compensating': Told<{ groupId: string; groupName: string; failedJobId: string; reason: string }>;
  'group:failed': Told<{
    groupId: string;
    groupName: string;
    state: 'FAILED' | 'FAILED_COMPENSATION';
    compensationResults: GroupCompensationResult[];
  }>;
  /** Compensations that had failed were tried again and succeeded: the group is FAILED now. */
  'group:recovered': Told<{ groupId: string; groupName: string }>;
  'retries-exhausted': Told<{ jobId: string; attemptsMade: string }>;
  stalled: Told<{ jobId: string }>;
  removed: Told<{ jobId: string; prev: string }>;
  duplicated: Told<{ jobId: string }>;
  /** `jobId` survives, `deduplicatedJobId` does not. */
  deduplicated: Told<{ jobId: string; deduplicationId: string; deduplicatedJobId: string }>;
  cleaned: Told<{ count: string }>;
  drained: (id: string) => void;
  paused: Told<object>;
  resumed: Told<object>;
  error: (error: Error) => void;
  'ioredis:close': () => void;
}
