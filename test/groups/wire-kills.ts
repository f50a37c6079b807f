// Workers that are killed at the moment their finish is on its way to the server. Nobody else is at work then, so
// that nothing is healed before it is looked at: a member has ended exactly if its group knows.

import { type FaultServer, randomFrom } from '../support/fault-server.ts';
import type { Child, Processes } from '../support/processes.ts';
import { type HeldRequest, LinkProxy } from '../support/proxy.ts';
import { Arena } from './arena.ts';
import { type GroupPlan, planFailing, planGroups } from './plan.ts';

export interface WireKillReport {
  readonly seed: number;
  readonly kills: number;
  readonly violations: string[];
  /** How many kills hit each kind of finish, and how much of it the server got. */
  readonly seen: Record<string, number>;
}

export interface WireKillOptions {
  readonly server: FaultServer;
  readonly processes: Processes;
  readonly seed: number;
  readonly kills: number;
}

// An item without its usual arguments has a dash behind its verb.
const VERBS = ['complete', 'complete-', 'fail', 'fail-'];

function isFinish([name, , , , ...argv]: string[]): boolean {
  return /^(fcall|evalsha)$/i.test(name ?? '') && VERBS.some((verb) => argv.includes(verb));
}

export async function wireKills({
  server,
  processes,
  seed,
  kills,
}: WireKillOptions): Promise<WireKillReport> {
  const random = randomFrom(seed);
  const proxy = await LinkProxy.start(server.connection);
  const arena = await Arena.open(server, processes, 1000);
  const plans = planGroups(random, { count: kills, queues: arena.names, mostMembers: 4, mostMs: 30 });
  const violations: string[] = [];
  const seen: Record<string, number> = {};
  const spawn = () => arena.spawn({ connection: proxy.connection, standby: true });
  let open: GroupPlan[] = [];
  let worker = spawn();
  try {
    for (let kill = 0; kill < kills; kill++) {
      const next = spawn();
      // Nothing may change while it is looked at, so nobody cancels. One group in two has something to undo in any case.
      const added = [
        { ...plans[kill]!, cancelAfterMs: undefined },
        planFailing(random, `f${kill}`, arena.names),
      ];
      for (const plan of added) await arena.add(plan);
      open.push(...added);
      const isOfUndoing = kill % 3 === 2;
      const held = await holdFinish(proxy, worker, (root) => root.endsWith(':compensation') === isOfUndoing);
      // Three kills of each fate after another, so that each meets members and compensations.
      const fate = FATES[Math.floor(kill / 3) % 3]!;
      await killOn(worker, held, fate, random());
      const what = `the finish of a ${isOfUndoing ? 'compensation' : 'member'} ${fate}`;
      seen[what] = (seen[what] ?? 0) + 1;
      open = await stillOpen(arena, open, violations);
      worker = next;
    }
    worker.command('start');
    await worker.heard('ready');
    const findings = await arena.conclude([worker]);
    return {
      seed,
      kills,
      violations: [...violations, ...findings.violations],
      seen: { ...seen, ...findings.seen },
    };
  } finally {
    await processes.clear();
    await arena.close();
    await proxy.stop();
  }
}

/** The worker begins, and its next finish on such a queue is stopped on its way. */
async function holdFinish(
  proxy: LinkProxy,
  worker: Child,
  isWanted: (root: string) => boolean,
): Promise<HeldRequest> {
  await worker.heard('loaded');
  const held = proxy.holdRequest((command) => isFinish(command) && isWanted(command[3] ?? ''));
  worker.command('start');
  return held;
}

type Fate = 'arrives' | 'arrives in part' | 'is lost';
const FATES: readonly Fate[] = ['arrives', 'arrives in part', 'is lost'];

async function killOn(worker: Child, held: HeldRequest, fate: Fate, share: number): Promise<void> {
  const killed = worker.kill();
  if (fate === 'arrives') await held.pass();
  else held.passPart(fate === 'is lost' ? 0 : share);
  await killed;
}

/** Says what groups do not know of their jobs; those that may still change are looked at next time too. */
async function stillOpen(
  arena: Arena,
  plans: readonly GroupPlan[],
  violations: string[],
): Promise<GroupPlan[]> {
  const open: GroupPlan[] = [];
  for (const plan of plans) {
    const home = arena.queue(plan.home);
    const state = await home.getGroupState(plan.groupId);
    if (state?.state === 'ACTIVE' || state?.state === 'COMPENSATING') open.push(plan);
    for (const { queueName, jobId, status, compensation } of await home.getGroupJobs(plan.groupId)) {
      violations.push(...(await disagreement(arena, plan, queueName, jobId, status)));
      if (compensation)
        violations.push(
          ...(await disagreement(
            arena,
            plan,
            compensation.queueName,
            compensation.jobId,
            compensation.status,
          )),
        );
    }
  }
  return open;
}

async function disagreement(
  arena: Arena,
  plan: GroupPlan,
  queueName: string,
  jobId: string,
  known: string,
): Promise<string[]> {
  const job = await arena.queue(queueName).getJob(jobId);
  // Retention may have taken a finished one, and a cancelled one is gone.
  const isSettled = ['completed', 'failed', 'cancelled'].includes(known);
  const state = job ? await job.getState() : 'gone';
  const isFinished = state === 'completed' || state === 'failed' || state === 'gone';
  if (isFinished === isSettled && (state === 'gone' || !isSettled || state === known)) return [];
  return [`${plan.groupId}: ${queueName} ${jobId} is ${state}, and its group says ${known}`];
}
