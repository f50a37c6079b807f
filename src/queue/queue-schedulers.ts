// Job schedulers, and v5's repeatable jobs. Those that others have made run, and can be looked at: dashboards count
// them with every page. What would change them is refused with a reason rather than with "is not a function".

import type { Job } from '../core/job.ts';
import { type YokeError, yokeError } from '../model/errors.ts';
import { type JobSchedulerJson, ScheduleStore } from '../store/schedule-store.ts';
import { QueueGetters } from './queue-getters.ts';

function notYet(name: string): YokeError {
  return yokeError('NOT_SUPPORTED_YET', { feature: `queue.${name}` });
}

export abstract class QueueSchedulers<
  // biome-ignore lint/suspicious/noExplicitAny: the defaults of BullMQ's own generics.
  JobBase extends Job = Job<any, any, string>,
> extends QueueGetters<JobBase> {
  readonly #schedules = new ScheduleStore(this.session);

  get jobScheduler(): never {
    throw notYet('jobScheduler');
  }

  get repeat(): never {
    throw notYet('repeat');
  }

  async upsertJobScheduler(_id: string, _repeat: object, _template?: object): Promise<JobBase | undefined> {
    throw notYet('upsertJobScheduler');
  }

  getJobScheduler(id: string): Promise<JobSchedulerJson | undefined> {
    return this.#schedules.get(id);
  }

  getJobSchedulers(start = 0, end = -1, asc = false): Promise<JobSchedulerJson[]> {
    return this.#schedules.list(start, end, asc);
  }

  getJobSchedulersCount(): Promise<number> {
    return this.#schedules.count();
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
