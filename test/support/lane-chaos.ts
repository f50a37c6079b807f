// Lanes under killed and frozen workers, with or without a server that dies too. What must hold:
//  - every job completes;
//  - in every lane jobs start for the first time in the order of their adds;
//  - two jobs of a lane never run at the same time, unless the older one's worker had lost its lease;
//  - nothing is stuck and no lane leaves a key.

import { setTimeout as sleep } from 'node:timers/promises';
import { Queue } from '../../src/index.ts';
import { eventually } from './eventually.ts';
import type { FaultServer } from './fault-server.ts';
import type { Child, Fault, Note, Processes } from './processes.ts';

export const LEASE_MS = 2000;
const WORKERS = 3;
const FREEZE_MS = 5000;
const OPTIONS = {
  concurrency: 8,
  lockDuration: LEASE_MS,
  stalledInterval: 500,
  maxStalledCount: 1000,
  callTimeout: 1000,
};

export interface ChaosPlan {
  readonly queue: string;
  readonly lanes: number;
  readonly seconds: number;
  readonly killsServer: boolean;
  readonly random: () => number;
}

export interface ChaosResult {
  readonly added: number;
  readonly starts: number;
  readonly kills: number;
  readonly freezes: number;
  readonly serverKills: number;
  /** In words; none if all is well. */
  readonly violations: string[];
}

export interface Place {
  readonly lane: string;
  readonly place: number;
}

export async function laneChaos(
  server: FaultServer,
  processes: Processes,
  plan: ChaosPlan,
): Promise<ChaosResult> {
  const queue = new Queue(plan.queue, { connection: server.connection, callTimeout: 1000 });
  queue.on('error', () => {});
  const spawn = () =>
    processes.spawn('worker', { connection: server.connection, queue: plan.queue, options: OPTIONS });
  const workers = Array.from({ length: WORKERS }, spawn);
  const places = new Map<number, Place>();
  const isOver = { value: false };
  const producing = produce(queue, plan, places, isOver);
  await Promise.all(workers.map((worker) => worker.heard('start')));
  await breakThings(server, processes, workers, spawn, plan);
  isOver.value = true;
  await producing;
  try {
    await eventually(async () => {
      if ((await queue.getCompletedCount()) < places.size) throw new Error('not all have completed');
    }, 60_000);
  } catch {
    // Told below, with what is known.
  }
  const counts = await queue.getJobCounts();
  const { findings } = await queue.auditLanes();
  await Promise.all(workers.map((worker) => worker.close()));
  const left = await server.admin.keys(`${queue.qualifiedName}:meta:l[ai]ne*`);
  await queue.close();

  const violations = [
    ...(counts.completed === places.size
      ? []
      : [`${places.size} jobs were added and ${JSON.stringify(counts)} is what became of them`]),
    ...findings.map((finding) => `the audit found ${JSON.stringify(finding)}`),
    ...left.map((key) => `${key} is left`),
    ...outOfOrder(processes.history(), places),
    ...overlaps(processes.history(), places, processes.faults),
  ];
  const count = (kind: string) => processes.faults.filter((fault) => fault.kind === kind).length;
  return {
    added: places.size,
    starts: processes.history().filter(({ op }) => op === 'start').length,
    kills: count('kill'),
    freezes: count('freeze'),
    serverKills: count('server'),
    violations,
  };
}

async function produce(
  queue: Queue,
  { lanes, random }: ChaosPlan,
  places: Map<number, Place>,
  isOver: { value: boolean },
): Promise<void> {
  const depth = new Map<string, number>();
  let n = 0;
  while (!isOver.value) {
    const jobs = Array.from({ length: 8 }, () => {
      const lane = `lane-${Math.floor(random() * lanes)}`;
      const place = (depth.get(lane) ?? 0) + 1;
      depth.set(lane, place);
      places.set(++n, { lane, place });
      const data = { n, ms: Math.floor(random() * 20), fails: random() < 0.05 ? 1 : 0 };
      return { name: 'n', data, opts: { lane, attempts: 3, backoff: random() < 0.5 ? 30 : 0 } };
    });
    await queue.addBulk(jobs);
    await sleep(20);
  }
}

export async function breakThings(
  server: FaultServer,
  processes: Processes,
  workers: Child[],
  spawn: () => Child,
  { seconds, killsServer, random }: ChaosPlan,
): Promise<void> {
  const end = performance.now() + seconds * 1000;
  const thawing: Promise<void>[] = [];
  let frozen: Child | undefined;
  for (let turn = 0; performance.now() < end; turn++) {
    await sleep(600 + random() * 900);
    const at = Math.floor(random() * workers.length);
    const victim = workers[at]!;
    if (killsServer && turn % 3 === 2) {
      const fault: Fault = { kind: 'server', from: process.hrtime.bigint(), to: process.hrtime.bigint() };
      processes.faults.push(fault);
      await server.kill();
      await sleep(300);
      await server.start();
      fault.to = process.hrtime.bigint();
    } else if (turn % 3 === 1 && frozen === undefined) {
      frozen = victim;
      victim.freeze();
      thawing.push(
        sleep(FREEZE_MS).then(() => {
          victim.thaw();
          frozen = undefined;
        }),
      );
    } else if (victim !== frozen) {
      await victim.kill();
      workers[at] = spawn();
    }
  }
  await Promise.all(thawing);
}

export function outOfOrder(history: readonly Note[], places: Map<number, Place>): string[] {
  const seen = new Set<number>();
  const last = new Map<string, number>();
  const found: string[] = [];
  for (const { op, n } of history) {
    if (op !== 'start' || seen.has(n!)) continue;
    seen.add(n!);
    const { lane, place } = places.get(n!)!;
    if (place !== (last.get(lane) ?? 0) + 1)
      found.push(`${lane}: the ${place}th job started after the ${last.get(lane) ?? 0}th`);
    last.set(lane, place);
  }
  return found;
}

interface Run {
  readonly n: number;
  readonly pid: number;
  readonly from: bigint;
  to: bigint;
}

/** Every start with its end; a run of a process that was killed ends there. */
function runsOf(history: readonly Note[], faults: readonly Fault[]): Run[] {
  const open = new Map<string, Run>();
  const runs: Run[] = [];
  const killedAt = new Map(faults.filter(({ kind }) => kind === 'kill').map(({ pid, from }) => [pid, from]));
  for (const { op, n, pid, at, token } of history) {
    const key = `${pid}/${n}/${token}`;
    if (op === 'start') {
      const run = { n: n!, pid, from: at, to: killedAt.get(pid) ?? at };
      open.set(key, run);
      runs.push(run);
    } else if (op === 'end' || op === 'throw') {
      const run = open.get(key);
      if (run) run.to = at;
    }
  }
  return runs;
}

export function overlaps(
  history: readonly Note[],
  places: Map<number, Place>,
  faults: readonly Fault[],
): string[] {
  const lost = new Set(
    history.filter(({ op }) => op === 'lost' || op === 'aborted').map(({ pid, n }) => `${pid}/${n}`),
  );
  const byLane = new Map<string, Run[]>();
  for (const run of runsOf(history, faults)) {
    const { lane } = places.get(run.n)!;
    byLane.set(lane, [...(byLane.get(lane) ?? []), run]);
  }
  const isExcused = (older: Run, newer: Run) =>
    lost.has(`${older.pid}/${older.n}`) ||
    faults.some(
      ({ kind, pid, from, to }) =>
        (kind === 'server' || pid === older.pid) && from <= newer.from && to >= older.from,
    );
  const found: string[] = [];
  for (const [lane, runs] of byLane) {
    for (let i = 1; i < runs.length; i++) {
      const newer = runs[i]!;
      for (const older of runs.slice(Math.max(0, i - 20), i)) {
        if (older.to > newer.from && !isExcused(older, newer))
          found.push(`${lane}: job ${newer.n} began while job ${older.n} ran`);
      }
    }
  }
  return found;
}
