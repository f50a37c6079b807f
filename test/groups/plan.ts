// Groups made up by chance: what is asked for, and what each handler is going to do.

import type { GroupOptions, JobsOptions } from '../../src/index.ts';

/** Data of a member; its handler does what it says. */
export interface MemberWork {
  /** The group's id, and the member's place in it. */
  readonly g: string;
  readonly m: number;
  readonly ms: number;
  /** How many attempts fail. */
  readonly fails: number;
  /** Its first failure is for good. */
  readonly isFinal: boolean;
  /** The first run puts itself off by this much. */
  readonly postponeMs: number;
}

/** `compensationData` of a compensation. */
export interface UndoWork {
  readonly undoes: string;
  readonly ms: number;
  readonly fails: number;
}

export interface MemberPlan {
  readonly name: string;
  readonly queueName: string;
  readonly data: MemberWork;
  readonly opts: JobsOptions;
}

export interface UndoPlan {
  readonly name: string;
  readonly data: UndoWork;
  readonly opts: { attempts: number; backoff: number; removeOnComplete?: boolean; removeOnFail?: boolean };
  readonly onFailed: boolean;
}

export interface GroupPlan {
  readonly groupId: string;
  readonly home: string;
  readonly jobs: readonly MemberPlan[];
  readonly compensation: Readonly<Record<string, UndoPlan>>;
  readonly isReverse: boolean;
  readonly timeoutMs: number | undefined;
  /** Cancelled this long after it was added. */
  readonly cancelAfterMs: number | undefined;
}

export type Random = () => number;

/** Jobs of this queue are also trimmed by count, so that a finished one may be gone whatever its options say. */
export const TRIMMED_QUEUE = 3;

export const CANCEL_REASON = 'no longer wanted';

const upTo = (random: Random, most: number): number => Math.floor(random() * (most + 1));
const oneOf = <T>(random: Random, values: readonly T[]): T => values[upTo(random, values.length - 1)]!;
const isChance = (random: Random, share: number): boolean => random() < share;

export interface PlanOptions {
  readonly count: number;
  readonly queues: readonly string[];
  readonly mostMembers?: number;
  /** The longest that a handler works. */
  readonly mostMs?: number;
}

export function planGroups(random: Random, { count, queues, ...sizes }: PlanOptions): GroupPlan[] {
  return Array.from({ length: count }, (_, i) => planGroup(random, `g${i}`, queues, sizes));
}

/** A small group that fails in any case, with something to undo. */
export function planFailing(random: Random, groupId: string, queues: readonly string[]): GroupPlan {
  return planPair(random, groupId, queues, [{ ms: 5 }, { ms: 30, fails: 1 }]);
}

/** A small group with one member that runs for a while and one that does not run for long. */
export function planLong(random: Random, groupId: string, queues: readonly string[]): GroupPlan {
  return planPair(random, groupId, queues, [{ ms: 500 }, { ms: 0 }], 60_000);
}

function planPair(
  random: Random,
  groupId: string,
  queues: readonly string[],
  works: readonly Partial<MemberWork>[],
  delay = 0,
): GroupPlan {
  const jobs = works.map((work, m) => ({
    name: `work-${m}`,
    queueName: oneOf(random, queues),
    data: { g: groupId, m, ms: 0, fails: 0, isFinal: false, postponeMs: 0, ...work },
    opts: m === 1 ? { delay } : {},
  }));
  const undo = { name: 'undo-work-0', data: { undoes: 'work-0', ms: 5, fails: 0 }, onFailed: false };
  return {
    groupId,
    home: jobs[0]!.queueName,
    jobs,
    compensation: { 'work-0': { ...undo, opts: { attempts: 2, backoff: 10 } } },
    isReverse: false,
    timeoutMs: undefined,
    cancelAfterMs: undefined,
  };
}

function planGroup(
  random: Random,
  groupId: string,
  allQueues: readonly string[],
  { mostMembers = 20, mostMs = 400 }: { mostMembers?: number; mostMs?: number },
): GroupPlan {
  const first = upTo(random, allQueues.length - 1);
  const queueCount = 1 + upTo(random, allQueues.length - 1);
  const queues = Array.from({ length: queueCount }, (_, i) => allQueues[(first + i) % allQueues.length]!);
  const size = 1 + upTo(random, mostMembers - 1);
  const fate = random();
  // Which members fail for good: none, one or two.
  const failing = new Set<number>();
  if (fate < 0.4) failing.add(upTo(random, size - 1));
  if (fate < 0.15) failing.add(upTo(random, size - 1));

  const jobs = Array.from({ length: size }, (_, m): MemberPlan => {
    const queueName = oneOf(random, queues);
    // Some share a name, and with it the mapping.
    const name = isChance(random, 0.2) ? 'shared' : `work-${m}`;
    return {
      name,
      queueName,
      ...planWork(random, groupId, m, failing.has(m), mostMs, queueName === allQueues[TRIMMED_QUEUE]),
    };
  });
  const compensation: Record<string, UndoPlan> = {};
  for (const { name } of jobs)
    if (!compensation[name] && isChance(random, 0.75)) compensation[name] = planUndo(random, name);
  return {
    groupId,
    home: isChance(random, 0.3) ? oneOf(random, allQueues) : jobs[0]!.queueName,
    jobs,
    compensation,
    isReverse: isChance(random, 0.25),
    timeoutMs: fate > 0.95 ? 50 + upTo(random, 400) : undefined,
    cancelAfterMs: fate > 0.38 && fate < 0.55 ? upTo(random, 500) : undefined,
  };
}

function planWork(
  random: Random,
  g: string,
  m: number,
  isFailing: boolean,
  mostMs: number,
  isTrimmed: boolean,
): { data: MemberWork; opts: JobsOptions } {
  const attempts = 1 + upTo(random, 2);
  const isFinal = isFailing && isChance(random, 0.3);
  const passingFails = attempts > 1 && isChance(random, 0.1) ? 1 : 0;
  const opts: JobsOptions = { attempts };
  if (isChance(random, 0.5)) opts.backoff = 20 + upTo(random, 100);
  if (isChance(random, 0.2)) opts.delay = 1 + upTo(random, 400);
  if (isChance(random, 0.2)) opts.priority = 1 + upTo(random, 3);
  if (isChance(random, 0.1)) opts.lifo = true;
  if (isChance(random, 0.3)) opts.removeOnComplete = isTrimmed && isChance(random, 0.5) ? 5 : true;
  if (isChance(random, 0.3)) opts.removeOnFail = isTrimmed && isChance(random, 0.5) ? 5 : true;
  return {
    data: {
      g,
      m,
      // Mostly short; some run long enough that their group fails meanwhile.
      ms: isChance(random, 0.2) ? upTo(random, mostMs) : upTo(random, 20),
      fails: isFailing ? attempts : passingFails,
      isFinal,
      postponeMs: isChance(random, 0.05) ? 20 + upTo(random, 200) : 0,
    },
    opts,
  };
}

function planUndo(random: Random, undoes: string): UndoPlan {
  const attempts = 1 + upTo(random, 2);
  const opts: UndoPlan['opts'] = { attempts, backoff: 10 + upTo(random, 50) };
  if (isChance(random, 0.3)) opts.removeOnComplete = true;
  if (isChance(random, 0.3)) opts.removeOnFail = true;
  const isFailing = isChance(random, 0.04);
  const passingFails = attempts > 1 && isChance(random, 0.1) ? 1 : 0;
  return {
    name: `undo-${undoes}`,
    data: {
      undoes,
      ms: upTo(random, isChance(random, 0.2) ? 200 : 10),
      fails: isFailing ? attempts : passingFails,
    },
    opts,
    onFailed: isChance(random, 0.3),
  };
}

/** What `addGroup` is given. */
export function optionsOf(plan: GroupPlan): GroupOptions {
  return {
    name: `group ${plan.groupId}`,
    groupId: plan.groupId,
    queueName: plan.home,
    jobs: plan.jobs.map(({ name, queueName, data, opts }) => ({ name, queueName, data, opts })),
    compensation: { ...plan.compensation },
    compensationOrder: plan.isReverse ? 'reverse' : 'parallel',
    ...(plan.timeoutMs === undefined ? {} : { timeoutMs: plan.timeoutMs }),
  };
}

/** Every attempt that the member has fails, or the first is final. */
export function isMeantToFail({ data, opts }: MemberPlan): boolean {
  return data.fails >= (opts.attempts ?? 1) || (data.isFinal && data.fails > 0);
}
