// Random groups under workers that are killed and frozen. A run in which something that it is about never happened
// shows nothing: it is void, and is run again with the next seed.

import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import { type FaultServer, randomFrom } from '../support/fault-server.ts';
import type { Child, Note, Processes } from '../support/processes.ts';
import { Arena, LEASE_MS } from './arena.ts';
import type { Findings } from './checker.ts';
import { planGroups, planLong, type Random } from './plan.ts';

/** What has to happen at least once. */
const REQUIRED = [
  'kill',
  'freeze',
  'late finish refused',
  'COMPLETED',
  'FAILED',
  'FAILED_COMPENSATION',
  'cancelled',
  'timed out',
  'member stalled',
  'member interrupted and in wait when its group failed',
  'member cancelled',
  'failed member undone',
  'late completer undone',
  'erased member undone',
  'undone in reverse',
];

const WORKER_COUNT = 3;
const LONG_MS = 60;
const MOST_RUNS = 4;

export interface HistoryReport extends Findings {
  readonly seed: number;
  /** How many runs were void before this one. */
  readonly voidRuns: number;
  /** What never happened; then this run is void too. */
  readonly missing: string[];
  readonly ms: number;
}

export interface HistoryOptions {
  readonly server: FaultServer;
  readonly processes: Processes;
  readonly seed: number;
  readonly groupCount: number;
}

export async function randomHistory(options: HistoryOptions): Promise<HistoryReport> {
  for (let voidRuns = 0; ; voidRuns++) {
    const seed = options.seed + voidRuns;
    const startedAt = performance.now();
    const { violations, seen } = await runOnce({ ...options, seed });
    const missing = REQUIRED.filter((what) => !seen[what]);
    const ms = Math.round(performance.now() - startedAt);
    const report = { seed, voidRuns, violations, seen, missing, ms };
    if (violations.length > 0 || missing.length === 0 || voidRuns + 1 === MOST_RUNS) return report;
    console.log(`seed ${seed}: void, never happened: ${missing.join(', ')}`);
  }
}

async function runOnce({ server, processes, seed, groupCount }: HistoryOptions): Promise<Findings> {
  const random = randomFrom(seed);
  const arena = await Arena.open(server, processes, 1);
  const plans = planGroups(random, { count: groupCount, queues: arena.names });
  const workers = Array.from({ length: WORKER_COUNT }, () => arena.spawn());
  await Promise.all(workers.map((worker) => worker.heard('ready')));
  try {
    const havoc = new Havoc(arena, workers, random);
    const wreaking = havoc.wreak();
    for (const plan of plans) {
      await arena.add(plan);
      await sleep(random() * 80);
    }
    havoc.stop();
    await wreaking;
    const findings = await arena.conclude(workers);
    for (const { kind } of processes.faults) findings.seen[kind] = (findings.seen[kind] ?? 0) + 1;
    return findings;
  } finally {
    await processes.clear();
    await arena.close();
  }
}

/** Kills and freezes workers while they are at it. */
class Havoc {
  readonly #arena: Arena;
  readonly #workers: Child[];
  readonly #random: Random;
  #isStopped = false;

  constructor(arena: Arena, workers: Child[], random: Random) {
    this.#arena = arena;
    this.#workers = workers;
    this.#random = random;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async wreak(): Promise<void> {
    const kinds = [
      async () => this.#kill(await this.#pick()),
      (i: number) => this.#interrupt(`long${i}`),
      () => this.#freeze(),
    ];
    for (let i = 0; !this.#isStopped; i++) {
      // When it hits is what is random here.
      await sleep(100 + this.#random() * 500);
      await kinds[i % kinds.length]!(i);
    }
    await Promise.all(this.#workers.map((worker) => worker.heard('ready')));
  }

  /** The place of some worker that has just begun a member and is not done with it soon. */
  async #pick(): Promise<number> {
    const index = Math.floor(this.#random() * this.#workers.length);
    const now = process.hrtime.bigint();
    const isLong = ({ at, ms }: Note) => at > now && Number(ms) > LONG_MS;
    // Near the end there may be none.
    await this.#workers[index]!.heard('start', isLong, 1500).catch(() => {});
    return index;
  }

  async #kill(index: number): Promise<void> {
    await this.#workers[index]!.kill();
    this.#workers[index] = this.#arena.spawn();
  }

  /** What the killed worker had lies in wait when the group is cancelled. */
  async #interrupt(groupId: string): Promise<void> {
    const plan = planLong(this.#random, groupId, this.#arena.names);
    const { queueName } = plan.jobs[0]!;
    const queue = this.#arena.queue(queueName);
    await this.#arena.add(plan);
    const isIt = ({ g }: Note) => g === groupId;
    const starting = this.#workers.map((worker, index) =>
      worker.heard('start', isIt).then((note) => ({ index, note })),
    );
    const { index, note } = await Promise.any(starting);
    await queue.pause();
    await this.#kill(index);
    await eventually(async () => {
      if ((await queue.getJobState(note.job!)) === 'active') throw new Error('its lease has not run out');
    });
    await this.#arena.cancel(groupId);
    await queue.resume();
  }

  async #freeze(): Promise<void> {
    const worker = this.#workers[await this.#pick()]!;
    worker.freeze();
    await sleep(1.8 * LEASE_MS);
    worker.thaw();
  }
}
