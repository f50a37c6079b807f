// Reads what the queues say through their public API and what the handlers wrote into their own files, and names
// everything that should not be. The invariants, as sentences:
//
// - Every group has ended, and its counts are those of its members.
// - It is COMPLETED exactly if all members completed and nobody cancelled it before that.
// - It failed for a reason that exists: a member that failed, a cancel that was accepted, its own time limit.
// - A member's status is what its queue says of it: completed once, failed once, or removed without having ended. A
//   completed one returned what a run of its handler returned. None ended otherwise than its data says, but for one
//   that stalled too often, or whose attempt failed while its group was being undone.
// - A cancelled member has no effects that somebody would have to undo: it never ran, or its last run failed or
//   stepped aside.
// - No run begins after its group has failed, but for one that was interrupted. No group ends before its members.
// - Every completed member of a failed group that can be undone is undone, once, with its own result and the data of
//   its mapping, as are failed ones where that was wanted; nothing else is undone. Its handler may begin again after a
//   kill; it is settled once.
// - In reverse order, one compensation is settled before the next is added, last completed first.
// - Each group tells of its end once, of its undoing at most once and at least where something is undone, and nothing
//   of the kind it did not do.
// - A run begins again only after a failed attempt, a wish of its handler or a stall.
// - Retention takes what it was told to take and nothing else.
// - No process meets an error of the engine, or leaves a rejection unhandled.

import type { Note } from '../support/processes.ts';
import { type CheckInput, Evidence } from './evidence.ts';
import { Trial } from './trial.ts';

export interface Findings {
  readonly violations: string[];
  /** How often what the test is about did happen. */
  readonly seen: Record<string, number>;
}

export async function checkGroups(input: CheckInput): Promise<Findings> {
  const evidence = new Evidence(input);
  const violations: string[] = [];
  const seen: Record<string, number> = {};
  const undone = new Set<string>();
  for (const plan of input.plans) {
    const home = input.queues.get(plan.home)!;
    const [state, members] = await Promise.all([
      home.getGroupState(plan.groupId),
      home.getGroupJobs(plan.groupId),
    ]);
    const trial = new Trial(input, evidence, plan, state, members);
    if (trial.isFit()) {
      trial.checkState();
      for (const index of members.keys()) trial.checkMember(index);
      trial.checkEvents();
      if (plan.isReverse) trial.checkOrder();
      await trial.checkRetention();
    }
    violations.push(...trial.violations);
    for (const key of trial.undone) undone.add(key);
    for (const what of trial.seen) seen[what] = (seen[what] ?? 0) + 1;
  }
  for (const { queue, jobId } of evidence.jobsAdded) {
    if (queue.endsWith(':compensation') && !undone.has(`${queue} ${jobId}`))
      violations.push(`${queue} ${jobId}: undoes what was not to be undone`);
  }
  violations.push(...checkProcesses(input.history));
  const isRefusal = ({ op, key }: Note) => op === 'error' && /^JOB_(LOCK|NOT)_/.test(String(key));
  seen['late finish refused'] = input.history.filter(isRefusal).length;
  return { violations, seen };
}

/** A lost lease is part of the game; an error of the engine, or one that nobody handled, is not. */
function checkProcesses(history: readonly Note[]): string[] {
  return history
    .filter(
      ({ op, message }) =>
        op === 'unhandled' || (op === 'error' && /\b(ERR|WRONGTYPE|script|function)\b/.test(String(message))),
    )
    .map(({ pid, key, message }) => `process ${pid}: ${key}: ${message}`);
}
