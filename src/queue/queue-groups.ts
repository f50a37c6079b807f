// The groups at home in a queue.

import type { Job } from '../core/job.ts';
import { JobGroup } from '../core/job-group.ts';
import {
  type FinalGroupState,
  finalGroupStates,
  type GroupAudit,
  type GroupJobEntry,
  type GroupState,
  type GroupStateName,
  groupStates,
} from '../model/group.ts';
import { invalidOption } from '../model/options/checks.ts';
import { GroupStore } from '../store/group-store.ts';
import { QueueSchedulers } from './queue-schedulers.ts';

export interface GroupPage {
  /** Default: all states. */
  state?: GroupStateName;
  /** Default 0. */
  start?: number;
  /** Inclusive; -1 is the last. Default 99. */
  end?: number;
}

// What one call may do; a longer job is done in steps, so that the server serves others in between.
const MOST_PER_CLEAN = 100;
const MOST_PER_AUDIT = 100;

export abstract class QueueGroups<
  // biome-ignore lint/suspicious/noExplicitAny: the defaults of BullMQ's own generics.
  JobBase extends Job = Job<any, any, string>,
> extends QueueSchedulers<JobBase> {
  readonly #groups = new GroupStore(this.session, this.opts.prefix);

  /** A handle; whether there is such a group, its `getState()` says. */
  getGroup(groupId: string): JobGroup {
    return new JobGroup(this.#groups, groupId);
  }

  /** null where no group with this id is at home here. */
  getGroupState(groupId: string): Promise<GroupState | null> {
    return this.#groups.state(groupId);
  }

  /** All members, of whatever queue, in the order in which they were given. */
  getGroupJobs(groupId: string): Promise<GroupJobEntry[]> {
    return this.#groups.jobs(groupId);
  }

  /** Newest first. */
  async getGroups({ state, start = 0, end = 99 }: GroupPage = {}): Promise<GroupState[]> {
    if (state !== undefined && !groupStates.includes(state))
      throw invalidOption('state', groupStates.join(', '), state);
    return this.#groups.list(state, start, end);
  }

  getGroupCounts(): Promise<Record<GroupStateName, number>> {
    return this.#groups.counts();
  }

  /** Nothing more of the group begins, and what has completed is undone. */
  async cancelGroup(groupId: string, reason = 'cancelled'): Promise<void> {
    await this.#groups.cancel(groupId, reason);
  }

  /** For an operator who has fixed the handler: failed compensations run again; resolves to how many. */
  retryGroupCompensation(groupId: string): Promise<number> {
    return this.#groups.retryCompensation(groupId);
  }

  /** Forgets a group that has ended; its jobs stay as they are. */
  async removeGroup(groupId: string): Promise<void> {
    await this.#groups.remove(groupId);
  }

  /** Forgets up to `limit` groups (0: all) of one final state that ended more than `graceMs` ago; their ids. */
  async cleanGroups(graceMs: number, limit = 0, state: FinalGroupState = 'COMPLETED'): Promise<string[]> {
    if (!finalGroupStates.includes(state)) throw invalidOption('state', finalGroupStates.join(', '), state);
    const cutoff = Math.floor(this.session.clock.now()) - graceMs;
    const most = limit > 0 ? limit : Number.POSITIVE_INFINITY;
    const cleaned: string[] = [];
    while (cleaned.length < most) {
      const step = Math.min(MOST_PER_CLEAN, most - cleaned.length);
      const ids = await this.#groups.clean(state, cutoff, step);
      cleaned.push(...ids);
      if (ids.length < step) break;
    }
    return cleaned;
  }

  /** Compares every open group with its jobs and reports what it does not know. Workers heal it by themselves. */
  async auditGroups(): Promise<GroupAudit> {
    const audit: GroupAudit = { groups: 0, findings: [] };
    for (let first = 0; ; first += MOST_PER_AUDIT) {
      const page = await this.#groups.audit(first, first + MOST_PER_AUDIT - 1);
      audit.groups += page.groups;
      audit.findings.push(...page.findings);
      if (page.groups < MOST_PER_AUDIT) return audit;
    }
  }
}
