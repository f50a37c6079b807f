// A group, as people hold it in their hands: its state, its jobs, and what may be done with it.

import { ConnectionClosedError, yokeError } from '../model/errors.ts';
import { type GroupJobEntry, type GroupState, isFinalGroupState } from '../model/group.ts';
import type { GroupStore } from '../store/group-store.ts';
import type { Listener } from './job-host.ts';

/** A QueueEvents of the group's home. */
export interface GroupEvents {
  on(event: string, listener: Listener): unknown;
  off(event: string, listener: Listener): unknown;
  waitUntilReady(): Promise<unknown>;
}

const FINAL_EVENTS = ['group:completed', 'group:failed'] as const;

export class JobGroup {
  readonly id: string;
  readonly #store: GroupStore;

  /** @internal By `queue.getGroup()`, `job.getGroup()` or `addGroup()`. */
  constructor(store: GroupStore, id: string) {
    this.#store = store;
    this.id = id;
  }

  /** The key root of the queue that keeps the group. */
  get home(): string {
    return this.#store.home;
  }

  /** null where the group is gone, or never was. */
  getState(): Promise<GroupState | null> {
    return this.#store.state(this.id);
  }

  getJobs(): Promise<GroupJobEntry[]> {
    return this.#store.jobs(this.id);
  }

  /** Nothing more begins, what has completed is undone. */
  cancel(reason = 'cancelled'): Promise<void> {
    return this.#store.cancel(this.id, reason);
  }

  /** Failed compensations run again; resolves to how many. */
  retryCompensation(): Promise<number> {
    return this.#store.retryCompensation(this.id);
  }

  /** Forgets a group that has ended; its jobs stay as they are. */
  remove(): Promise<void> {
    return this.#store.remove(this.id);
  }

  /** Resolves to the final state, whichever it is; rejects after `ttl` ms, or where there is no such group. */
  async waitUntilFinished(queueEvents: GroupEvents, ttl?: number): Promise<GroupState> {
    await queueEvents.waitUntilReady();
    let timer: NodeJS.Timeout | undefined;
    let onFinal: Listener = () => {};
    let onClosing: Listener = () => {};
    const ended = new Promise<string>((resolve, reject) => {
      onFinal = (args: { groupId: string; state?: string }) => {
        if (args.groupId === this.id) resolve(args.state ?? 'COMPLETED');
      };
      onClosing = () => reject(new ConnectionClosedError());
      if (ttl)
        timer = setTimeout(() => {
          reject(yokeError('GROUP_WAIT_TIMEOUT', { groupId: this.id, timeoutMs: ttl }));
        }, ttl);
    });
    ended.catch(() => {});
    // Listens first and looks afterwards, so that an end in between is not missed.
    for (const event of FINAL_EVENTS) queueEvents.on(event, onFinal);
    queueEvents.on('closing', onClosing);
    try {
      const now = await this.getState();
      if (!now) throw yokeError('GROUP_NOT_FOUND', { groupId: this.id, queue: this.home });
      if (isFinalGroupState(now.state)) return now;
      const state = (await ended) as GroupState['state'];
      // Retention may have taken it since.
      return (await this.getState()) ?? { ...now, state };
    } finally {
      clearTimeout(timer);
      for (const event of FINAL_EVENTS) queueEvents.off(event, onFinal);
      queueEvents.off('closing', onClosing);
    }
  }
}
