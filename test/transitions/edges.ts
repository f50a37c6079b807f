// Every transition as one call for the job `1`, and the word it answers from each state. The words come from the
// state machine of the wire protocol (§§10–19); what a success changes is said in the transition's own test file.

import {
  addGroupsCall,
  addLogCall,
  addManyCall,
  type CompleteOneCallArg,
  changeDelayCall,
  changePriorityCall,
  completeOneCall,
  detachCall,
  type ExchangeCallArg,
  exchangeCall,
  extendManyCall,
  maintainCall,
  promoteCall,
  pushAdd,
  pushAddGroup,
  pushAddInLane,
  pushAwaitChildren,
  pushComplete,
  pushCompleteInLane,
  pushDelay,
  pushExtend,
  pushFail,
  pushGiveBack,
  pushMember,
  pushRetry,
  releaseDedupCall,
  removeCall,
  removeOrphanCall,
  removeUnprocessedChildrenCall,
  reprocessCall,
  scheduleNextCall,
  updateDataCall,
  updateProgressCall,
} from '../../src/store/generated/engine.ts';
import { ItemRun } from '../../src/store/item-run.ts';
import type { EngineCall } from '../../src/store/lua-source.ts';
import {
  activeFieldCount,
  type Command,
  crowd,
  type JobSpec,
  job,
  type LaneRules,
  lane,
  laneFields,
  NOW,
  ROOT,
  type State,
  states,
  TOKEN,
  usedQueue,
} from '../support/given.ts';

export interface Edge {
  /** File of lua/transitions; several edges can be rows of one transition. */
  readonly transition: string;
  readonly title: string;
  readonly call: EngineCall;
  readonly argv: string[];
  /** The word in the call's reply. */
  readonly word: (reply: unknown[]) => string;
  readonly replies: Readonly<Record<State, string>>;
  /** Words after which something may have changed. */
  readonly successes: readonly string[];
  /** What surrounds the job; a crowd of bystanders if not said. */
  readonly given?: readonly Command[];
  readonly spec?: JobSpec;
}

export const ID = '1';

/** A reply for each state: the one for all, but for those named. */
function replies(others: string, named: Partial<Record<State, string>>): Record<State, string> {
  return Object.fromEntries(states.map((state) => [state, named[state] ?? others])) as Record<State, string>;
}

const single = (reply: unknown[]) => String(reply[0]);
// Only what was refused is told: its number, the word, a value.
const firstFinished = (reply: unknown[]) => (reply[0] as string[])[1] ?? 'ok';
// The same of one by itself: its word, if it was refused.
const onlyFinished = (reply: unknown[]) => String(reply[0] ?? 'ok');

/** What a retry or a backoff carries for the case that it is the end. */
export const ending = { attempts: 3, keepCount: '', keepAge: '', keepLimit: '' };

export const noFetch: ExchangeCallArg = {
  fetchCount: 0,
  aheadCount: 0,
  token: '0',
  leaseMs: '30000',
  worker: '',
  limitMax: '',
  limitMs: '',
  maxBytes: 1_000_000,
  afterFinish: false,
};

type Push<Arg> = (argv: string[], arg: Arg, run?: ItemRun<Arg>) => void;

/** Each as short as the one before it allows, as clients send them. */
export function items<Arg>(push: Push<Arg>, ...args: Arg[]): string[] {
  const argv: string[] = [];
  const run = new ItemRun<Arg>();
  for (const arg of args) push(argv, arg, run);
  return argv;
}

/** A worker's finish, without a fetch. */
export function finishing<Arg>(push: Push<Arg>, ...args: Arg[]): { call: EngineCall; argv: string[] } {
  return { call: exchangeCall, argv: exchangeCall.encode(noFetch, items(push, ...args)) };
}

/** A worker that runs one job at a time hands in that it is completed. */
export function completingOne(arg: Partial<CompleteOneCallArg> = {}): { call: EngineCall; argv: string[] } {
  return {
    call: completeOneCall,
    argv: completeOneCall.encode({ ...completion, lane: '', holdsOthers: false, ...arg }),
  };
}

/** A fetch by worker `mine`, with nothing finished. */
export function fetching(arg: Partial<ExchangeCallArg> = {}): { call: EngineCall; argv: string[] } {
  return {
    call: exchangeCall,
    argv: exchangeCall.encode({ ...noFetch, fetchCount: 1, token: TOKEN, ...arg }, []),
  };
}

export const keepAll = { keepCount: '', keepAge: '', keepLimit: '' };
export const completion = {
  jobId: ID,
  token: TOKEN,
  result: '{"ok":true}',
  fieldCount: '',
  ...keepAll,
};
/** What a worker saw of an active job that is tied to nothing, or to a lane. */
export const seen = { fieldCount: String(activeFieldCount()) };
export const seenInLane = { ...seen, fieldCount: String(activeFieldCount(laneFields())) };
export const failure = {
  jobId: ID,
  token: TOKEN,
  reason: 'broke',
  stacktrace: '["at x"]',
  attempts: 3,
  ...keepAll,
};
export const addition = {
  jobId: ID,
  name: 'mail',
  data: '{"to":"a"}',
  opts: '{"attempts":1}',
  timestamp: '',
  delay: '0',
  priority: '0',
  isNext: false,
};

// A finish needs the lease: without one it is missing, with a foreign one it is lost.
const needsLease = { missing: 'not_found', active: 'ok', foreign: 'lease_lost' } as const;

export const PARENT_KEY = 'bull:p:par';
export const SCHEDULE = 'tick';
export const slot = NOW - 1_000;
export const iteration = `repeat:${SCHEDULE}:${slot}`;

const asChild = (parent: string) => ({
  parentKey: `${ROOT}:${parent}`,
  parent: `{"id":"${parent}","queueKey":"${ROOT}"}`,
});

/** Children of the job: one that waits, one that runs elsewhere, one that failed. */
export const children: Command[] = [
  ...job('waiting', { id: 'ch1', fields: asChild(ID) }),
  ...job('foreign', { id: 'ch2', fields: asChild(ID) }),
  ...job('failed', { id: 'ch3', fields: asChild(ID) }),
];

const list: Edge[] = [
  {
    transition: 'add',
    title: 'a standard job with an id of its own',
    call: addManyCall,
    argv: addManyCall.encode(items(pushAdd, addition)),
    word: single,
    replies: replies('duplicate', { missing: 'added' }),
    successes: ['added', 'duplicate'],
  },
  {
    transition: 'add_in_lane',
    title: 'a job with an id of its own',
    call: addManyCall,
    argv: addManyCall.encode(items(pushAddInLane, { ...addition, lane: 'a', order: '7' })),
    word: single,
    replies: replies('duplicate', { missing: 'added' }),
    successes: ['added', 'duplicate'],
  },
  {
    transition: 'add_group',
    title: 'of one job with an id of its own',
    call: addGroupsCall,
    argv: addGroupsCall.encode([
      ...items(pushAddGroup, { groupId: 'g', name: 'order', compensation: '{}', order: '', timeoutMs: '' }),
      ...items(pushMember, { root: ROOT, mapping: 0, head: '' }),
      ...items(pushAdd, addition),
    ]),
    word: ([reply]) => (reply as string[])[0]!,
    replies: replies('taken', { missing: 'added' }),
    successes: ['added'],
  },
  {
    transition: 'complete',
    title: 'with the lease',
    ...finishing(pushComplete, completion),
    word: firstFinished,
    replies: replies('lease_missing', { ...needsLease, 'waiting-children': 'pending_children' }),
    successes: ['ok'],
  },
  {
    transition: 'complete',
    title: 'with the lease, seen to be tied to nothing',
    ...finishing(pushComplete, { ...completion, ...seen }),
    word: firstFinished,
    replies: replies('lease_missing', { ...needsLease, 'waiting-children': 'pending_children' }),
    successes: ['ok'],
  },
  {
    transition: 'complete',
    title: 'without a lease',
    ...finishing(pushComplete, { ...completion, token: '0' }),
    word: firstFinished,
    replies: replies('not_in_state', {
      missing: 'not_found',
      active: 'ok',
      foreign: 'ok',
      expired: 'ok',
      'waiting-children': 'pending_children',
    }),
    successes: ['ok'],
  },
  {
    transition: 'complete',
    title: 'by itself, with the lease',
    ...completingOne(),
    word: onlyFinished,
    replies: replies('lease_missing', { ...needsLease, 'waiting-children': 'pending_children' }),
    successes: ['ok'],
  },
  {
    transition: 'complete',
    title: 'by itself, seen to be tied to nothing',
    ...completingOne(seen),
    word: onlyFinished,
    replies: replies('lease_missing', { ...needsLease, 'waiting-children': 'pending_children' }),
    successes: ['ok'],
  },
  {
    transition: 'fail',
    title: 'with the lease',
    ...finishing(pushFail, failure),
    word: firstFinished,
    replies: replies('lease_missing', needsLease),
    successes: ['ok'],
  },
  {
    transition: 'retry',
    title: 'with the lease',
    ...finishing(pushRetry, {
      jobId: ID,
      token: TOKEN,
      isNext: false,
      reason: 'broke',
      stacktrace: '["at x"]',
      ...ending,
    }),
    word: firstFinished,
    replies: replies('lease_missing', needsLease),
    successes: ['ok'],
  },
  {
    transition: 'delay',
    title: 'with the lease, as an attempt',
    ...finishing(pushDelay, {
      jobId: ID,
      token: TOKEN,
      delay: 5_000,
      isAttempt: true,
      reason: 'broke',
      stacktrace: '["at x"]',
      ...ending,
    }),
    word: firstFinished,
    replies: replies('lease_missing', needsLease),
    successes: ['ok'],
  },
  {
    transition: 'give_back',
    title: 'with the lease',
    ...finishing(pushGiveBack, { jobId: ID, token: TOKEN, isWish: false, isNew: false }),
    word: firstFinished,
    replies: replies('lease_missing', needsLease),
    successes: ['ok'],
  },
  {
    transition: 'await_children',
    title: 'with the lease and a child that has not settled',
    ...finishing(pushAwaitChildren, { jobId: ID, token: TOKEN, childKey: '' }),
    word: firstFinished,
    replies: replies('lease_missing', needsLease),
    successes: ['ok'],
    spec: { dependencies: ['bull:q:d1'] },
  },
  {
    transition: 'extend',
    title: 'with the lease',
    call: extendManyCall,
    argv: extendManyCall.encode(items(pushExtend, { jobId: ID, token: TOKEN, leaseMs: '60000' })),
    word: single,
    replies: replies('lease_missing', { active: 'ok', foreign: 'lease_lost' }),
    successes: ['ok'],
    given: [...crowd(), ['SADD', `${ROOT}:stalled`, ID, 'x1']],
  },
  {
    transition: 'promote',
    title: 'a delayed job',
    call: promoteCall,
    argv: promoteCall.encode({ jobId: ID }),
    word: single,
    replies: replies('not_in_state', { delayed: 'ok' }),
    successes: ['ok'],
  },
  ...(['completed', 'failed'] as const).map((from) => ({
    transition: 'reprocess',
    title: `from ${from}`,
    call: reprocessCall,
    argv: reprocessCall.encode({ jobId: ID, from, isNext: false, resetsMade: false, resetsStarted: false }),
    word: single,
    replies: replies('not_in_state', { missing: 'not_found', [from]: 'ok' }),
    successes: ['ok'],
  })),
  {
    transition: 'change_delay',
    title: 'of a delayed job',
    call: changeDelayCall,
    argv: changeDelayCall.encode({ jobId: ID, delay: 90_000 }),
    word: single,
    replies: replies('not_in_state', { missing: 'not_found', delayed: 'ok' }),
    successes: ['ok'],
  },
  {
    transition: 'change_priority',
    title: 'to 5',
    call: changePriorityCall,
    argv: changePriorityCall.encode({ jobId: ID, priority: 5, isNext: false }),
    word: single,
    replies: replies('ok', { missing: 'not_found' }),
    successes: ['ok'],
  },
  {
    transition: 'update_data',
    title: 'of a job',
    call: updateDataCall,
    argv: updateDataCall.encode({ jobId: ID, data: '{"n":2}' }),
    word: single,
    replies: replies('ok', { missing: 'not_found' }),
    successes: ['ok'],
  },
  {
    transition: 'update_progress',
    title: 'of a job',
    call: updateProgressCall,
    argv: updateProgressCall.encode({ jobId: ID, progress: '{"at":7}' }),
    word: single,
    replies: replies('ok', { missing: 'not_found' }),
    successes: ['ok'],
  },
  {
    transition: 'add_log',
    title: 'to a job',
    call: addLogCall,
    argv: addLogCall.encode({ jobId: ID, row: 'hello', keep: 0 }),
    word: single,
    replies: replies('ok', { missing: 'not_found' }),
    successes: ['ok'],
  },
  {
    transition: 'remove',
    title: 'a job alone',
    call: removeCall,
    argv: removeCall.encode({ jobId: ID, withChildren: false }),
    word: single,
    replies: replies('ok', { active: 'locked', foreign: 'locked' }),
    successes: ['ok'],
  },
  {
    transition: 'remove',
    title: 'a job with its children',
    call: removeCall,
    argv: removeCall.encode({ jobId: ID, withChildren: true }),
    word: single,
    replies: replies('ok', { active: 'locked', foreign: 'locked' }),
    successes: ['ok'],
    given: [...crowd(), ...job('waiting', { id: 'ch1', fields: asChild(ID) })],
    spec: { dependencies: ['bull:q:ch1'] },
  },
  {
    transition: 'remove_orphan',
    title: 'a job that lies somewhere',
    call: removeOrphanCall,
    argv: removeOrphanCall.encode({ jobId: ID }),
    word: single,
    replies: replies('placed', { missing: 'ok' }),
    successes: ['ok'],
  },
  {
    transition: 'remove_unprocessed_children',
    title: 'of a parent',
    call: removeUnprocessedChildrenCall,
    argv: removeUnprocessedChildrenCall.encode({ jobId: ID }),
    word: single,
    replies: replies('ok', {}),
    successes: ['ok'],
    given: [...crowd(), ...children],
    spec: { dependencies: ['bull:q:ch1', 'bull:q:ch2', 'bull:q:ch3'] },
  },
  {
    transition: 'detach',
    title: 'from a parent in another queue',
    call: detachCall,
    argv: detachCall.encode({ jobId: ID, parentKey: PARENT_KEY }),
    word: single,
    replies: replies('ok', { missing: 'not_found' }),
    successes: ['ok'],
    given: [
      ...crowd(),
      ...usedQueue('bull:p'),
      ...job('waiting-children', { root: 'bull:p', id: 'par', dependencies: [`${ROOT}:${ID}`] }),
    ],
    spec: { fields: { parentKey: PARENT_KEY, parent: '{"id":"par","queueKey":"bull:p"}' } },
  },
  {
    transition: 'release_dedup',
    title: 'held by the job',
    call: releaseDedupCall,
    argv: releaseDedupCall.encode({ jobId: ID, dedupId: 'once' }),
    word: single,
    replies: replies('ok', {}),
    successes: ['ok'],
    given: [...crowd(), ['SET', `${ROOT}:de:once`, ID]],
    spec: { fields: { deid: 'once' } },
  },
  {
    transition: 'schedule_next',
    title: 'after the pending iteration',
    call: scheduleNextCall,
    argv: scheduleNextCall.encode({
      jobId: iteration,
      scheduleId: SCHEDULE,
      nextAt: '',
      every: '',
      offset: '',
      opts: '{"attempts":2',
      idText: `"repeat:${SCHEDULE}:`,
      priority: 0,
      isNext: false,
      data: '{}',
      lane: '',
    }),
    word: single,
    replies: replies('ok', {}),
    successes: ['ok', 'duplicate'],
    given: [
      ...crowd(),
      ['ZADD', `${ROOT}:repeat`, String(slot), SCHEDULE],
      [
        'HSET',
        `${ROOT}:repeat:${SCHEDULE}`,
        'name',
        'tock',
        'every',
        '60000',
        'offset',
        '0',
        'ic',
        '1',
        'data',
        '{"z":1}',
      ],
    ],
    spec: { id: iteration, fields: { rjk: SCHEDULE } },
  },
  {
    transition: 'claim',
    title: 'the only job',
    ...fetching(),
    word: (reply) => ((reply[1] as unknown[]).length > 0 ? 'claimed' : 'nothing'),
    replies: replies('nothing', { waiting: 'claimed', prioritized: 'claimed' }),
    successes: ['claimed'],
    given: usedQueue(),
  },
  {
    transition: 'reclaim',
    title: 'a suspect',
    call: maintainCall,
    argv: maintainCall.encode({ maxStalls: 1, intervalMs: 30_000 }),
    word: (reply) => ((reply[0] as string[]).includes(ID) ? 'ok' : 'left alone'),
    replies: replies('left alone', { expired: 'ok' }),
    successes: ['ok', 'left alone'],
    given: [...crowd(), ['SADD', `${ROOT}:stalled`, ID]],
  },
];

// The same for a job that is out of its lane, with two that rest behind it.
const inLane = (rules: LaneRules = {}): Pick<Edge, 'given' | 'spec'> => ({
  given: [...crowd(), ...lane({ out: [ID], resting: ['r1', 'r2'], rules })],
  spec: { fields: laneFields() },
});
const laned = (
  transition: string,
  title: string,
  { given, spec }: Pick<Edge, 'given' | 'spec'> = inLane(),
): Edge => {
  const edge = list.find((row) => row.transition === transition)!;
  return { ...edge, title: `${edge.title}, ${title}`, given: given!, spec: { ...edge.spec, ...spec } };
};
const skips = inLane({ onRetry: 'skip' });

const inLanes: Edge[] = [
  laned('complete', 'in a lane'),
  {
    ...laned('complete', 'as its worker saw it'),
    transition: 'complete_in_lane',
    ...finishing(pushCompleteInLane, { ...completion, ...seenInLane, lane: 'a' }),
  },
  {
    ...laned('complete', 'by itself, as its worker saw it'),
    transition: 'complete_in_lane',
    ...completingOne({ ...seenInLane, lane: 'a' }),
    word: onlyFinished,
  },
  laned('fail', 'in a lane'),
  laned('fail', 'in a lane that halts', inLane({ onFailure: 'halt' })),
  laned('retry', 'in a lane'),
  laned('retry', 'in a lane where it steps aside', skips),
  laned('delay', 'in a lane'),
  laned('delay', 'in a lane where it steps aside', skips),
  laned('give_back', 'in a lane'),
  laned('remove', 'in a lane'),
  laned('reprocess', 'into a lane that waits', {
    given: [...crowd(), ...lane({ out: ['x1'], resting: ['r1'] })],
    spec: { fields: laneFields() },
  }),
  laned('reprocess', 'into an empty lane', { given: crowd(), spec: { fields: laneFields() } }),
  laned('claim', 'of a lane that it is out of', {
    ...inLane(),
    given: [...usedQueue(), ...lane({ out: [ID], resting: ['r1'] })],
  }),
  laned('claim', 'of a lane with room for it', { given: usedQueue(), spec: { fields: laneFields() } }),
];

/** All edges, in the order of the lists above. */
export const edges: readonly Edge[] = [...list, ...inLanes];

export function edgesOf(transition: string): Edge[] {
  const found = edges.filter((edge) => edge.transition === transition);
  if (found.length === 0) throw new Error(`no edge of ${transition}`);
  return found;
}

export function edgeOf(transition: string): Edge {
  return edgesOf(transition)[0]!;
}
