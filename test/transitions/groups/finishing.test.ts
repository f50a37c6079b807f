// What the end of a member's run means for its group, in every state that the group can be in.

import { describe, expect, it } from 'vitest';
import { exchangeCall, pushComplete, pushFail } from '../../../src/store/generated/engine.ts';
import {
  type Changes,
  events,
  fields,
  gone,
  pushedLeft,
  pushedRight,
  scored,
  without,
} from '../../support/expected.ts';
import { counts, groupChanges, moved, results, told, undoAdded } from '../../support/expected-group.ts';
import { type Command, delayedScore, job, NOW, ROOT } from '../../support/given.ts';
import { type GroupSpec, type MemberSpec, tie, undoId } from '../../support/given-group.ts';
import { completion, failure, noFetch } from '../edges.ts';
import {
  backOff,
  complete,
  done,
  elsewhere,
  fail,
  giveBack,
  later,
  mixed,
  OTHER,
  postpone,
  retry,
  running,
  world,
} from '../group-requests.ts';
import { expectChange, type Request, useTables } from '../tables.ts';

const tables = useTables();
type Event = [string, Record<string, string>?];
const answer = (word: string) => [word === 'ok' ? [] : ['0', word, ''], [], [], '0', '0', '', ''];
const VALUE = '{"ok":true}';

const left: Changes = { 'q:active': without('1'), 'q:1:lock': gone };
const completed: Changes = {
  ...left,
  'q:completed': scored('1', NOW),
  'q:1': fields({ atm: '1', returnvalue: VALUE, finishedOn: String(NOW) }),
};
const failed: Changes = {
  ...left,
  'q:failed': scored('1', NOW),
  'q:1': fields({ atm: '1', failedReason: 'broke', stacktrace: '["at x"]', finishedOn: String(NOW) }),
};
const saysCompleted: Event = ['completed', { jobId: '1', returnvalue: VALUE, prev: 'active' }];
const saysFailed: Event = ['failed', { jobId: '1', failedReason: 'broke', prev: 'active' }];
const erased: Changes = { ...left, 'q:1': gone };

const at = String(NOW);
/** One cancelled elsewhere, and the job `1`, which still runs. */
const cancelled: MemberSpec = { ...elsewhere, status: 'cancelled' };
const late = (...members: MemberSpec[]): GroupSpec => ({
  state: 'COMPENSATING',
  members: [{ ...running, mapping: 0 }, cancelled, ...members],
});

const row = (
  title: string,
  spec: GroupSpec,
  request: Request,
  word: string,
  changes: Changes,
  more: Command[] = [],
) => it(title, () => expectChange(tables, [...world(spec), ...more], request, answer(word), changes));

describe('complete, group ACTIVE', () => {
  row('is counted, and its result is kept for its compensation', { members: mixed }, complete(), 'ok', {
    ...completed,
    'q:events': events(saysCompleted),
    ...groupChanges({ completedCount: '2' }, { 'bull:q:1': 'completed' }, { r3: VALUE }),
  });

  row(
    'without a mapping nothing is kept',
    { members: [{ ...running, mapping: 0 }, later] },
    complete(),
    'ok',
    {
      ...completed,
      'q:events': events(saysCompleted),
      ...groupChanges({ completedCount: '1' }, { 'bull:q:1': 'completed' }),
    },
  );

  row('in reverse order it is the next to be undone', { isReverse: true, members: mixed }, complete(), 'ok', {
    ...completed,
    'q:events': events(saysCompleted),
    'q:groups:g:undo': pushedRight('3'),
    ...groupChanges({ completedCount: '2' }, { 'bull:q:1': 'completed' }, { r3: VALUE }),
  });

  const ended: Changes = {
    ...moved('ACTIVE', 'COMPLETED'),
    'q:events': events(told('completed'), saysCompleted),
    ...groupChanges(
      { state: 'COMPLETED', updatedAt: at, completedCount: '2' },
      { 'bull:q:1': 'completed' },
      { r1: VALUE },
    ),
  };
  row('the last one makes the group COMPLETED', { members: [done, running] }, complete(), 'ok', {
    ...completed,
    ...ended,
  });
  row(
    'also where nothing is kept of the job',
    { members: [done, running] },
    complete({ keepCount: '0' }),
    'ok',
    {
      ...erased,
      ...ended,
    },
  );

  row(
    'by a member whose group is gone it is an ordinary job',
    { members: [running] },
    complete(),
    'ok',
    {
      ...completed,
      'q:events': events(saysCompleted),
    },
    [['DEL', `${ROOT}:groups:g`]],
  );
});

describe('complete, group COMPENSATING', () => {
  row(
    'without a mapping it is counted only',
    late({ id: 'm2', status: 'failed', mapping: 0 }, { id: 'late', status: 'active', at: 'foreign' }),
    complete(),
    'ok',
    {
      ...completed,
      'q:events': events(saysCompleted),
      ...groupChanges(counts({ completedCount: 1, failedCount: 1, cancelledCount: 1 }), {
        'bull:q:1': 'completed',
      }),
    },
  );

  row(
    'with a mapping its compensation is added now',
    { state: 'COMPENSATING', members: [running, cancelled, { id: 'm2', status: 'active', at: 'foreign' }] },
    complete(),
    'ok',
    {
      ...completed,
      'q:events': events(saysCompleted),
      ...undoAdded(0, '1', { result: VALUE }),
      ...groupChanges(
        counts({ completedCount: 1, cancelledCount: 1, undoing: 1 }),
        { 'bull:q:1': 'completed' },
        { r0: VALUE, c0: 'waiting' },
      ),
    },
  );

  row(
    'also where nothing is kept of the job',
    { state: 'COMPENSATING', members: [running, cancelled] },
    complete({ keepCount: '0' }),
    'ok',
    {
      ...erased,
      'q:events': events(saysCompleted),
      ...undoAdded(0, '1', { result: VALUE }),
      ...groupChanges(
        counts({ completedCount: 1, cancelledCount: 1, undoing: 1 }),
        { 'bull:q:1': 'completed' },
        { r0: VALUE, c0: 'waiting' },
      ),
    },
  );

  row(
    'in reverse order, the last to run is the first to be undone',
    { state: 'COMPENSATING', isReverse: true, members: [done, running] },
    complete(),
    'ok',
    {
      ...completed,
      'q:events': events(saysCompleted),
      ...undoAdded(1, '1', { result: VALUE }),
      ...groupChanges(
        counts({ completedCount: 2, undoing: 1 }),
        { 'bull:q:1': 'completed' },
        { r1: VALUE, c1: 'waiting' },
      ),
    },
  );

  row('without anything to undo it ends the group', late(), complete(), 'ok', {
    ...completed,
    ...moved('COMPENSATING', 'FAILED'),
    'q:events': events(told('failed', { state: 'FAILED', compensationResults: '[]' }), saysCompleted),
    ...groupChanges(
      { state: 'FAILED', updatedAt: at, ...counts({ completedCount: 1, cancelledCount: 1 }) },
      { 'bull:q:1': 'completed' },
    ),
  });

  row(
    'with a compensation that has failed the group ends as FAILED_COMPENSATION',
    late({ id: 'm2', status: 'completed', undo: 'failed', reason: 'no \\ "way"' }),
    complete(),
    'ok',
    {
      ...completed,
      ...moved('COMPENSATING', 'FAILED_COMPENSATION'),
      'q:events': events(
        told('failed', {
          state: 'FAILED_COMPENSATION',
          compensationResults: results({
            jobId: undoId(2),
            key: 'bull:q:m2',
            status: 'failed',
            failedReason: 'no \\ "way"',
          }),
        }),
        saysCompleted,
      ),
      ...groupChanges(
        {
          state: 'FAILED_COMPENSATION',
          updatedAt: at,
          ...counts({ completedCount: 2, cancelledCount: 1, undoFailed: 1 }),
        },
        { 'bull:q:1': 'completed' },
      ),
    },
  );
});

describe('complete of a member that was counted already', () => {
  for (const state of ['ACTIVE', 'COMPENSATING', 'COMPLETED', 'FAILED'] as const) {
    row(
      `changes nothing of a group that is ${state}`,
      { state, members: [{ ...done, id: '1', at: 'active' }, later] },
      complete(),
      'ok',
      {
        ...completed,
        'q:events': events(saysCompleted),
      },
    );
  }

  row(
    'a marked member that has run after all is undone, even when the group has ended',
    { state: 'FAILED', members: [{ id: '1', status: 'cancelled', at: 'active' }] },
    complete(),
    'ok',
    {
      ...completed,
      'q:events': events(saysCompleted),
      ...undoAdded(0, '1', { result: VALUE }),
      ...groupChanges(
        counts({ completedCount: 1, undoing: 1 }),
        { 'bull:q:1': 'completed' },
        { r0: VALUE, c0: 'waiting' },
      ),
    },
  );
});

describe('fail, group ACTIVE', () => {
  const compensating = told('compensating', { failedJobId: '1', reason: 'broke' });
  const undone = (record: Record<string, string>) => ({
    state: 'COMPENSATING',
    updatedAt: at,
    failedJobId: '1',
    reason: 'broke',
    ...record,
  });
  const withdrawn: Changes = {
    'p:wait': without('m1'),
    'p:m1': gone,
    'p:events': events(['removed', { jobId: 'm1', prev: 'wait' }]),
    'q:delayed': without('m2'),
    'q:m2': gone,
  };
  const statuses = { 'bull:q:1': 'failed', 'bull:p:m1': 'cancelled', 'bull:q:m2': 'cancelled' };

  row('the group is undone', { members: mixed }, fail(), 'ok', {
    ...failed,
    ...withdrawn,
    'q:events': events(['removed', { jobId: 'm2', prev: 'delayed' }], compensating, saysFailed),
    ...undoAdded(0, 'm0'),
    ...moved('ACTIVE', 'COMPENSATING'),
    ...groupChanges(
      undone(counts({ completedCount: 1, failedCount: 1, cancelledCount: 2, undoing: 1 })),
      statuses,
      { c0: 'waiting' },
    ),
  });

  row('where nothing is kept of it as well', { members: mixed }, fail({ keepCount: '0' }), 'ok', {
    ...erased,
    ...withdrawn,
    'q:events': events(['removed', { jobId: 'm2', prev: 'delayed' }], compensating, saysFailed),
    ...undoAdded(0, 'm0'),
    ...moved('ACTIVE', 'COMPENSATING'),
    ...groupChanges(
      undone(counts({ completedCount: 1, failedCount: 1, cancelledCount: 2, undoing: 1 })),
      statuses,
      { c0: 'waiting' },
    ),
  });

  row(
    'with a mapping for failures it is undone itself',
    { members: [running], onFailed: true },
    fail(),
    'ok',
    {
      ...failed,
      'q:events': events(compensating, saysFailed),
      ...undoAdded(0, '1', { result: 'null' }),
      ...moved('ACTIVE', 'COMPENSATING'),
      ...groupChanges(
        undone(counts({ failedCount: 1, undoing: 1 })),
        { 'bull:q:1': 'failed' },
        { r0: 'null', c0: 'waiting' },
      ),
    },
  );

  row('alone, with nothing to undo, the group has failed at once', { members: [running] }, fail(), 'ok', {
    ...failed,
    'q:events': events(told('failed', { state: 'FAILED', compensationResults: '[]' }), saysFailed),
    ...moved('ACTIVE', 'FAILED'),
    ...groupChanges(undone({ state: 'FAILED', ...counts({ failedCount: 1 }) }), { 'bull:q:1': 'failed' }),
  });

  row(
    'while another member runs, the group waits for it',
    { members: [running, { id: 'm1', status: 'active', at: 'foreign' }] },
    fail(),
    'ok',
    {
      ...failed,
      'q:events': events(compensating, saysFailed),
      ...moved('ACTIVE', 'COMPENSATING'),
      ...groupChanges(undone(counts({ failedCount: 1 })), { 'bull:q:1': 'failed' }),
    },
  );

  row(
    'a member that was interrupted and waits is not taken out',
    { members: [running, { id: 'm1', status: 'active', at: 'waiting' }] },
    fail(),
    'ok',
    {
      ...failed,
      'q:events': events(compensating, saysFailed),
      ...moved('ACTIVE', 'COMPENSATING'),
      ...groupChanges(undone(counts({ failedCount: 1 })), { 'bull:q:1': 'failed' }),
    },
  );
});

describe('fail, group COMPENSATING', () => {
  row(
    'is counted; nothing begins anew',
    late({ id: 'm2', status: 'completed', undo: 'waiting' }),
    fail(),
    'ok',
    {
      ...failed,
      'q:events': events(saysFailed),
      ...groupChanges(counts({ completedCount: 1, failedCount: 1, cancelledCount: 1, undoing: 1 }), {
        'bull:q:1': 'failed',
      }),
    },
  );

  row(
    'the last one ends the group',
    late({ id: 'm2', status: 'completed', undo: 'completed' }),
    fail(),
    'ok',
    {
      ...failed,
      ...moved('COMPENSATING', 'FAILED'),
      'q:events': events(
        told('failed', {
          state: 'FAILED',
          compensationResults: results({ jobId: undoId(2), key: 'bull:q:m2', status: 'completed' }),
        }),
        saysFailed,
      ),
      ...groupChanges(
        {
          state: 'FAILED',
          updatedAt: at,
          ...counts({ completedCount: 1, failedCount: 1, cancelledCount: 1 }),
        },
        { 'bull:q:1': 'failed' },
      ),
    },
  );

  row(
    'with a mapping for failures it is undone too',
    { state: 'COMPENSATING', onFailed: true, members: [running, cancelled] },
    fail(),
    'ok',
    {
      ...failed,
      'q:events': events(saysFailed),
      ...undoAdded(0, '1', { result: 'null' }),
      ...groupChanges(
        counts({ failedCount: 1, cancelledCount: 1, undoing: 1 }),
        { 'bull:q:1': 'failed' },
        { r0: 'null', c0: 'waiting' },
      ),
    },
  );
});

describe('an attempt that failed', () => {
  const waitsAgain: Changes = {
    ...left,
    'q:1': fields({ atm: '1', failedReason: 'broke', stacktrace: '["at x"]' }),
    ...groupChanges({}, { 'bull:q:1': 'pending' }),
  };
  const { 'q:groups:g': _record, ...again } = waitsAgain;

  row('group ACTIVE: retry, the member is pending again', { members: mixed }, retry, 'ok', {
    ...again,
    'q:wait': pushedLeft('1'),
    'q:marker': scored('0', 0),
    'q:events': events(['waiting', { jobId: '1', prev: 'active' }]),
  });

  row('group ACTIVE: delay, the member is pending again', { members: mixed }, backOff, 'ok', {
    ...again,
    'q:1': fields({ atm: '1', failedReason: 'broke', stacktrace: '["at x"]', delay: '5000' }),
    'q:delayed': scored('1', delayedScore(NOW + 5_000)),
    'q:marker': scored('1', NOW + 5_000),
    'q:events': events(['delayed', { jobId: '1', delay: String(NOW + 5_000) }]),
  });

  for (const [verb, request] of [
    ['retry', retry],
    ['delay', backOff],
  ] as const) {
    row(
      `group COMPENSATING: ${verb} is a failure`,
      late({ id: 'm2', status: 'completed', undo: 'waiting' }),
      request,
      'failed',
      {
        ...failed,
        'q:events': events(saysFailed),
        ...groupChanges(counts({ completedCount: 1, failedCount: 1, cancelledCount: 1, undoing: 1 }), {
          'bull:q:1': 'failed',
        }),
      },
    );
  }
});

describe('a handler that steps aside', () => {
  row('group ACTIVE: delay without an attempt, pending again', { members: mixed }, postpone, 'ok', {
    ...left,
    'q:1': fields({ delay: '5000' }),
    'q:delayed': scored('1', delayedScore(NOW + 5_000)),
    'q:marker': scored('1', NOW + 5_000),
    'q:events': events(['delayed', { jobId: '1', delay: String(NOW + 5_000) }]),
    'q:groups:g:jobs': fields({ 'bull:q:1': 'pending' }),
  });

  row('group ACTIVE: give_back by wish, pending again', { members: mixed }, giveBack(true), 'ok', {
    ...left,
    'q:wait': pushedRight('1'),
    'q:marker': scored('0', 0),
    'q:events': events(['waiting', { jobId: '1', prev: 'active' }]),
    'q:groups:g:jobs': fields({ 'bull:q:1': 'pending' }),
  });

  for (const [verb, request] of [
    ['delay', postpone],
    ['give_back', giveBack(true)],
  ] as const) {
    row(
      `group COMPENSATING: ${verb} cancels it`,
      late({ id: 'm2', status: 'completed', undo: 'waiting' }),
      request,
      'cancelled',
      {
        ...erased,
        'q:events': events(['removed', { jobId: '1', prev: 'active' }]),
        ...groupChanges(counts({ completedCount: 1, cancelledCount: 2, undoing: 1 }), {
          'bull:q:1': 'cancelled',
        }),
      },
    );

    row(`group COMPENSATING: ${verb} of the last one ends the group`, late(), request, 'cancelled', {
      ...erased,
      ...moved('COMPENSATING', 'FAILED'),
      'q:events': events(told('failed', { state: 'FAILED', compensationResults: '[]' }), [
        'removed',
        { jobId: '1', prev: 'active' },
      ]),
      ...groupChanges(
        { state: 'FAILED', updatedAt: at, ...counts({ cancelledCount: 2 }) },
        { 'bull:q:1': 'cancelled' },
      ),
    });
  }
});

describe('a lease that is handed back', () => {
  for (const spec of [{ members: mixed }, late()] as GroupSpec[]) {
    row(
      `group ${spec.state ?? 'ACTIVE'}: it runs again, and the group sees no difference`,
      spec,
      giveBack(false),
      'ok',
      {
        ...left,
        'q:wait': pushedRight('1'),
        'q:marker': scored('0', 0),
        'q:events': events(['waiting', { jobId: '1', prev: 'active' }]),
      },
    );
  }
});

describe('a member of an earlier group that had the same id', () => {
  // The group of now has other members; the job `1` still says that it belongs to a group of this name.
  const given = (state: GroupSpec['state']) =>
    world({ state, members: [{ id: 'm1', status: 'active', at: 'foreign' }] }).concat(
      job('active', { fields: { grp: tie('member', 0, 1) } }),
    );

  for (const state of ['ACTIVE', 'COMPENSATING', 'FAILED'] as const) {
    it(`is an ordinary job to a group that is ${state}`, async () => {
      await expectChange(tables, given(state), complete(), answer('ok'), {
        ...completed,
        'q:events': events(saysCompleted),
      });
      await expectChange(tables, given(state), fail(), answer('ok'), {
        ...failed,
        'q:events': events(saysFailed),
      });
      await expectChange(tables, given(state), retry, answer('ok'), {
        ...left,
        'q:1': fields({ atm: '1', failedReason: 'broke', stacktrace: '["at x"]' }),
        'q:wait': pushedLeft('1'),
        'q:marker': scored('0', 0),
        'q:events': events(['waiting', { jobId: '1', prev: 'active' }]),
      });
    });
  }
});

describe('several members in one call', () => {
  const both = (second: MemberSpec = { id: '2', status: 'active' }): GroupSpec => ({
    members: [running, second],
  });
  const exchange = (...items: ((argv: string[]) => void)[]): Request => {
    const argv: string[] = [];
    for (const push of items) push(argv);
    return { call: exchangeCall, argv: exchangeCall.encode(noFetch, argv) };
  };
  const completes = (jobId: string) => (argv: string[]) => pushComplete(argv, { ...completion, jobId });
  const fails = (jobId: string) => (argv: string[]) => pushFail(argv, { ...failure, jobId });
  const groupEvents = async () =>
    ((await tables.keyspace())['q:events']!.value as string[][])
      .filter(([, name]) => name!.startsWith('group:'))
      .map(([, name]) => name);

  it('the two last complete: the group completes once', async () => {
    await tables.given(world(both()));
    expect((await tables.run(exchange(completes('1'), completes('2'))))[0]).toEqual([]);
    expect(await groupEvents()).toEqual(['group:completed']);
    expect((await tables.keyspace())['q:groups:g']?.value).toMatchObject({
      state: 'COMPLETED',
      completedCount: '2',
    });
  });

  it('one fails and one completes, in either order: the one is undone, once', async () => {
    for (const [first, second, index, id] of [
      [fails('1'), completes('2'), 1, '2'],
      [completes('1'), fails('2'), 0, '1'],
    ] as const) {
      await tables.given(world(both()));
      expect((await tables.run(exchange(first, second)))[0]).toEqual([]);
      expect(await groupEvents()).toEqual(['group:compensating']);
      const after = await tables.keyspace();
      expect(after['q:groups:g']?.value).toMatchObject({
        state: 'COMPENSATING',
        completedCount: '1',
        failedCount: '1',
        undoing: '1',
      });
      expect(after['q:compensation:wait']?.value).toEqual([undoId(index)]);
      expect(after[`q:compensation:${undoId(index)}`]?.value).toMatchObject({
        data: expect.stringContaining(`"originalJobId":"${id}","originalReturnValue":${VALUE},`),
      });
    }
  });

  it('two fail: one cycle', async () => {
    await tables.given(world(both()));
    expect((await tables.run(exchange(fails('1'), fails('2'))))[0]).toEqual([]);
    expect(await groupEvents()).toEqual(['group:compensating', 'group:failed']);
    expect((await tables.keyspace())['q:groups:g']?.value).toMatchObject({
      state: 'FAILED',
      failedCount: '2',
      failedJobId: '1',
    });
  });

  it('a finish without its lease is refused and counts for nothing', async () => {
    for (const request of [complete({ token: 'theirs:1' }), fail({ token: 'theirs:1' })]) {
      const space = await tables.given(world(both({ id: '2', root: OTHER, status: 'pending' })));
      expect((await tables.run(request))[0]).toEqual(['0', 'lease_lost', '']);
      expect(await tables.keyspace()).toEqual(space);
    }
  });
});
