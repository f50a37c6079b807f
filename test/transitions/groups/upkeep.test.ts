// The upkeep compares open groups with where their jobs really are, and applies what the workers would have.

import { describe, expect, it } from 'vitest';
import { auditGroupsCall } from '../../../src/store/generated/engine.ts';
import {
  type Changes,
  changed,
  events,
  fields,
  gone,
  list,
  pushedRight,
  scored,
  without,
  zset,
} from '../../support/expected.ts';
import { counts, groupChanges, moved, results, told, undoAdded } from '../../support/expected-group.ts';
import { type Command, crowd, job, NOW, ROOT, usedQueue } from '../../support/given.ts';
import { CREATED, type GroupSpec, givenGroup, type MemberSpec, undoId } from '../../support/given-group.ts';
import { done, INTERVAL, later, maintain, mixed, OTHER, running, UNDO, world } from '../group-requests.ts';
import { expectChange, type Request, useTables } from '../tables.ts';

const tables = useTables();
const at = String(NOW);
const due = { checkAt: NOW - 1 };
const ran = [[], '0'];

/** What a tick leaves of itself on this queue: its mutex, the suspects of the next, and when the home was seen. */
const tick = (suspects: string[], root = 'q'): Changes => ({
  [`${root}:stalled-check`]: () => ({ type: 'string', value: at, hasTtl: true }),
  [`${root}:stalled`]: () => ({ type: 'set', value: [...suspects].sort(), hasTtl: false }),
  [`${root}:meta:homes`]: zset([ROOT, at]),
});
const checkedAt = (time: number): Changes => ({ 'q:meta:groups:open': zset(['g', String(time)]) });
const next = checkedAt(NOW + INTERVAL);
const suspects = ['1', 'x1'];
const noHome: Changes = { 'q:meta:homes': gone };

const row = (
  title: string,
  spec: GroupSpec,
  changes: Changes,
  more: Command[] = [],
  request: Request = maintain,
) => it(title, () => expectChange(tables, [...world(spec), ...more], request, ran, changes));

describe('a tick', () => {
  row(
    'finds nothing to do in a group that knows all',
    { members: mixed, ...due },
    { ...tick(suspects), ...next },
  );
  row('leaves a group alone whose time to be looked at has not come', { members: mixed }, tick(suspects));
  row(
    'looks at a group again when its time is up, if that is earlier',
    { members: mixed, timeoutAt: NOW + 500, ...due },
    { ...tick(suspects), ...checkedAt(NOW + 500) },
  );
  row(
    'forgets a home without open groups',
    { state: 'COMPLETED', members: [{ ...done, mapping: 0 }] },
    { ...tick(['x1']), ...noHome },
  );
  row(
    'takes out of the open ones what is not there',
    { members: [running] },
    { ...tick(suspects), 'q:meta:groups:open': gone, ...noHome },
    [
      ['DEL', `${ROOT}:groups:g`],
      ['ZADD', `${ROOT}:meta:groups:open`, '1', 'g'],
    ],
  );

  it('looks after the homes of other queues that have members here', async () => {
    const spec: GroupSpec = {
      members: [{ ...running, root: OTHER, at: 'foreign' }],
      timeoutAt: NOW - 1,
      ...due,
    };
    await expectChange(tables, world(spec), { ...maintain, root: OTHER }, ran, {
      ...tick(['1', 'x1'], 'p'),
      ...next,
      ...moved('ACTIVE', 'COMPENSATING'),
      'q:meta:groups:open': zset(['g', String(NOW + INTERVAL)]),
      'q:events': events(told('compensating', { failedJobId: '', reason: 'timeout' })),
      ...groupChanges({
        state: 'COMPENSATING',
        updatedAt: at,
        ...counts(),
        failedJobId: '',
        reason: 'timeout',
      }),
    });
  });

  it('rebuilds the list of groups where another library has swept it away', async () => {
    const ended = givenGroup({
      id: 'old',
      state: 'FAILED',
      members: [{ id: 'o', status: 'failed', mapping: 0 }],
    });
    const given = [...world({ members: mixed, ...due }), ...ended];
    await expectChange(tables, [...given, ['DEL', `${ROOT}:groups`]], maintain, ran, {
      ...tick(suspects),
      ...next,
      'q:groups': zset(['g', String(CREATED)], ['old', String(CREATED)]),
    });
  });

  it('that comes while the mutex is held looks after groups all the same, and not more often', async () => {
    const mutex: Command = ['SET', `${ROOT}:stalled-check`, '1', 'PX', '20000'];
    const given = [...world({ members: mixed, ...due }), mutex];
    const space = await tables.given(given);
    const [recovered, waitMs] = (await tables.run(maintain)) as [string[], string];
    expect(recovered).toEqual([]);
    expect(Number(waitMs)).toBeGreaterThan(0);
    expect(await tables.keyspace()).toEqual(changed(space, { ...next, 'q:meta:homes': zset([ROOT, at]) }));
    await tables.admin.zadd(`${ROOT}:meta:groups:open`, '1', 'g');
    const again = await tables.keyspace();
    await tables.run(maintain);
    expect(await tables.keyspace()).toEqual(again);
  });
});

describe('a group whose time is up', () => {
  row(
    'is undone, reason timeout',
    { members: mixed, timeoutAt: NOW, ...due },
    {
      ...tick(suspects),
      ...next,
      'p:wait': without('m1'),
      'p:m1': gone,
      'p:events': events(['removed', { jobId: 'm1', prev: 'wait' }]),
      'q:delayed': without('m2'),
      'q:m2': gone,
      'q:events': events(
        ['removed', { jobId: 'm2', prev: 'delayed' }],
        told('compensating', { failedJobId: '', reason: 'timeout' }),
      ),
      ...undoAdded(0, 'm0'),
      'q:meta:groups:COMPENSATING': zset(['g', at]),
      ...groupChanges(
        {
          state: 'COMPENSATING',
          updatedAt: at,
          ...counts({ completedCount: 1, cancelledCount: 2, undoing: 1 }),
          failedJobId: '',
          reason: 'timeout',
        },
        { 'bull:p:m1': 'cancelled', 'bull:q:m2': 'cancelled' },
        { c0: 'waiting' },
      ),
    },
  );

  row(
    'and is being undone already stays as it is',
    { state: 'COMPENSATING', members: [running], timeoutAt: NOW - 1, ...due },
    { ...tick(suspects), ...next },
  );

  row(
    'completes, if the last member was finished by a stock worker before',
    { members: [{ ...running, at: 'completed', mapping: 0 }], timeoutAt: NOW - 1, ...due },
    {
      ...tick(['x1']),
      ...moved('ACTIVE', 'COMPLETED'),
      ...noHome,
      'q:events': events(told('completed')),
      ...groupChanges(
        { state: 'COMPLETED', updatedAt: at, completedCount: '1' },
        { 'bull:q:1': 'completed' },
      ),
    },
  );
});

describe('a member that a stock worker finished', () => {
  const stock = (where: 'completed' | 'failed', status: MemberSpec['status'] = 'pending'): MemberSpec => ({
    id: 's',
    status,
    at: where,
  });

  for (const status of ['pending', 'active'] as const) {
    row(
      `completed, and the group knew it as ${status}: counted, its result kept`,
      { members: [stock('completed', status), running], ...due },
      {
        ...tick(suspects),
        ...next,
        ...groupChanges({ completedCount: '1' }, { 'bull:q:s': 'completed' }, { r0: '"done"' }),
      },
    );
  }

  row(
    'was the last: the group completes',
    { members: [done, stock('completed')], ...due },
    {
      ...tick(['x1']),
      ...moved('ACTIVE', 'COMPLETED'),
      ...noHome,
      'q:events': events(told('completed')),
      ...groupChanges(
        { state: 'COMPLETED', updatedAt: at, completedCount: '2' },
        { 'bull:q:s': 'completed' },
        { r1: '"done"' },
      ),
    },
  );

  row(
    'failed: the group is undone',
    { members: [done, stock('failed')], ...due },
    {
      ...tick(['x1']),
      ...next,
      'q:meta:groups:COMPENSATING': zset(['g', at]),
      'q:events': events(told('compensating', { failedJobId: 's', reason: 'boom' })),
      ...undoAdded(0, 'm0'),
      ...groupChanges(
        {
          state: 'COMPENSATING',
          updatedAt: at,
          ...counts({ completedCount: 1, failedCount: 1, undoing: 1 }),
          failedJobId: 's',
          reason: 'boom',
        },
        { 'bull:q:s': 'failed' },
        { c0: 'waiting' },
      ),
    },
  );

  row(
    'completed while the group is being undone: it is undone too',
    { state: 'COMPENSATING', members: [stock('completed', 'active'), running], ...due },
    {
      ...tick(suspects),
      ...next,
      ...undoAdded(0, 's'),
      ...groupChanges(
        counts({ completedCount: 1, undoing: 1 }),
        { 'bull:q:s': 'completed' },
        { r0: '"done"', c0: 'waiting' },
      ),
    },
  );

  row(
    'and another that failed, found in one look: one cycle, nothing twice',
    { members: [stock('completed'), { id: 't', status: 'active', at: 'failed' }], ...due },
    {
      ...tick(['x1']),
      ...next,
      'q:meta:groups:COMPENSATING': zset(['g', at]),
      'q:events': events(told('compensating', { failedJobId: 't', reason: 'boom' })),
      ...undoAdded(0, 's'),
      ...groupChanges(
        {
          state: 'COMPENSATING',
          updatedAt: at,
          ...counts({ completedCount: 1, failedCount: 1, undoing: 1 }),
          failedJobId: 't',
          reason: 'boom',
        },
        { 'bull:q:s': 'completed', 'bull:q:t': 'failed' },
        { r0: '"done"', c0: 'waiting' },
      ),
    },
  );
});

describe('a member that is missing', () => {
  for (const status of ['pending', 'active'] as const) {
    row(
      `and was ${status}: the group is undone`,
      { members: [done, { id: 'lost', status, at: 'missing' }], ...due },
      {
        ...tick(['x1']),
        ...next,
        'q:meta:groups:COMPENSATING': zset(['g', at]),
        'q:events': events(told('compensating', { failedJobId: '', reason: 'member missing' })),
        ...undoAdded(0, 'm0'),
        ...groupChanges(
          {
            state: 'COMPENSATING',
            updatedAt: at,
            ...counts({ completedCount: 1, cancelledCount: 1, undoing: 1 }),
            failedJobId: '',
            reason: 'member missing',
          },
          { 'bull:q:lost': 'cancelled' },
          { c0: 'waiting' },
        ),
      },
    );
  }

  row(
    'in a group that is being undone and waits for nothing else: it ends',
    { state: 'COMPENSATING', members: [{ id: 'lost', status: 'active', at: 'missing' }], ...due },
    {
      ...tick(['x1']),
      ...moved('COMPENSATING', 'FAILED'),
      ...noHome,
      'q:events': events(told('failed', { state: 'FAILED', compensationResults: '[]' })),
      ...groupChanges(
        { state: 'FAILED', updatedAt: at, ...counts({ cancelledCount: 1 }) },
        { 'bull:q:lost': 'cancelled' },
      ),
    },
  );

  row(
    'but has its outcome is missed by nobody',
    { members: [{ ...done, at: 'missing' }, running], ...due },
    {
      ...tick(suspects),
      ...next,
    },
  );
});

describe('a compensation', () => {
  const first = (undoAt: MemberSpec['undoAt']): GroupSpec => ({
    state: 'COMPENSATING',
    members: [{ ...done, undo: 'waiting', undoAt }],
    ...due,
  });
  const ended = (
    state: 'FAILED' | 'FAILED_COMPENSATION',
    plan: Record<string, string>,
    failedReason?: string,
  ): Changes => ({
    ...tick(['x1']),
    ...moved('COMPENSATING', state),
    ...noHome,
    'q:events': events(
      told('failed', {
        state,
        compensationResults: results({
          jobId: undoId(0),
          key: 'bull:q:m0',
          status: failedReason === undefined ? 'completed' : 'failed',
          ...(failedReason !== undefined && { failedReason }),
        }),
      }),
    ),
    ...groupChanges(
      {
        state,
        updatedAt: at,
        ...counts({ completedCount: 1, undoFailed: failedReason === undefined ? 0 : 1 }),
      },
      {},
      plan,
    ),
  });

  row('that a stock worker completed is noted', first('completed'), ended('FAILED', { c0: 'completed' }));
  row(
    'that a stock worker failed is noted',
    first('failed'),
    ended('FAILED_COMPENSATION', { c0: 'failed', v0: 'boom' }, 'boom'),
  );
  row(
    'that is missing has failed',
    first('missing'),
    ended('FAILED_COMPENSATION', { c0: 'failed', v0: 'its job is missing' }, 'its job is missing'),
  );
  row('that runs is waited for', first('foreign'), { ...tick(['x1']), ...next });

  it('is found by the workers of its own queue as well', async () => {
    await tables.given(world(first('failed')));
    await tables.run({ ...maintain, root: UNDO });
    expect((await tables.keyspace())['q:groups:g']?.value).toMatchObject({ state: 'FAILED_COMPENSATION' });
  });
});

describe('members that were only marked', () => {
  const marked = (...ids: string[]): Command => [
    'RPUSH',
    `${ROOT}:meta:groups:marked`,
    ...ids.flatMap((id) => [ROOT, id]),
  ];
  const others: GroupSpec = { members: [running] };

  row(
    'and that a stock worker has failed are erased',
    others,
    {
      ...tick(suspects),
      'q:meta:groups:marked': gone,
      'q:failed': without('n1'),
      'q:n1': gone,
      'q:events': events(['removed', { jobId: 'n1', prev: 'failed' }]),
    },
    [...job('failed', { id: 'n1' }), marked('n1')],
  );

  row('and that are gone are forgotten', others, { ...tick(suspects), 'q:meta:groups:marked': gone }, [
    marked('n1', 'n2'),
  ]);

  row(
    'and that wait still stay on the list, behind the others',
    others,
    {
      ...tick(suspects),
      'q:meta:groups:marked': list(ROOT, 'n2', ROOT, 'n1'),
    },
    [...job('waiting', { id: 'n1' }), ...job('waiting', { id: 'n2' }), marked('n2', 'n1')],
  );

  it('are looked after without an open group', async () => {
    const given: Command[] = [
      ...crowd(),
      ...job('failed', { id: 'n1' }),
      marked('n1'),
      ['ZADD', `${ROOT}:meta:homes`, '0', ROOT],
    ];
    await expectChange(tables, given, maintain, ran, {
      ...tick(['x1']),
      'q:meta:homes': gone,
      'q:meta:groups:marked': gone,
      'q:failed': without('n1'),
      'q:n1': gone,
      'q:events': events(['removed', { jobId: 'n1', prev: 'failed' }]),
    });
  });
});

describe('reclaim of a member', () => {
  const stalledSet: Command = ['SADD', `${ROOT}:stalled`, '1'];
  const expired: MemberSpec = { ...running, at: 'expired' };

  for (const state of ['ACTIVE', 'COMPENSATING'] as const) {
    it(`it runs again, group ${state}, and its status stays active`, async () => {
      const spec: GroupSpec = { state, members: [expired, later] };
      await expectChange(tables, [...world(spec), stalledSet], maintain, [['1'], '0'], {
        ...tick(['x1']),
        'q:active': without('1'),
        'q:wait': pushedRight('1'),
        'q:marker': scored('0', 0),
        'q:1': fields({ stc: '1' }),
        'q:events': events(['waiting', { jobId: '1', prev: 'active' }], ['stalled', { jobId: '1' }]),
      });
    });
  }

  it('over its limit it is marked to fail, and the group hears of it when it does', async () => {
    const spec: GroupSpec = { members: [{ ...expired, job: { fields: { stc: '1' } } }, later] };
    await expectChange(tables, [...world(spec), stalledSet], maintain, [['1'], '0'], {
      ...tick(['x1']),
      'q:active': without('1'),
      'q:wait': pushedRight('1'),
      'q:marker': scored('0', 0),
      'q:1': fields({ stc: '2', defa: 'job stalled more than allowable limit' }),
      'q:events': events(['waiting', { jobId: '1', prev: 'active' }], ['stalled', { jobId: '1' }]),
    });
  });
});

describe('what cannot be brought up to date', () => {
  it('keeps nothing else from being so, and is tried again', async () => {
    const broken = givenGroup({
      id: 'bad',
      members: [{ id: 'b', status: 'active', at: 'foreign', mapping: 0 }],
      timeoutAt: NOW - 1,
      checkAt: NOW - 2,
    });
    const sound = givenGroup({
      members: [{ id: 'lost', status: 'pending', at: 'missing', mapping: 0 }],
      ...due,
    });
    const space = await tables.given(usedQueue(), broken, sound, [
      ['DEL', `${ROOT}:groups:bad:jobs`],
      ['SET', `${ROOT}:groups:bad:jobs`, 'poison'],
    ]);
    await tables.run(maintain);
    const after = await tables.keyspace();
    expect(after['q:groups:bad']).toEqual(space['q:groups:bad']);
    expect(after['q:groups:g']?.value).toMatchObject({ state: 'FAILED', reason: 'member missing' });
    expect(after['q:meta:groups:open']?.value).toEqual([['bad', String(NOW + INTERVAL)]]);
  });
});

describe('the audit', () => {
  it('reports what a tick would change, and changes nothing', async () => {
    const members: MemberSpec[] = [
      { ...done, undo: 'waiting', undoAt: 'failed' },
      { id: 's', status: 'active', at: 'completed' },
      { id: 'lost', status: 'pending', at: 'missing', root: OTHER },
      running,
    ];
    const space = await tables.given(world({ state: 'COMPENSATING', members }));
    const [count, findings] = await tables.ask({
      call: auditGroupsCall,
      argv: auditGroupsCall.encode({ first: 0, last: 9 }),
    });
    expect(count).toBe('1');
    expect(findings).toEqual([
      ['g', 'compensation', `${UNDO}:${undoId(0)}`, 'waiting', 'failed'],
      ['g', 'member', `${ROOT}:s`, 'active', 'completed'],
      ['g', 'member', `${OTHER}:lost`, 'pending', 'missing'],
    ]);
    expect(await tables.keyspace()).toEqual(space);
  });
});
