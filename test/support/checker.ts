// Reads what processes wrote about themselves and what the queue says through its public API, and names everything
// that should not be. The invariants, as sentences:
//
// - Every acknowledged add is in the queue once, under the id that was acknowledged; no add is there twice.
// - Every job ended where its data says, with the right number of attempts.
// - A second start of a job has an excuse: the attempt before it failed, its process was killed or frozen, its worker
//   handed it back, or its process heard nothing for half a lease or longer while the server or the link was gone.
// - No excuse but a failed attempt or a job handed back lets it start again while the lease must still be alive.
// - A job is accepted as completed once.
// - Every id in a collection has a record, every record lies in exactly one collection, only active jobs are leased,
//   and no key is of an unknown kind.
// - No process had an unhandled rejection.

import type { Redis } from 'ioredis';
import type { Job, Queue } from '../../src/index.ts';
import type { Fault, Note } from './processes.ts';

export interface Report {
  readonly violations: string[];
  readonly added: number;
  readonly starts: number;
  /** Starts after the first of a job, by their excuse. */
  readonly restarts: Record<string, number>;
}

export interface CheckInput {
  readonly queue: Queue;
  readonly admin: Redis;
  readonly history: readonly Note[];
  readonly faults: readonly Fault[];
  readonly leaseMs: number;
}

/** Call when the queue is idle: jobs that still wait or run are reported. */
export async function check({ queue, admin, history, faults, leaseMs }: CheckInput): Promise<Report> {
  const violations: string[] = [];
  const jobs = await queue.getJobs([
    'wait',
    'active',
    'delayed',
    'prioritized',
    'completed',
    'failed',
    'paused',
  ]);
  const started = checkStarts(history, faults, leaseMs);
  violations.push(...checkAdds(history, jobs));
  violations.push(...(await checkOutcomes(queue, jobs)));
  violations.push(...started.violations);
  violations.push(...(await checkKeyspace(queue, admin)));
  for (const { op, pid, message } of history)
    if (op === 'unhandled') violations.push(`process ${pid}: unhandled ${message}`);
  return {
    violations,
    added: history.filter(({ op }) => op === 'added').length,
    starts: history.filter(({ op }) => op === 'start').length,
    restarts: started.restarts,
  };
}

// Refused with the certainty that nothing was done.
const NOT_ADDED = new Set(['SERVER_OUT_OF_MEMORY', 'SERVER_READ_ONLY']);

function checkAdds(history: readonly Note[], jobs: readonly Job[]): string[] {
  const violations: string[] = [];
  const idsOf = new Map<number, string[]>();
  for (const job of jobs) idsOf.set(job.data.n, [...(idsOf.get(job.data.n) ?? []), job.id!]);
  for (const [n, ids] of idsOf)
    if (ids.length > 1) violations.push(`add ${n} is there ${ids.length} times: ${ids}`);
  for (const { op, n, job, key } of history) {
    const ids = idsOf.get(n as number) ?? [];
    if (op === 'added' && ids[0] !== job)
      violations.push(`add ${n} was acknowledged as ${job}, found ${ids[0] ?? 'nothing'}`);
    if (op === 'refused' && NOT_ADDED.has(key as string) && ids.length > 0)
      violations.push(`add ${n} was refused and is there`);
  }
  return violations;
}

async function checkOutcomes(queue: Queue, jobs: readonly Job[]): Promise<string[]> {
  const violations: string[] = [];
  const counts = await queue.getJobCounts(
    'completed',
    'failed',
    'waiting',
    'active',
    'delayed',
    'prioritized',
    'paused',
  );
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (total !== jobs.length) violations.push(`the counts add up to ${total}, there are ${jobs.length} jobs`);
  for (const job of jobs) {
    const { fails = 0, attempts = 1 } = job.data as { fails?: number; attempts?: number };
    const willFail = fails >= attempts;
    const made = willFail ? attempts : fails + 1;
    const isRight = willFail
      ? job.failedReason === 'on purpose' && job.finishedOn
      : job.returnvalue?.n === job.data.n;
    if (!isRight)
      violations.push(
        `job ${job.id} (${job.data.n}) did not end as it should: ${job.failedReason ?? 'not finished'}`,
      );
    if (job.attemptsMade !== made)
      violations.push(`job ${job.id} made ${job.attemptsMade} attempts instead of ${made}`);
  }
  return violations;
}

/** What the histories alone tell: who started and completed what, and with which excuse again. */
export function checkStarts(
  history: readonly Note[],
  faults: readonly Fault[],
  leaseMs: number,
): Pick<Report, 'violations' | 'restarts'> {
  const violations: string[] = [];
  const restarts: Record<string, number> = {};
  const evidence: Evidence = {
    faults,
    absences: faults.filter(({ pid }) => pid === undefined).map(absenceBy),
    heardAt: answersByProcess(history),
    halfLeaseMs: leaseMs / 2,
  };
  const byJob = new Map<string, Note[]>();
  for (const note of history) {
    if (note.job === undefined) continue;
    const notes = byJob.get(note.job);
    if (notes) notes.push(note);
    else byJob.set(note.job, [note]);
  }
  for (const [job, notes] of byJob) {
    const starts = notes.filter(({ op }) => op === 'start');
    const completions = notes.filter(({ op }) => op === 'completed').length;
    if (completions > 1) violations.push(`job ${job} was accepted as completed ${completions} times`);
    for (let i = 1; i < starts.length; i++) {
      const excuse = excuseFor(starts[i - 1]!, starts[i]!, notes, evidence);
      if (excuse) restarts[excuse] = (restarts[excuse] ?? 0) + 1;
      else
        violations.push(
          `job ${job} was started again without excuse (processes ${starts[i - 1]!.pid} and ${starts[i]!.pid})`,
        );
    }
  }
  return { violations, restarts };
}

/** In ms of the clock of the histories. */
interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** When the server may be out of reach for all because of one fault. */
interface Absence extends Stretch {
  readonly kind: string;
}

interface Evidence {
  readonly faults: readonly Fault[];
  readonly absences: readonly Absence[];
  /** By process, when it had an answer of the server in hand. */
  readonly heardAt: ReadonlyMap<number, readonly number[]>;
  readonly halfLeaseMs: number;
}

function excuseFor(
  before: Note,
  after: Note,
  notes: readonly Note[],
  { faults, absences, heardAt, halfLeaseMs }: Evidence,
): string | undefined {
  const isBetween = ({ at }: { at: bigint }) => at > before.at && at < after.at;
  if (notes.some((note) => note.op === 'throw' && note.pid === before.pid && isBetween(note)))
    return 'failed attempt';
  if (notes.some((note) => note.op === 'aborted' && note.key === 'SHUTDOWN_ABORT' && isBetween(note)))
    return 'handed back';
  // Stopped with the job in hand, before it could note its start.
  const woken = faults.find(({ pid, from, to }) => pid === after.pid && from < before.at && to > before.at);
  if (woken) return woken.kind;
  // A job starts with three quarters of its lease left or more; the quarter between is for slow machines.
  const [begin, end] = [msOf(before.at), msOf(after.at)];
  if (end - begin < halfLeaseMs) return undefined;
  const done = faults.find(({ pid, from, to }) => pid === before.pid && from <= after.at && to >= before.at);
  if (done) return done.kind;
  // Leases are renewed when a quarter of them is used up, and looked at as often. So whoever hears from the server has
  // renewed all of them before half of their time is over, and loses none in less than the other half.
  const heard = (heardAt.get(before.pid) ?? []).filter((at) => at > begin && at < end);
  const bounds = [begin, ...heard, end];
  for (let i = 1; i < bounds.length; i++) {
    const silence = { from: bounds[i - 1]!, to: bounds[i]! };
    const outage = outagesIn(silence, absences).find(({ from, to }) => to - from >= halfLeaseMs);
    if (outage) return [...new Set(outage.kinds)].join(' + ');
  }
  return undefined;
}

const ANSWERS = new Set(['start', 'completed', 'failed', 'renewed']);

function answersByProcess(history: readonly Note[]): Map<number, number[]> {
  const heardAt = new Map<number, number[]>();
  for (const { op, pid, at } of history) {
    if (!ANSWERS.has(op)) continue;
    const times = heardAt.get(pid);
    if (times) times.push(msOf(at));
    else heardAt.set(pid, [msOf(at)]);
  }
  return heardAt;
}

// The longest pause between two tries to connect (src/store/connection.ts).
const MOST_BACK_OFF_MS = 1000;

// Until everybody may be expected back. The pauses between tries double, so the one in which the fault ends is no longer
// than the fault was.
function absenceBy({ kind, from, to, unnoticedMs = 0 }: Fault): Absence {
  const noticedAt = msOf(to) + unnoticedMs;
  return { kind, from: msOf(from), to: noticedAt + Math.min(noticedAt - msOf(from), MOST_BACK_OFF_MS) };
}

interface Outage extends Stretch {
  to: number;
  readonly kinds: string[];
}

// What of a process's silence the faults explain. One that begins before everybody is back prolongs the one before.
function outagesIn(silence: Stretch, absences: readonly Absence[]): Outage[] {
  const outages: Outage[] = [];
  for (const absence of [...absences].sort((a, b) => a.from - b.from)) {
    const from = Math.max(absence.from, silence.from);
    const to = Math.min(absence.to, silence.to);
    if (to <= from) continue;
    const last = outages.at(-1);
    if (last === undefined || from > last.to) outages.push({ from, to, kinds: [absence.kind] });
    else {
      last.to = Math.max(last.to, to);
      last.kinds.push(absence.kind);
    }
  }
  return outages;
}

function msOf(at: bigint): number {
  return Number(at) / 1e6;
}

const COLLECTIONS = [
  'wait',
  'paused',
  'active',
  'prioritized',
  'delayed',
  'completed',
  'failed',
  'waiting-children',
];
const OTHER_KEYS =
  /^(meta|id|pc|marker|events|stalled|stalled-check|limiter|repeat|meta:replay:.+|metrics:.+)$/;

// One script, so that workers that still run cannot move anything between two looks.
const LOOK = `
local prefix, collections, keys, places = ARGV[1], { unpack(ARGV, 2) }, {}, {}
for _, key in ipairs(redis.call("KEYS", (string.gsub(prefix, "[%*%?%[%]\\\\]", "\\\\%0")) .. "*")) do
  keys[#keys + 1] = { string.sub(key, #prefix + 1), redis.call("TYPE", key).ok }
end
for _, name in ipairs(collections) do
  local key = prefix .. name
  local kind = redis.call("TYPE", key).ok
  local members = kind == "list" and redis.call("LRANGE", key, 0, -1) or kind == "zset" and redis.call("ZRANGE", key, 0, -1) or {}
  for _, id in ipairs(members) do places[#places + 1] = { id, name } end
end
return { keys, places }`;

async function checkKeyspace(queue: Queue, admin: Redis): Promise<string[]> {
  const violations: string[] = [];
  const look = await admin.eval(LOOK, 0, `${queue.qualifiedName}:`, ...COLLECTIONS);
  const [keys, places] = look as [[string, string][], [string, string][]];
  const typeOf = new Map(keys);
  const placesOf = new Map<string, string[]>();
  for (const [id, place] of places) placesOf.set(id, [...(placesOf.get(id) ?? []), place]);
  for (const [id, found] of placesOf) {
    if (found.length > 1) violations.push(`job ${id} lies in ${found}`);
    if (typeOf.get(id) !== 'hash') violations.push(`job ${id} lies in ${found} and has no record`);
  }
  for (const [suffix, type] of typeOf) {
    if (COLLECTIONS.includes(suffix) || OTHER_KEYS.test(suffix)) continue;
    const leased = /^(.+):lock$/.exec(suffix)?.[1];
    if (leased !== undefined) {
      if (!placesOf.get(leased)?.includes('active'))
        violations.push(`job ${leased} is leased and not active`);
    } else if (type !== 'hash') violations.push(`key of an unknown kind: ${suffix}`);
    else if (!placesOf.has(suffix)) violations.push(`the record of job ${suffix} lies in no collection`);
  }
  return violations;
}
