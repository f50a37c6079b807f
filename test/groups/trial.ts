// One group, held against what should be. The sentences are in checker.ts.

import { isDeepStrictEqual } from 'node:util';
import type { GroupJobEntry, GroupState } from '../../src/index.ts';
import type { Note } from '../support/processes.ts';
import type { CheckInput, Evidence, RunEvents } from './evidence.ts';
import { CANCEL_REASON, type GroupPlan, isMeantToFail, type MemberPlan, type UndoPlan } from './plan.ts';
import type { Told } from './streams.ts';

// Entries of one call may carry times that differ by what the machine took for it.
const SLACK_MS = 50;

const FINAL = ['COMPLETED', 'FAILED', 'FAILED_COMPENSATION'];

export class Trial {
  readonly violations: string[] = [];
  readonly seen: string[] = [];
  /** Queue and id of every compensation that has to be. */
  readonly undone = new Set<string>();
  readonly #input: CheckInput;
  readonly #evidence: Evidence;
  readonly #plan: GroupPlan;
  readonly #members: readonly GroupJobEntry[];
  readonly #state: GroupState | null;
  readonly #failedAtMs: number | undefined;
  readonly #endedAtMs: number | undefined;

  constructor(
    input: CheckInput,
    evidence: Evidence,
    plan: GroupPlan,
    state: GroupState | null,
    members: readonly GroupJobEntry[],
  ) {
    this.#input = input;
    this.#evidence = evidence;
    this.#plan = plan;
    this.#state = state;
    this.#members = members;
    this.#endedAtMs = (this.#events('group:completed')[0] ?? this.#events('group:failed')[0])?.atMs;
    this.#failedAtMs = (this.#events('group:compensating')[0] ?? this.#events('group:failed')[0])?.atMs;
  }

  #events(name: string): Told[] {
    return this.#evidence.group(this.#plan.home, this.#plan.groupId, name);
  }

  #blame(text: string): void {
    this.violations.push(`${this.#plan.groupId}: ${text}`);
  }

  /** Says what is wrong with a list that should have this many entries. */
  #expectCount(what: string, found: number, expected: number): void {
    if (found !== expected) this.#blame(`${what}: ${found} times, not ${expected}`);
  }

  isFit(): boolean {
    if (!this.#state) this.#blame('is unknown at its home');
    else if (this.#members.length !== this.#plan.jobs.length)
      this.#blame(`has ${this.#members.length} members, not ${this.#plan.jobs.length}`);
    else return true;
    return false;
  }

  #count(status: string): number {
    return this.#members.filter((member) => member.status === status).length;
  }

  checkState(): void {
    const { state, totalJobs, completedCount, failedCount, cancelledCount, reason, failedJobId } =
      this.#state!;
    if (!FINAL.includes(state)) this.#blame(`has not ended: ${state}`);
    this.seen.push(state);
    this.#expectCount('member counted', totalJobs, this.#members.length);
    this.#expectCount('completed member counted', completedCount, this.#count('completed'));
    this.#expectCount('failed member counted', failedCount, this.#count('failed'));
    this.#expectCount('cancelled member counted', cancelledCount, this.#count('cancelled'));

    const isAllDone = this.#count('completed') === this.#members.length;
    const isCancelled = this.#input.cancelled.has(this.#plan.groupId);
    const isTimeout = this.#plan.timeoutMs !== undefined && reason === 'timeout';
    if (state === 'COMPLETED') {
      if (!isAllDone) this.#blame('is COMPLETED, and some members are not');
      if (isCancelled) this.#blame('is COMPLETED although its cancelling was accepted');
      return;
    }
    if (isCancelled !== (reason === CANCEL_REASON))
      this.#blame(`gives the reason ${reason}; cancelled: ${isCancelled}`);
    if (isCancelled) this.seen.push('cancelled');
    else if (isTimeout) this.seen.push('timed out');
    else if (isAllDone) this.#blame(`all members completed, and it is ${state}: ${reason}`);
    else if (!this.#members.some(({ jobId, status }) => status === 'failed' && jobId === failedJobId))
      this.#blame(`failed by ${failedJobId} (${reason}), which has not failed`);
  }

  checkMember(index: number): void {
    const member = this.#members[index]!;
    const plan = this.#plan.jobs[index]!;
    const about = `member ${index} (${member.queueName} ${member.jobId})`;
    const events = this.#evidence.job(member.queueName, member.jobId);
    this.#expectCount(`${about} completed`, events.completed.length, member.status === 'completed' ? 1 : 0);
    this.#expectCount(`${about} failed`, events.failed.length, member.status === 'failed' ? 1 : 0);
    this.#expectCount(`${about} removed`, events.removed.length, member.status === 'cancelled' ? 1 : 0);
    if (member.queueName !== plan.queueName) this.#blame(`${about} should be in ${plan.queueName}`);
    this.#checkOutcome(about, member, plan, events);
    this.#checkTimes(about, events);
    if (this.#isInterrupted(events)) this.seen.push('member interrupted and in wait when its group failed');
    this.#checkStarts(about, member.queueName, member.jobId);
    this.#checkUndoing(index, about, member, plan, events);
  }

  #checkOutcome(
    about: string,
    { status, queueName, jobId }: GroupJobEntry,
    plan: MemberPlan,
    events: RunEvents,
  ): void {
    const isOverLimit = events.stalled.length > this.#input.maxStalls;
    if (events.stalled.length > 0) this.seen.push('member stalled');
    if (status === 'completed') {
      if (isMeantToFail(plan)) this.#blame(`${about} completed, and all its attempts fail`);
      const ends = this.#evidence.notes(queueName, jobId, 'end');
      const value = events.completed[0]?.returnvalue;
      if (!ends.some((end) => isDeepStrictEqual(end.value, value)))
        this.#blame(`${about} completed with ${JSON.stringify(value)}, which no handler returned`);
    } else if (status === 'failed') {
      if (isOverLimit) this.seen.push('member stalled too often');
      else if (!isMeantToFail(plan) && !(plan.data.fails > 0 && this.#isBeingUndone(events.failed[0])))
        this.#blame(`${about} failed without a cause: ${events.failed[0]?.failedReason}`);
    } else if (status === 'cancelled') {
      this.seen.push('member cancelled');
      this.#checkCancelled(about, queueName, jobId);
    } else this.#blame(`${about} is ${status}`);
  }

  #isBeingUndone(told: Told | undefined): boolean {
    return told !== undefined && this.#failedAtMs !== undefined && told.atMs >= this.#failedAtMs - SLACK_MS;
  }

  #checkCancelled(about: string, queue: string, jobId: string): void {
    // A process that was frozen does not know yet that it has lost its jobs; what it starts then is its handler's risk.
    const isBlind = (note: Note) =>
      this.#input.faults.some(
        ({ kind, pid, from }) => kind === 'freeze' && pid === note.pid && from < note.at,
      );
    const last = this.#evidence.notes(queue, jobId, 'start').findLast((note) => !isBlind(note));
    if (!last) return;
    this.seen.push('member cancelled after a failed attempt');
    const ends = this.#evidence
      .notes(queue, jobId)
      .filter(({ pid, run }) => pid === last.pid && run === last.run);
    if (!ends.some(({ op }) => op === 'throw' || op === 'postpone'))
      this.#blame(`${about} was cancelled although it has run, and nobody knows how far`);
  }

  #checkTimes(about: string, events: RunEvents): void {
    const finished = events.completed[0] ?? events.failed[0];
    const first = events.active[0];
    if (first && this.#failedAtMs !== undefined && first.atMs > this.#failedAtMs + SLACK_MS)
      this.#blame(`${about} began ${first.atMs - this.#failedAtMs} ms after its group had failed`);
    if (finished && this.#endedAtMs !== undefined && finished.atMs > this.#endedAtMs + SLACK_MS)
      this.#blame(`${about} ended ${finished.atMs - this.#endedAtMs} ms after its group`);
  }

  #isInterrupted({ stalled, active }: RunEvents): boolean {
    const failedAtMs = this.#failedAtMs ?? 0;
    const last = stalled.findLast(({ atMs }) => atMs < failedAtMs)?.atMs;
    return last !== undefined && !active.some(({ atMs }) => atMs >= last && atMs <= failedAtMs);
  }

  #checkStarts(about: string, queue: string, jobId: string): void {
    const events = this.#evidence.job(queue, jobId);
    const reasons =
      events.stalled.length +
      this.#evidence.notes(queue, jobId, 'throw').length +
      this.#evidence.notes(queue, jobId, 'postpone').length;
    if (events.active.length > 1 + reasons)
      this.#blame(`${about} was fetched ${events.active.length} times, with ${reasons} reasons to run again`);
    const starts = this.#evidence.notes(queue, jobId, 'start').length;
    if (starts > events.active.length)
      this.#blame(`${about} was started ${starts} times, fetched ${events.active.length}`);
  }

  #checkUndoing(
    index: number,
    about: string,
    member: GroupJobEntry,
    plan: MemberPlan,
    events: RunEvents,
  ): void {
    const undo = this.#plan.compensation[plan.name];
    const isFailed = this.#state!.state !== 'COMPLETED';
    const isWanted = member.status === 'completed' || (member.status === 'failed' && undo?.onFailed);
    if (!undo || !isFailed || !isWanted) {
      if (member.compensation) this.#blame(`${about} was ${member.status} and has a compensation`);
      return;
    }
    const queue = `${member.queueName}:compensation`;
    const jobId = `${this.#plan.groupId}-${index}`;
    this.undone.add(`${queue} ${jobId}`);
    if (member.status === 'failed') this.seen.push('failed member undone');
    else if ((events.completed[0]?.atMs ?? 0) > (this.#failedAtMs ?? 0))
      this.seen.push('late completer undone');
    if (plan.opts.removeOnComplete === true && member.status === 'completed')
      this.seen.push('erased member undone');
    const { compensation } = member;
    if (compensation?.jobId !== jobId || compensation.queueName !== queue) {
      this.#blame(`${about} has no compensation`);
      return;
    }
    const aboutIt = `compensation of ${about}`;
    const settled = this.#evidence.job(queue, jobId);
    this.#expectCount(`${aboutIt} added`, settled.added.length, 1);
    this.#expectCount(
      `${aboutIt} completed`,
      settled.completed.length,
      compensation.status === 'completed' ? 1 : 0,
    );
    this.#expectCount(`${aboutIt} failed`, settled.failed.length, compensation.status === 'failed' ? 1 : 0);
    if (settled.stalled.length > 0) this.seen.push('compensation stalled');
    this.#checkSettled(aboutIt, compensation.status, undo, settled);
    this.#checkStarts(aboutIt, queue, jobId);
    const ended = settled.completed[0] ?? settled.failed[0];
    if (ended && this.#endedAtMs !== undefined && ended.atMs > this.#endedAtMs + SLACK_MS)
      this.#blame(`${aboutIt} ended ${ended.atMs - this.#endedAtMs} ms after its group`);
    const expected = {
      groupId: this.#plan.groupId,
      originalJobName: plan.name,
      originalJobId: member.jobId,
      originalReturnValue: member.status === 'completed' ? events.completed[0]?.returnvalue : null,
      compensationData: undo.data,
    };
    for (const { name, data } of this.#evidence.notes(queue, jobId, 'start')) {
      if (name !== undo.name) this.#blame(`${aboutIt} is called ${name}`);
      if (!isDeepStrictEqual(data, expected)) this.#blame(`${aboutIt} was given ${JSON.stringify(data)}`);
    }
  }

  #checkSettled(about: string, status: string, undo: UndoPlan, events: RunEvents): void {
    const jobId = events.added[0]?.jobId ?? '';
    const queue = events.added[0]?.queue ?? '';
    const isMeant = undo.data.fails >= undo.opts.attempts;
    if (status === 'completed') {
      if (isMeant) this.#blame(`${about} completed, and all its attempts fail`);
      if (this.#evidence.notes(queue, jobId, 'end').length === 0)
        this.#blame(`${about} completed, and no handler has`);
    } else if (status !== 'failed') this.#blame(`${about} is ${status}`);
    else if (!isMeant && events.stalled.length <= this.#input.maxStalls)
      this.#blame(`${about} failed without a cause: ${events.failed[0]?.failedReason}`);
  }

  checkEvents(): void {
    const { state } = this.#state!;
    const isFailed = state === 'FAILED' || state === 'FAILED_COMPENSATION';
    const undone = this.#members.filter(({ compensation }) => compensation);
    this.#expectCount(
      'group:completed',
      this.#events('group:completed').length,
      state === 'COMPLETED' ? 1 : 0,
    );
    this.#expectCount('group:failed', this.#events('group:failed').length, isFailed ? 1 : 0);
    this.#expectCount('group:recovered', this.#events('group:recovered').length, 0);
    const undoing = this.#events('group:compensating');
    if (undoing.length > (isFailed ? 1 : 0) || (undoing.length === 0 && undone.length > 0))
      this.#blame(`group:compensating: ${undoing.length} times, with ${undone.length} members undone`);
    const { reason, failedJobId = '' } = this.#state!;
    for (const told of undoing)
      if (told.reason !== reason || told.failedJobId !== failedJobId)
        this.#blame(
          `says that it failed by ${told.failedJobId}: ${told.reason}; later by ${failedJobId}: ${reason}`,
        );

    const isUndone = undone.every(({ compensation }) => compensation!.status === 'completed');
    if (isFailed && isUndone !== (state === 'FAILED')) this.#blame(`is ${state}, and undone: ${isUndone}`);
    for (const told of this.#events('group:failed')) {
      const results = undone.map(({ jobKey, compensation }) => ({
        jobId: compensation!.jobId,
        originalJobKey: jobKey,
        status: compensation!.status,
        ...(compensation!.failedReason === undefined ? {} : { failedReason: compensation!.failedReason }),
      }));
      if (told.state !== state) this.#blame(`group:failed says ${told.state}, the group ${state}`);
      if (!isDeepStrictEqual(told.compensationResults, results))
        this.#blame(
          `group:failed tells of ${JSON.stringify(told.compensationResults)}, not ${JSON.stringify(results)}`,
        );
    }
  }

  checkOrder(): void {
    const steps = this.#members.flatMap(({ queueName, jobId, compensation }) => {
      if (!compensation) return [];
      const member = this.#evidence.job(queueName, jobId);
      const undo = this.#evidence.job(compensation.queueName, compensation.jobId);
      const finished = member.completed[0] ?? member.failed[0];
      const settled = undo.completed[0] ?? undo.failed[0];
      const added = undo.added[0];
      return finished && settled && added
        ? [{ jobId, doneAt: finished.atMs, from: added.atMs, to: settled.atMs }]
        : [];
    });
    steps.sort((a, b) => a.from - b.from || a.to - b.to);
    for (const [i, step] of steps.entries()) {
      const before = steps[i - 1];
      if (!before) continue;
      this.seen.push('undone in reverse');
      if (step.doneAt > before.doneAt + SLACK_MS)
        this.#blame(`undoes ${before.jobId} before ${step.jobId}, which completed later`);
      if (step.from < before.to - SLACK_MS)
        this.#blame(`undoes ${step.jobId} while ${before.jobId} is being undone`);
    }
  }

  async checkRetention(): Promise<void> {
    for (const [index, { queueName, jobId, status, compensation }] of this.#members.entries()) {
      const { opts, name } = this.#plan.jobs[index]!;
      if (status === 'completed')
        await this.#checkRecord(queueName, jobId, status, opts.removeOnComplete === true);
      else if (status === 'failed')
        await this.#checkRecord(queueName, jobId, status, opts.removeOnFail === true);
      else await this.#checkRecord(queueName, jobId, 'gone', true);
      const undo = this.#plan.compensation[name];
      if (!compensation || !undo) continue;
      const isErased =
        compensation.status === 'completed' ? undo.opts.removeOnComplete : undo.opts.removeOnFail;
      await this.#checkRecord(
        compensation.queueName,
        compensation.jobId,
        compensation.status,
        isErased === true,
      );
    }
  }

  async #checkRecord(queueName: string, jobId: string, status: string, isErased: boolean): Promise<void> {
    const job = await this.#input.queues.get(queueName)!.getJob(jobId);
    if (!job) {
      if (!isErased && !this.#input.trimmed.has(queueName))
        this.#blame(`${queueName} ${jobId} (${status}) is gone`);
      return;
    }
    const state = await job.getState();
    if (isErased) this.#blame(`${queueName} ${jobId} (${status}) is still there: ${state}`);
    else if (state !== status) this.#blame(`${queueName} ${jobId} is ${state}, its group says ${status}`);
  }
}
