// Groups at home in one queue: asked for, cancelled, forgotten.

import { yokeError } from '../model/errors.ts';
import type {
  FinalGroupState,
  GroupAudit,
  GroupFinding,
  GroupJobEntry,
  GroupJobStatus,
  GroupState,
  GroupStateName,
} from '../model/group.ts';
import { groupStates } from '../model/group.ts';
import {
  auditGroupsCall,
  cancelGroupCall,
  groupCall,
  groupsCall,
  removeGroupsCall,
  retryGroupCompensationCall,
} from './generated/engine.ts';
import type { Session } from './session.ts';

/** The field of the home's settings that says which ended groups are kept, where it is given. */
export function groupFields(keep: { ageMs?: number; count?: number } | null): Record<string, string> {
  return keep ? { 'yoke.keepGroups': `${keep.count ?? ''}:${keep.ageMs ?? ''}` } : {};
}

type MemberRow = [
  root: string,
  id: string,
  status: string,
  undoId: string,
  undoState: string,
  reason: string,
];

const numeric = new Set([
  'createdAt',
  'updatedAt',
  'totalJobs',
  'completedCount',
  'failedCount',
  'cancelledCount',
  'timeoutAt',
]);
const told = new Set([...numeric, 'name', 'state', 'reason', 'failedJobId']);

export class GroupStore {
  readonly #session: Session;
  readonly #prefix: string;

  /** `session` is the home's. */
  constructor(session: Session, prefix: string) {
    this.#session = session;
    this.#prefix = prefix;
  }

  get home(): string {
    return this.#session.root;
  }

  async state(groupId: string): Promise<GroupState | null> {
    const [fields] = (await this.#read(groupId, false)) as [string[]];
    return decodeState(groupId, fields);
  }

  /** Empty where there is no such group. */
  async jobs(groupId: string): Promise<GroupJobEntry[]> {
    const [, rows] = (await this.#read(groupId, true)) as [string[], MemberRow[]];
    return rows.map((row) => this.#decodeMember(row));
  }

  async cancel(groupId: string, reason: string): Promise<void> {
    const arg = cancelGroupCall.encode({ groupId, reason });
    const [word, state] = (await this.#session.run(cancelGroupCall, arg)) as string[];
    if (word === 'not_found') throw this.#notFound(groupId);
    if (word !== 'not_active') return;
    if (state === 'COMPLETED') throw yokeError('GROUP_CANCEL_COMPLETED', { groupId, state });
    throw yokeError('GROUP_CANCEL_STATE', { groupId, state });
  }

  /** How many compensations run again. */
  async retryCompensation(groupId: string): Promise<number> {
    const arg = retryGroupCompensationCall.encode({ groupId });
    const [word, value] = (await this.#session.run(retryGroupCompensationCall, arg)) as string[];
    if (word === 'not_found') throw this.#notFound(groupId);
    if (word === 'not_failed') throw yokeError('GROUP_NOT_FAILED_COMPENSATION', { groupId, state: value });
    return Number(value);
  }

  async remove(groupId: string): Promise<void> {
    const arg = removeGroupsCall.encode({ groupId, state: '', cutoff: '0', most: 1 });
    const [word, state] = (await this.#session.run(removeGroupsCall, arg)) as string[];
    if (word === 'not_found') throw this.#notFound(groupId);
    if (word === 'not_terminal') throw yokeError('GROUP_NOT_TERMINAL', { groupId, state });
  }

  /** The ids of one bounded step. */
  async clean(state: FinalGroupState, cutoff: number, most: number): Promise<string[]> {
    const arg = removeGroupsCall.encode({ groupId: '', state, cutoff: String(cutoff), most });
    const [, ...ids] = (await this.#session.run(removeGroupsCall, arg)) as string[];
    return ids;
  }

  async list(state: GroupStateName | undefined, first: number, last: number): Promise<GroupState[]> {
    const [ids] = await this.#session.query(
      groupsCall,
      groupsCall.encode({ state: state ?? '', first, last }),
    );
    const found = await Promise.all((ids as string[]).map((id) => this.state(id)));
    return found.filter((group) => group !== null);
  }

  async counts(): Promise<Record<GroupStateName, number>> {
    const [, counts] = await this.#session.query(
      groupsCall,
      groupsCall.encode({ state: '', first: 1, last: 0 }),
    );
    return Object.fromEntries(
      groupStates.map((state, i) => [state, Number((counts as number[])[i])]),
    ) as Record<GroupStateName, number>;
  }

  /** Compares one page of the open groups with their jobs; changes nothing. */
  async audit(first: number, last: number): Promise<GroupAudit> {
    const [count, rows] = await this.#session.query(auditGroupsCall, auditGroupsCall.encode({ first, last }));
    const findings = (rows as string[][]).map(([groupId, kind, jobKey, recorded, found]) => ({
      groupId,
      kind,
      jobKey,
      recorded,
      found,
    })) as GroupFinding[];
    return { groups: Number(count), findings };
  }

  #read(groupId: string, withMembers: boolean): Promise<unknown[]> {
    return this.#session.query(groupCall, groupCall.encode({ groupId, withMembers }));
  }

  #notFound(groupId: string): Error {
    return yokeError('GROUP_NOT_FOUND', { groupId, queue: this.#queueName(this.home) });
  }

  #queueName(root: string): string {
    return root.startsWith(`${this.#prefix}:`) ? root.slice(this.#prefix.length + 1) : root;
  }

  #decodeMember([root, jobId, status, undoId, undoState, reason]: MemberRow): GroupJobEntry {
    const entry: GroupJobEntry = {
      jobId,
      jobKey: `${root}:${jobId}`,
      status: status as GroupJobStatus,
      queueName: this.#queueName(root),
    };
    if (undoState) {
      entry.compensation = {
        jobId: undoId,
        queueName: `${entry.queueName}:compensation`,
        status: undoState as 'waiting' | 'completed' | 'failed',
      };
      if (reason) entry.compensation.failedReason = reason;
    }
    return entry;
  }
}

function decodeState(id: string, fields: readonly string[]): GroupState | null {
  if (fields.length === 0) return null;
  const state: Record<string, unknown> = { id };
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!;
    const value = fields[i + 1]!;
    if (told.has(name) && (value !== '' || name === 'name'))
      state[name] = numeric.has(name) ? Number(value) : value;
  }
  return state as unknown as GroupState;
}
