// The lanes of a queue: look at them, stop and resume them, empty them.

import type { Job } from '../core/job.ts';
import { assertLane } from '../model/names.ts';
import { readLaneConcurrency } from '../model/options/queue-options.ts';
import { type LaneAudit, type LaneInfo, LaneStore } from '../store/lane-store.ts';
import { QueueGroups } from './queue-groups.ts';

export abstract class QueueLanes<
  // biome-ignore lint/suspicious/noExplicitAny: the defaults of BullMQ's own generics.
  JobBase extends Job = Job<any, any, string>,
> extends QueueGroups<JobBase> {
  protected readonly lanes = new LaneStore(this.session);

  /** The lanes that have jobs or are stopped, by name; `start` and `end` as in the other getters. */
  async getLanes({ start = 0, end = -1 }: { start?: number; end?: number } = {}): Promise<LaneInfo[]> {
    return (await this.lanes.list(start, end)).lanes;
  }

  /** How many lanes have jobs or are stopped. */
  async getLaneCount(): Promise<number> {
    return (await this.lanes.list(1, 0)).count;
  }

  /** The jobs of a lane in their order: those that are out, then those that rest. */
  async getLaneJobs(
    lane: string,
    { start = 0, end = -1 }: { start?: number; end?: number } = {},
  ): Promise<JobBase[]> {
    assertLane(lane);
    return this.readable(await this.lanes.jobs(lane, start, end));
  }

  /** No Yoke worker fetches a job of the lane until it is resumed; one that was fetched goes on. */
  async pauseLane(lane: string): Promise<void> {
    assertLane(lane);
    await this.lanes.pause(lane);
  }

  /** Also resumes a lane that has halted after a failure. */
  async resumeLane(lane: string): Promise<void> {
    assertLane(lane);
    await this.lanes.resume(lane);
  }

  /** How many jobs of this lane may be out at a time; null goes back to the queue's `laneConcurrency`. */
  async setLaneConcurrency(lane: string, concurrency: number | null): Promise<void> {
    assertLane(lane);
    await this.lanes.setConcurrency(lane, concurrency === null ? null : readLaneConcurrency(concurrency));
  }

  /**
   * Removes the jobs of a lane that nobody runs, and what the lane has of its own; resolves to how many. Jobs
   * that a delay keeps out of the lane are not among them; one that holds it while it backs off is.
   */
  async removeLane(lane: string): Promise<number> {
    assertLane(lane);
    return this.lanes.remove(lane);
  }

  /**
   * All jobs of lanes become ordinary ones, for going back to workers that know nothing of lanes; resolves to how
   * many were moved. Stop adding to lanes first: what is added meanwhile enters a lane again.
   */
  releaseLanes(): Promise<number> {
    return this.lanes.free();
  }

  /** Compares what lanes believe with what is. Workers do the same in their upkeep and heal; here `heal` does. */
  auditLanes({ heal = false }: { heal?: boolean } = {}): Promise<LaneAudit> {
    return this.lanes.audit(heal);
  }
}
