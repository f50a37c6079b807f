// Jobs of lanes, moved by hand: each step is one call, so that the order of everything is the test's.

import { expect } from 'vitest';
import type { Job, JobsOptions, Queue, QueueOptions, Worker } from '../../src/index.ts';
import type { Bundle } from './bundle.ts';

export interface LaneHand {
  readonly queue: Queue;
  readonly worker: Worker;
  /** Adds jobs `<lane><n>` … with ids of their own: `a1` is in lane `a`. */
  add(ids: string, opts?: JobsOptions): Promise<Job[]>;
  /** The next job, or undefined. */
  take(): Promise<Job | undefined>;
  /** Takes jobs until there is none; their ids. */
  takeAll(): Promise<string[]>;
  complete(job: Job): Promise<void>;
  /** Fails the attempt; whether the job runs again is its options' business. */
  fail(job: Job): Promise<void>;
  /** One tick of the upkeep; the ids of stalled jobs that it recovered. */
  tick(): Promise<string[]>;
  /** Completes everything in the order in which it comes; the ids. */
  drainByHand(): Promise<string[]>;
  /** Names of keys that lanes have left. */
  leftovers(): Promise<string[]>;
}

const TOKEN = 'hand';

export function laneHand(bundle: Bundle, opts: QueueOptions = {}): LaneHand {
  const queue = bundle.queue(bundle.name(), opts);
  const clock = opts.clock === undefined ? {} : { clock: opts.clock };
  const worker = bundle.worker(queue.name, null, { lockDuration: 60_000, ...clock });
  const hand: LaneHand = {
    queue,
    worker,
    add: (ids, jobOpts = {}) =>
      queue.addBulk(
        ids
          .split(' ')
          .map((id) => ({ name: 'n', data: id, opts: { jobId: id, lane: id.slice(0, 1), ...jobOpts } })),
      ),
    take: () => worker.getNextJob(TOKEN, { block: false }),
    takeAll: async () => {
      const ids: string[] = [];
      for (let job = await hand.take(); job; job = await hand.take()) ids.push(job.id!);
      return ids;
    },
    complete: async (job) => {
      await job.moveToCompleted('ok', TOKEN, false);
    },
    fail: async (job) => {
      await job.moveToFailed(new Error('broke'), TOKEN, false);
    },
    tick: async () => {
      await bundle.server.admin.del(queue.toKey('stalled-check'));
      return (await queue.leases.maintain(1, 60_000)).recovered;
    },
    drainByHand: async () => {
      const ids: string[] = [];
      for (let job = await hand.take(); job; job = await hand.take()) {
        ids.push(job.id!);
        await hand.complete(job);
      }
      return ids;
    },
    leftovers: async () => {
      const root = `${queue.qualifiedName}:`;
      const keys = await bundle.server.admin.keys(`${root}*`);
      return keys
        .map((key) => key.slice(root.length))
        .filter((key) => key === 'de' || /^meta:(lane|line)/.test(key));
    },
  };
  return hand;
}

/** The job that must be there. */
export async function taken(hand: LaneHand, id: string): Promise<Job> {
  const job = await hand.take();
  expect(job?.id).toBe(id);
  return job as Job;
}
