// Random groups under workers that are killed and frozen. A run in which something that it is about never happened
// shows nothing: it is void, and is run again with the next seed.

import { setTimeout as sleep } from 'node:timers/promises';
import { type FaultServer, randomFrom } from '../support/fault-server.ts';
import type { Child, Processes } from '../support/processes.ts';
import { Arena, LEASE_MS } from './arena.ts';
import type { Findings } from './checker.ts';
import { planGroups, type Random } from './plan.ts';

/** What has to happen at least once. */
const REQUIRED = [
  'kill',
  'freeze',
  'COMPLETED',
  'FAILED',
  'FAILED_COMPENSATION',
  'cancelled',
  'timed out',
  'member stalled',
  'member cancelled',
  'failed member undone',
  'late completer undone',
  'erased member undone',
  'undone in reverse',
];

const WORKER_COUNT = 3;
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
    for (let i = 0; !this.#isStopped; i++) {
      // When it hits is what is random here.
      await sleep(200 + this.#random() * 600);
      const index = Math.floor(this.#random() * this.#workers.length);
      const worker = this.#workers[index]!;
      const now = process.hrtime.bigint();
      // One that is busy loses something.
      await worker.heard('start', ({ at }) => at > now, 2000).catch(() => {});
      if (i % 3 === 2) {
        worker.freeze();
        await sleep(1.8 * LEASE_MS);
        worker.thaw();
      } else {
        await worker.kill();
        this.#workers[index] = this.#arena.spawn();
      }
    }
    await Promise.all(this.#workers.map((worker) => worker.heard('ready')));
  }
}
