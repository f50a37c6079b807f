// A job's way into the queue: what is sent, and what the answer makes of it.

import type { ResolvedJobOptions } from '../model/options/job-options.ts';
import { encodeJobData } from '../model/payload.ts';
import { encodeOptions } from '../store/codec.ts';
import type { NewJob } from '../store/job-store.ts';
import type { Job } from './job.ts';

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

/** The server decides on ids, and on the time of creation unless the caller has. */
export function placeJob(job: Job, arg: NewJob, id: string, at: number): void {
  job.id = id;
  if (arg.timestamp === '') job.timestamp = at;
  if (arg.lane === undefined) return;
  job.lane = arg.lane;
  job.orderMs = arg.order ? Number(arg.order) : at;
}
