// A job's way into the queue, up to the point where it is sent.

import type { ResolvedJobOptions } from '../model/options/job-options.ts';
import { encodeJobData } from '../model/payload.ts';
import { encodeOptions } from '../store/codec.ts';
import type { NewJob } from '../store/job-store.ts';

/** Checks a job's name, data and options and encodes them; nothing has been sent yet. */
export function encodeAdd(name: string, data: unknown, options: ResolvedJobOptions): NewJob {
  const job: NewJob = {
    jobId: options.jobId,
    name,
    data: encodeJobData(name, data, options),
    opts: encodeOptions(options.stored),
    timestamp: options.timestamp === undefined ? '' : String(options.timestamp),
    delay: String(options.delayMs),
    priority: String(options.priority),
    isNext: options.lifo,
  };
  if (options.lane !== '') {
    job.lane = options.lane;
    job.order = options.orderMs === undefined ? '' : String(options.orderMs);
  }
  return job;
}
