// The queues, worker processes and streams of one run, and how it ends: everybody leaves, everything is checked, and
// then all of it is removed.

import { setTimeout as sleep } from 'node:timers/promises';
import { FlowProducer, Queue } from '../../src/index.ts';
import { eventually } from '../support/eventually.ts';
import type { FaultServer } from '../support/fault-server.ts';
import type { Child, Processes } from '../support/processes.ts';
import { checkGroups, type Findings } from './checker.ts';
import { CANCEL_REASON, type GroupPlan, optionsOf, TRIMMED_QUEUE } from './plan.ts';
import { MOST_EVENTS, Streams } from './streams.ts';

// Short, so that what is lost with a process is found soon.
export const LEASE_MS = 1000;
const WORKER = { lockDuration: LEASE_MS, stalledInterval: 300, concurrency: 4 };

// Longer than any lease, delay and backoff of the run.
const PATIENCE_MS = 8000;

let runs = 0;

export class Arena {
  readonly names: readonly string[];
  readonly #server: FaultServer;
  readonly #processes: Processes;
  readonly #queues = new Map<string, Queue>();
  readonly #producer: FlowProducer;
  readonly #streams: Streams;
  readonly #plans: GroupPlan[] = [];
  readonly #cancelled = new Set<string>();
  readonly #pending = new Set<Promise<void>>();
  readonly #maxStalls: number;

  private constructor(server: FaultServer, processes: Processes, maxStalls: number) {
    const run = ++runs;
    this.#maxStalls = maxStalls;
    this.#server = server;
    this.#processes = processes;
    this.names = ['a', 'b', 'c', 'd'].map((name) => `run${run}-${name}`);
    const { connection } = server;
    for (const name of this.names.flatMap((queue) => [queue, `${queue}:compensation`])) {
      const queue = new Queue(name, { connection, streams: { events: { maxLen: MOST_EVENTS } } });
      queue.on('error', () => {});
      this.#queues.set(name, queue);
    }
    this.#producer = new FlowProducer({ connection });
    this.#streams = new Streams(connection, [...this.#queues.keys()]);
  }

  /** A job that stalls more than `maxStalls` times fails. */
  static async open(server: FaultServer, processes: Processes, maxStalls: number): Promise<Arena> {
    const arena = new Arena(server, processes, maxStalls);
    // The length of the streams is settled before the first event.
    await Promise.all([...arena.#queues.values()].map((queue) => queue.waitUntilReady()));
    await eventually(async () => {
      const lengths = await Promise.all([...arena.#queues.values()].map((queue) => queue.getMeta()));
      if (lengths.some(({ maxLenEvents }) => Number(maxLenEvents) !== MOST_EVENTS))
        throw new Error('not yet');
    });
    return arena;
  }

  spawn(config: object = {}): Child {
    const { connection } = this.#server;
    const options = { ...WORKER, maxStalledCount: this.#maxStalls };
    return this.#processes.spawn('group-worker', { connection, queues: this.names, options, ...config });
  }

  queue(name: string): Queue {
    return this.#queues.get(name)!;
  }

  /** Adds the group; its cancelling, if it has one, follows by itself. */
  async add(plan: GroupPlan): Promise<void> {
    await this.#producer.addGroup(optionsOf(plan));
    this.#plans.push(plan);
    if (plan.cancelAfterMs === undefined) return;
    this.#pending.add(sleep(plan.cancelAfterMs).then(() => this.cancel(plan.groupId)));
  }

  /** Cancels the group, unless it has ended or is being undone. */
  async cancel(groupId: string): Promise<void> {
    const plan = this.#plans.find((one) => one.groupId === groupId)!;
    try {
      await this.queue(plan.home).cancelGroup(groupId, CANCEL_REASON);
      this.#cancelled.add(groupId);
    } catch (error) {
      if ((error as Error).name !== 'InvalidGroupStateError') throw error;
    }
  }

  /** Waits until all has ended, lets the workers go, and checks. */
  async conclude(workers: readonly Child[]): Promise<Findings> {
    await Promise.all(this.#pending);
    await this.#streams.allEnded(this.#plans.length, PATIENCE_MS);
    for (const worker of workers) await worker.close();
    await this.#streams.close();
    const findings = await checkGroups({
      plans: this.#plans,
      queues: this.#queues,
      told: this.#streams.told,
      history: this.#processes.history(),
      faults: this.#processes.faults,
      cancelled: this.#cancelled,
      trimmed: new Set([this.names[TRIMMED_QUEUE]!]),
      maxStalls: this.#maxStalls,
    });
    // What has gone wrong would only go wrong again.
    if (findings.violations.length === 0) findings.violations.push(...(await this.#removeAll()));
    return findings;
  }

  /** Forgets the groups and the jobs, one by one and many at once; what is still there that should not. */
  async #removeAll(): Promise<string[]> {
    const [first] = this.#plans;
    if (first) await this.queue(first.home).removeGroup(first.groupId);
    for (const queue of this.#queues.values()) {
      // One millisecond into the future: those that ended just now are meant too.
      for (const state of ['COMPLETED', 'FAILED', 'FAILED_COMPENSATION'] as const)
        await queue.cleanGroups(-1, 0, state);
    }
    const left = (await this.#keys()).filter((key) => /:groups(:|$)/.test(key));
    for (const queue of this.#queues.values()) {
      await queue.pause();
      await queue.obliterate();
    }
    // Leases and notes of resent calls end by themselves.
    left.push(...(await this.#keys()).filter((key) => !/:meta:replay:|:lock$/.test(key)));
    return left.map((key) => `${key} is left after everything was removed`);
  }

  #keys(): Promise<string[]> {
    return this.#server.admin.keys(`bull:${this.names[0]!.split('-')[0]}-*`);
  }

  async close(): Promise<void> {
    await this.#producer.close();
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }
}
