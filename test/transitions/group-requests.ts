// Calls that meet a group, each from a keyspace in which it has something to do with it.

import {
  type AddGroupArg,
  addGroupsCall,
  cancelGroupCall,
  cleanCall,
  drainCall,
  maintainCall,
  obliterateCall,
  pushAdd,
  pushAddGroup,
  pushComplete,
  pushDelay,
  pushFail,
  pushGiveBack,
  pushMapping,
  pushMember,
  pushRetry,
  removeCall,
  removeGroupsCall,
  reprocessCall,
  retryGroupCompensationCall,
} from '../../src/store/generated/engine.ts';
import { type Command, crowd, hset, NOW, ROOT, TOKEN, usedQueue } from '../support/given.ts';
import {
  compensationRoot,
  GROUP,
  type GroupSpec,
  givenGroup,
  headOf,
  type MemberSpec,
  mapping,
  undoId,
} from '../support/given-group.ts';
import { addition, completion, ending, failure, fetching, finishing } from './edges.ts';
import type { QueueRequest } from './requests.ts';
import type { Request } from './tables.ts';

export const OTHER = 'bull:p';
export const UNDO = compensationRoot(ROOT);

/** One that is done, one that waits elsewhere, one that is delayed, and the job `1`, which the caller runs. */
export const done: MemberSpec = { id: 'm0', status: 'completed' };
export const elsewhere: MemberSpec = { id: 'm1', status: 'pending', root: OTHER };
export const later: MemberSpec = { id: 'm2', status: 'pending', at: 'delayed', mapping: 0 };
export const running: MemberSpec = { id: '1', status: 'active' };
export const mixed: readonly MemberSpec[] = [done, elsewhere, later, running];

/** Two used queues with bystanders, and the group. */
export const world = (spec: GroupSpec): Command[] => [...crowd(), ...crowd(OTHER), ...givenGroup(spec)];

/** A call whose root is another queue is told so by the tables; all of these run on the home or on `root`. */
export interface GroupRequest extends QueueRequest {
  readonly word: (reply: unknown[]) => string;
  /** What it answers. */
  readonly answer: string;
}

const single = (reply: unknown[]) => String(reply[0]);
/** The word of each group that was to be added. */
const words = (reply: unknown[]) => (reply as string[][]).map(([word]) => word).join(' ');
// Only what did not go as handed in is told: its number, the word, a value.
const finished = (reply: unknown[]) => (reply[0] as string[])[1] ?? 'ok';
/** The id that was given, or the trouble that kept one from being given. */
const fetched = (reply: unknown[]) => String((reply[1] as unknown[])[0] ?? reply[6]);

type NewMember = { id: string; root?: string; mapping?: number; delay?: string; priority?: string };
type NewGroup = readonly [arg?: Partial<AddGroupArg>, members?: readonly NewMember[]];
const threeMembers: readonly NewMember[] = [
  { id: 'a' },
  { id: 'b', root: OTHER, mapping: 0, delay: '500' },
  { id: '' },
];

/** One call for all of them. */
export const addGroups = (...groups: readonly NewGroup[]): Request => {
  const items: string[] = [];
  for (const [arg = {}, members = threeMembers] of groups) {
    const whole = { groupId: GROUP, name: 'order', compensation: '{"mail":{}}', order: '', timeoutMs: '' };
    pushAddGroup(items, { ...whole, ...arg });
    pushMapping(items, mapping(arg.groupId));
    for (const { id, root = ROOT, mapping: number = 1, delay = '0', priority = '0' } of members) {
      const head = headOf(id === '' ? '\0' : id, arg.groupId);
      pushMember(items, { root, mapping: number, head });
      pushAdd(items, { ...addition, jobId: id, delay, priority });
    }
  }
  return { call: addGroupsCall, argv: addGroupsCall.encode(items) };
};

export const addGroup = (...group: NewGroup): Request => addGroups(group);

export const cancelGroup = (reason = 'cancelled'): Request => ({
  call: cancelGroupCall,
  argv: cancelGroupCall.encode({ groupId: GROUP, reason }),
});
export const retryUndoing: Request = {
  call: retryGroupCompensationCall,
  argv: retryGroupCompensationCall.encode({ groupId: GROUP }),
};
export const removeGroup: Request = {
  call: removeGroupsCall,
  argv: removeGroupsCall.encode({ groupId: GROUP, state: '', cutoff: '0', most: 1 }),
};
export const removeGroups = (state: string, cutoff = NOW, most = 100): Request => ({
  call: removeGroupsCall,
  argv: removeGroupsCall.encode({ groupId: '', state, cutoff: String(cutoff), most }),
});
export const complete = (arg: Partial<typeof completion> = {}): Request =>
  finishing(pushComplete, { ...completion, ...arg });
export const fail = (arg: Partial<typeof failure> = {}): Request =>
  finishing(pushFail, { ...failure, ...arg });
const attempt = { jobId: '1', token: TOKEN, reason: 'broke', stacktrace: '["at x"]', ...ending };
export const retry: Request = finishing(pushRetry, { ...attempt, isNext: false });
export const backOff: Request = finishing(pushDelay, { ...attempt, delay: 5_000, isAttempt: true });
export const postpone: Request = finishing(pushDelay, {
  ...attempt,
  delay: 5_000,
  isAttempt: false,
  reason: '',
  stacktrace: '',
});
export const giveBack = (isWish: boolean): Request =>
  finishing(pushGiveBack, { jobId: '1', token: TOKEN, isWish, isNew: false });
export const remove = (jobId: string): Request => ({
  call: removeCall,
  argv: removeCall.encode({ jobId, withChildren: false }),
});
export const reprocess = (jobId: string, from: string): Request => ({
  call: reprocessCall,
  argv: reprocessCall.encode({ jobId, from, isNext: false, resetsMade: true, resetsStarted: true }),
});
export const INTERVAL = 30_000;
export const maintain: Request = {
  call: maintainCall,
  argv: maintainCall.encode({ maxStalls: 1, intervalMs: INTERVAL }),
};
export const drain: Request = {
  call: drainCall,
  argv: drainCall.encode({ withDelayed: true, most: 1000 }),
};
export const clean = (state: string): Request => ({
  call: cleanCall,
  argv: cleanCall.encode({ state, cutoff: String(NOW), limit: 0, most: 1000 }),
});
export const obliterate = (isForced: boolean): Request => ({
  call: obliterateCall,
  argv: obliterateCall.encode({ isForced, most: 1000 }),
});

const paused: Command = hset(`${ROOT}:meta`, { paused: '1' });
const compensating: GroupSpec = {
  state: 'COMPENSATING',
  members: [
    { ...done, undo: 'waiting' },
    { ...elsewhere, status: 'cancelled' },
    { ...later, status: 'cancelled' },
    running,
  ],
};
/** The caller runs the compensation of the first member. */
export const undoing = (members: readonly MemberSpec[] = [], spec: Partial<GroupSpec> = {}): GroupSpec => ({
  state: 'COMPENSATING',
  members: [
    { ...done, undo: 'waiting', undoAt: 'active' },
    { id: 'm1', status: 'failed', mapping: 0 },
    ...members,
  ],
  ...spec,
});
export const ofUndo = (request: Request): Request => ({ ...request, root: UNDO });
const undoCompleted = ofUndo(complete({ jobId: undoId(0) }));
const undoFailed = ofUndo(fail({ jobId: undoId(0) }));
const next: MemberSpec = { id: 'm2', status: 'completed' };
const brokenUndoing: GroupSpec = {
  state: 'FAILED_COMPENSATION',
  members: [
    { ...done, undo: 'failed' },
    { id: 'm1', status: 'failed' },
  ],
};

const requests: GroupRequest[] = [
  {
    title: 'add_group',
    ...addGroup({ timeoutMs: '9000', order: 'reverse' }),
    given: [...crowd(), ...usedQueue(OTHER)],
    word: words,
    answer: 'added',
    refusals: [],
  },
  {
    title: 'add_group after one with the same id was forgotten',
    ...addGroup(),
    given: [
      ...crowd(),
      ...usedQueue(OTHER),
      ...givenGroup({ state: 'FAILED', members: [{ ...done, undo: 'completed' }] }),
      ['DEL', `${ROOT}:groups`, `${ROOT}:groups:g`, `${ROOT}:groups:g:jobs`, `${ROOT}:groups:g:plan`],
    ],
    word: words,
    answer: 'added',
    refusals: [],
  },
  {
    title: 'add_group whose id exists',
    ...addGroup(),
    given: world({ members: mixed }),
    word: words,
    answer: 'exists',
    refusals: ['exists'],
  },
  {
    title: 'add_group with an id that is taken',
    ...addGroup({}, [{ id: 'a' }, { id: 'w1', root: OTHER }]),
    given: [...crowd(), ...crowd(OTHER)],
    word: words,
    answer: 'taken',
    refusals: ['taken'],
  },
  {
    title: 'cancel_group',
    ...cancelGroup(),
    given: world({ members: mixed }),
    word: single,
    answer: 'ok',
    refusals: [],
  },
  {
    title: 'cancel_group of a group that is being undone',
    ...cancelGroup(),
    given: world(compensating),
    word: single,
    answer: 'not_active',
    refusals: ['not_active'],
  },
  {
    title: 'retry_group_compensation',
    ...retryUndoing,
    given: world(brokenUndoing),
    word: single,
    answer: 'ok',
    refusals: [],
  },
  {
    title: 'retry_group_compensation of a compensation whose job is gone',
    ...retryUndoing,
    given: [...world(brokenUndoing), ['DEL', `${UNDO}:failed`, `${UNDO}:${undoId(0)}`]],
    word: single,
    answer: 'ok',
    refusals: [],
  },
  {
    title: 'retry_group_compensation of an active group',
    ...retryUndoing,
    given: world({ members: mixed }),
    word: single,
    answer: 'not_failed',
    refusals: ['not_failed'],
  },
  {
    title: 'remove_groups, one',
    ...removeGroup,
    given: world(brokenUndoing),
    word: single,
    answer: 'ok',
    refusals: [],
  },
  {
    title: 'remove_groups, all of a state',
    ...removeGroups('FAILED_COMPENSATION'),
    given: world(brokenUndoing),
    word: single,
    answer: 'ok',
    refusals: [],
  },
  {
    title: 'remove_groups, one that is open',
    ...removeGroup,
    given: world({ members: mixed }),
    word: single,
    answer: 'not_terminal',
    refusals: ['not_terminal'],
  },
  {
    title: 'a member completes',
    ...complete(),
    given: world({ members: mixed }),
    word: finished,
    answer: 'ok',
    refusals: [],
  },
  {
    title: 'the last member completes',
    ...complete(),
    given: world({ members: [done, running] }),
    word: finished,
    answer: 'ok',
    refusals: [],
  },
  {
    title: 'a late member completes',
    ...complete(),
    given: world(compensating),
    word: finished,
    answer: 'ok',
    refusals: [],
  },
  {
    title: 'a late member completes, reverse order',
    ...complete(),
    given: world({
      ...compensating,
      isReverse: true,
      members: [done, { ...elsewhere, status: 'cancelled' }, running],
    }),
    word: finished,
    answer: 'ok',
    refusals: [],
  },
  {
    title: 'a member fails',
    ...fail(),
    given: world({ members: mixed }),
    word: finished,
    answer: 'ok',
    refusals: [],
  },
  {
    title: 'a member fails that is undone all the same',
    ...fail(),
    given: world({ members: mixed, onFailed: true }),
    word: finished,
    answer: 'ok',
    refusals: [],
  },
  {
    title: 'a late member fails',
    ...fail(),
    given: world(compensating),
    word: finished,
    answer: 'ok',
    refusals: [],
  },
  ...(
    [
      ['ACTIVE', { members: mixed }, 'ok', 'ok', 'ok'],
      ['COMPENSATING', compensating, 'failed', 'cancelled', 'ok'],
    ] as const
  ).flatMap(([state, spec, attempted, wished, interrupted]): GroupRequest[] => [
    {
      title: `a member is tried again, group ${state}`,
      ...retry,
      given: world(spec),
      word: finished,
      answer: attempted,
      refusals: [],
    },
    {
      title: `a member backs off, group ${state}`,
      ...backOff,
      given: world(spec),
      word: finished,
      answer: attempted,
      refusals: [],
    },
    {
      title: `a member postpones itself, group ${state}`,
      ...postpone,
      given: world(spec),
      word: finished,
      answer: wished,
      refusals: [],
    },
    {
      title: `a member steps aside, group ${state}`,
      ...giveBack(true),
      given: world(spec),
      word: finished,
      answer: wished,
      refusals: [],
    },
    {
      title: `a member is handed back, group ${state}`,
      ...giveBack(false),
      given: world(spec),
      word: finished,
      answer: interrupted,
      refusals: [],
    },
  ]),
  {
    title: 'a member is fetched',
    ...fetching(),
    given: [...usedQueue(), ...givenGroup({ members: [{ id: '1', status: 'pending' }] })],
    word: fetched,
    answer: '1',
    refusals: [],
  },
  ...(['completed', 'failed', 'cancelled'] as const).map(
    (status): GroupRequest => ({
      title: `a ${status} member is not fetched`,
      ...fetching(),
      given: [
        ...usedQueue(),
        ...givenGroup({
          state: 'COMPENSATING',
          members: [
            { id: '1', status, at: 'waiting' },
            { id: 'm1', status: 'active' },
          ],
        }),
      ],
      word: fetched,
      answer: '',
      refusals: [],
    }),
  ),
  ...(
    [
      ['the last compensation', undoing()],
      ['a compensation', undoing([{ ...next, undo: 'waiting' }])],
      ['a compensation with one after it', undoing([next], { isReverse: true })],
    ] as const
  ).flatMap(([what, spec]): GroupRequest[] => [
    {
      title: `${what} completes`,
      ...undoCompleted,
      given: world(spec),
      word: finished,
      answer: 'ok',
      refusals: [],
    },
    { title: `${what} fails`, ...undoFailed, given: world(spec), word: finished, answer: 'ok', refusals: [] },
  ]),
  {
    title: 'a compensation that ran again completes',
    ...undoCompleted,
    given: world(undoing([], { state: 'FAILED_COMPENSATION' })),
    word: finished,
    answer: 'ok',
    refusals: [],
  },
  {
    title: 'reprocess of a failed compensation',
    ...ofUndo(reprocess(undoId(0), 'failed')),
    given: world(brokenUndoing),
    word: single,
    answer: 'ok',
    refusals: [],
  },
  {
    title: 'remove of a compensation that has not settled',
    ...ofUndo(remove(undoId(0))),
    given: world({ ...compensating }),
    word: single,
    answer: 'compensation',
    refusals: ['compensation'],
  },
  {
    title: 'remove of a member that has its outcome',
    ...remove('m0'),
    given: world({ members: mixed }),
    word: single,
    answer: 'ok',
    refusals: [],
  },
  {
    title: 'remove of a member whose outcome is awaited',
    ...remove('m2'),
    given: world({ members: mixed }),
    word: single,
    answer: 'group_member',
    refusals: ['group_member'],
  },
  {
    title: 'reprocess of a member',
    ...reprocess('m0', 'completed'),
    given: world({ members: mixed }),
    word: single,
    answer: 'group_member',
    refusals: ['group_member'],
  },
  {
    title: 'drain under a group',
    ...drain,
    given: world({ members: mixed }),
    word: single,
    answer: '5',
    refusals: [],
  },
  {
    title: 'clean of delayed jobs under a group',
    ...clean('delayed'),
    given: world({ members: mixed }),
    word: single,
    answer: 'm2',
    refusals: [],
  },
  {
    title: 'obliterate of a home with an open group',
    ...obliterate(false),
    given: [...usedQueue(), paused, ...givenGroup({ members: [later] })],
    word: single,
    answer: 'has_groups',
    refusals: ['has_groups'],
  },
  {
    title: 'obliterate of a home with an open group, by force',
    ...obliterate(true),
    given: [...world({ members: mixed }), paused],
    word: single,
    answer: 'done',
    refusals: [],
  },
  {
    title: 'maintain of a group whose time is up',
    ...maintain,
    given: world({ members: mixed, timeoutAt: NOW - 1, checkAt: NOW - 1 }),
    word: (reply) => String(reply[1]),
    answer: '0',
    refusals: [],
  },
  {
    title: 'maintain of a group that has lost a member',
    ...maintain,
    given: world({ members: [...mixed, { id: 'gone', status: 'pending', at: 'missing' }], checkAt: NOW - 1 }),
    word: (reply) => String(reply[1]),
    answer: '0',
    refusals: [],
  },
];

export const groupRequests: readonly GroupRequest[] = requests;
