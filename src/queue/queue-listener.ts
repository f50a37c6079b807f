// The events of a Queue object: what this object did, not what happens in the queue (that is QueueEvents).

import type { Job } from '../core/job.ts';
import type { JobProgress } from '../model/payload.ts';

export interface QueueListener<JobBase extends Job = Job> {
  /** Once per step of `clean`; `type` is the state, `wait` for waiting jobs. */
  cleaned: (jobIds: string[], type: string) => void;
  error: (error: Error) => void;
  paused: () => void;
  /** Through a Job of this queue the first argument is that Job; BullMQ's type for it is kept. */
  progress: (jobId: string, progress: JobProgress) => void;
  /** Through a Job of this queue the argument is that Job; BullMQ's type for it is kept. */
  removed: (jobId: string) => void;
  resumed: () => void;
  /** A job was added. */
  waiting: (job: JobBase) => void;
  closing: () => void;
  /** The connection was lost; it is being restored. */
  'ioredis:close': () => void;
}
