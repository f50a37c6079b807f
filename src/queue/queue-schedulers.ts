// Job schedulers, and v5's repeatable jobs. Their names are here so that a call is refused with a reason rather than
// with "is not a function"; iterations that others have scheduled run.

import type { Job } from '../core/job.ts';
import { type YokeError, yokeError } from '../model/errors.ts';
import { QueueGetters } from './queue-getters.ts';

function notYet(name: string): YokeError {
  return yokeError('NOT_SUPPORTED_YET', { feature: `queue.${name}` });
}

// biome-ignore lint/suspicious/noExplicitAny: the defaults of BullMQ's own generics.
export abstract class QueueSchedulers<
  JobBase extends Job = Job<any, any, string>,
> extends QueueGetters<JobBase> {
  get jobScheduler(): never {
    throw notYet('jobScheduler');
  }

  get repeat(): never {
    throw notYet('repeat');
  }

  async upsertJobScheduler(_id: string, _repeat: object, _template?: object): Promise<JobBase | undefined> {
    throw notYet('upsertJobScheduler');
  }

  async getJobScheduler(_id: string): Promise<object | undefined> {
    throw notYet('getJobScheduler');
  }

  async getJobSchedulers(_start?: number, _end?: number, _asc?: boolean): Promise<object[]> {
    throw notYet('getJobSchedulers');
  }

  async getJobSchedulersCount(): Promise<number> {
    throw notYet('getJobSchedulersCount');
  }

  async removeJobScheduler(_id: string): Promise<boolean> {
    throw notYet('removeJobScheduler');
  }

  async getRepeatableJobs(_start?: number, _end?: number, _asc?: boolean): Promise<object[]> {
    throw notYet('getRepeatableJobs');
  }

  async removeRepeatable(_name: string, _repeat: object, _jobId?: string): Promise<boolean> {
    throw notYet('removeRepeatable');
  }

  async removeRepeatableByKey(_key: string): Promise<boolean> {
    throw notYet('removeRepeatableByKey');
  }
}
