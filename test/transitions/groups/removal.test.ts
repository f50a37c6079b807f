// Whoever takes jobs out never leaves a group behind that waits for them.

import { describe, expect, it } from 'vitest';
import { reprocessManyCall } from '../../../src/store/generated/engine.ts';
import { type Changes, events, gone, without } from '../../support/expected.ts';
import { counts, groupChanges, moved, results, told, undoAdded } from '../../support/expected-group.ts';
import { type Command, hset, NOW, ROOT, usedQueue } from '../../support/given.ts';
import {
  type GroupSpec,
  type GroupState,
  givenGroup,
  type MemberSpec,
  undoId,
} from '../../support/given-group.ts';
import {
  clean,
  complete,
  done,
  drain,
  elsewhere,
  later,
  maintain,
  mixed,
  OTHER,
  obliterate,
  ofUndo,
  remove,
  removeGroup,
  reprocess,
  running,
  UNDO,
  world,
} from '../group-requests.ts';
import { expectChange, useTables } from '../tables.ts';

const tables = useTables();
const at = String(NOW);
const waiting: MemberSpec = { id: 'm3', status: 'pending', mapping: 0 };
const states: GroupState[] = ['ACTIVE', 'COMPENSATING', 'COMPLETED', 'FAILED', 'FAILED_COMPENSATION'];

describe('remove of a member', () => {
  for (const where of ['waiting', 'prioritized', 'delayed', 'paused', 'expired'] as const) {
    it(`in ${where}, whose outcome the group awaits, is refused`, async () => {
      for (const state of ['ACTIVE', 'COMPENSATING'] as const) {
        const status = where === 'expired' ? ('active' as const) : ('pending' as const);
        const given = world({ state, members: [{ id: '1', status, at: where }, later] });
        await expectChange(tables, given, remove('1'), ['group_member', ''], {});
      }
    });
  }

  it('that runs is refused as any job that runs', async () => {
    await expectChange(tables, world({ members: mixed }), remove('1'), ['locked', ''], {});
  });

  for (const state of states) {
    it(`that has its outcome leaves a group that is ${state} as it is`, async () => {
      const given = world({ state, members: [{ ...done, undo: 'completed' }, running] });
      await expectChange(tables, given, remove('m0'), ['ok', ''], {
        'q:completed': without('m0'),
        'q:m0': gone,
        'q:events': events(['removed', { jobId: 'm0', prev: 'completed' }]),
      });
    });
  }

  it('whose group is gone is that of any job', async () => {
    const given: Command[] = [...world({ members: [waiting] }), ['DEL', `${ROOT}:groups:g`]];
    await expectChange(tables, given, remove('m3'), ['ok', ''], {
      'q:wait': without('m3'),
      'q:m3': gone,
      'q:events': events(['removed', { jobId: 'm3', prev: 'wait' }]),
    });
  });
});

describe('reprocess of a member', () => {
  for (const state of states) {
    it(`is refused, group ${state}`, async () => {
      for (const [id, from] of [
        ['m0', 'completed'],
        ['f', 'failed'],
      ] as const) {
        const given = world({
          state,
          members: [{ ...done, undo: 'completed' }, { id: 'f', status: 'failed' }, running],
        });
        await expectChange(tables, given, reprocess(id, from), ['group_member', ''], {});
      }
    });
  }

  it('in bulk: members stay, the others run again', async () => {
    await tables.given(world({ members: [done, running] }));
    const request = (skip: number) => ({
      call: reprocessManyCall,
      argv: reprocessManyCall.encode({ from: 'completed', cutoff: at, most: 1, skip }),
    });
    expect(await tables.run(request(0))).toEqual(['1', '0']);
    expect(await tables.run(request(0))).toEqual(['1', '1']);
    expect(await tables.run(request(1))).toEqual(['0', '0']);
    const after = await tables.keyspace();
    expect(after['q:completed']?.value).toEqual([['m0', String(NOW - 1_000)]]);
    expect(after['q:wait']?.value).toContain('c1');
  });
});

/** The group of `mixed` and one that waits, cancelled because a sweep took a member. */
const lost = (reason: string): Changes => ({
  'p:wait': without('m1'),
  'p:m1': gone,
  'p:events': events(['removed', { jobId: 'm1', prev: 'wait' }]),
  'q:m2': gone,
  ...undoAdded(0, 'm0'),
  ...moved('ACTIVE', 'COMPENSATING'),
  ...groupChanges(
    {
      state: 'COMPENSATING',
      updatedAt: at,
      ...counts({ completedCount: 1, cancelledCount: 2, undoing: 1 }),
      failedJobId: '',
      reason,
    },
    { 'bull:p:m1': 'cancelled', 'bull:q:m2': 'cancelled' },
    { c0: 'waiting' },
  ),
});
const compensating = told('compensating', { failedJobId: '', reason: 'member removed' });

describe('drain', () => {
  it('a group that loses a member is cancelled, and what it has done is undone', async () => {
    await expectChange(tables, world({ members: mixed }), drain, ['5'], {
      ...lost('member removed'),
      'q:wait': gone,
      'q:w1': gone,
      'q:w2': gone,
      'q:prioritized': gone,
      'q:p1': gone,
      'q:delayed': gone,
      'q:d1': gone,
      'q:events': events(compensating),
    });
  });

  it('several members of one group at once: one cycle, all cancelled', async () => {
    const members = [waiting, { ...waiting, id: 'm4' }, { ...waiting, id: 'm5' }];
    await expectChange(tables, [...usedQueue(), ...givenGroup({ members })], drain, ['3'], {
      'q:wait': gone,
      'q:m3': gone,
      'q:m4': gone,
      'q:m5': gone,
      'q:events': events(
        ['removed', { jobId: 'm4', prev: 'wait' }],
        ['removed', { jobId: 'm5', prev: 'wait' }],
        told('failed', { state: 'FAILED', compensationResults: '[]' }),
      ),
      ...moved('ACTIVE', 'FAILED'),
      ...groupChanges(
        {
          state: 'FAILED',
          updatedAt: at,
          ...counts({ cancelledCount: 3 }),
          failedJobId: '',
          reason: 'member removed',
        },
        { 'bull:q:m3': 'cancelled', 'bull:q:m4': 'cancelled', 'bull:q:m5': 'cancelled' },
      ),
    });
  });

  it('a compensation that is lost this way has failed', async () => {
    const spec: GroupSpec = { state: 'COMPENSATING', members: [{ ...done, undo: 'waiting' }] };
    await expectChange(tables, world(spec), ofUndo(drain), ['1'], {
      'q:compensation:wait': gone,
      [`q:compensation:${undoId(0)}`]: gone,
      'q:events': events(
        told('failed', {
          state: 'FAILED_COMPENSATION',
          compensationResults: results({
            jobId: undoId(0),
            key: 'bull:q:m0',
            status: 'failed',
            failedReason: 'removed before it ran',
          }),
        }),
      ),
      ...moved('COMPENSATING', 'FAILED_COMPENSATION'),
      ...groupChanges(
        { state: 'FAILED_COMPENSATION', updatedAt: at, ...counts({ completedCount: 1, undoFailed: 1 }) },
        {},
        { c0: 'failed', v0: 'removed before it ran' },
      ),
    });
  });
});

describe('clean', () => {
  it('of delayed jobs: as drain', async () => {
    await expectChange(tables, world({ members: mixed }), clean('delayed'), ['m2', 'd1'], {
      ...lost('member removed'),
      'q:delayed': gone,
      'q:d1': gone,
      'q:events': events(compensating, ['cleaned', { count: '2' }]),
    });
  });

  it('of finished jobs: their outcome stays with the group', async () => {
    const spec: GroupSpec = { members: [done, running] };
    await expectChange(tables, world(spec), clean('completed'), ['c1', 'm0'], {
      'q:completed': gone,
      'q:c1': gone,
      'q:m0': gone,
      'q:events': events(['cleaned', { count: '2' }]),
    });
  });

  for (const [where, status, plan] of [
    ['completed', 'completed', { r0: '"done"' }],
    ['failed', 'failed', {}],
  ] as const) {
    it(`of a member that a stock worker ${where} before the group knew: it is counted first`, async () => {
      const spec: GroupSpec = { members: [{ id: 's', status: 'active', at: where }, running] };
      await tables.given(world(spec));
      expect(await tables.run(clean(where))).toContain('s');
      const after = await tables.keyspace();
      expect(after['q:s']).toBeUndefined();
      expect(after['q:groups:g:jobs']?.value).toMatchObject({ 'bull:q:s': status });
      expect(after['q:groups:g:plan']?.value).toMatchObject(plan);
      expect(after['q:groups:g']?.value).toMatchObject({
        state: where === 'completed' ? 'ACTIVE' : 'COMPENSATING',
        [`${where}Count`]: '1',
      });
    });
  }

  it('of active jobs without a lease: the member is lost', async () => {
    const spec: GroupSpec = { members: [{ ...running, at: 'expired' }] };
    await expectChange(tables, world(spec), clean('active'), ['1'], {
      'q:active': without('1'),
      'q:1': gone,
      'q:events': events(told('failed', { state: 'FAILED', compensationResults: '[]' }), [
        'cleaned',
        { count: '1' },
      ]),
      ...moved('ACTIVE', 'FAILED'),
      ...groupChanges(
        {
          state: 'FAILED',
          updatedAt: at,
          ...counts({ cancelledCount: 1 }),
          failedJobId: '',
          reason: 'member removed',
        },
        { 'bull:q:1': 'cancelled' },
      ),
    });
  });
});

describe('retention', () => {
  it('erases members of any group, which keeps their results', async () => {
    const spec: GroupSpec = { members: [done, running, elsewhere] };
    await tables.given(world(spec));
    await tables.run(complete({ keepCount: '1' }));
    const after = await tables.keyspace();
    expect(after['q:completed']?.value).toEqual([['1', at]]);
    expect(after['q:m0']).toBeUndefined();
    expect(after['q:groups:g']?.value).toMatchObject({ state: 'ACTIVE', completedCount: '2' });
    expect(after['q:groups:g:plan']?.value).toMatchObject({ r0: '"done"', r1: '{"ok":true}' });
  });

  it('counts one that a stock worker had finished before it goes', async () => {
    const spec: GroupSpec = {
      members: [
        { id: 's', status: 'pending', at: 'completed' },
        { ...running, mapping: 0 },
      ],
    };
    await tables.given(world(spec));
    await tables.run(complete({ keepCount: '1' }));
    const after = await tables.keyspace();
    expect(after['q:s']).toBeUndefined();
    expect(after['q:groups:g']?.value).toMatchObject({ state: 'COMPLETED', completedCount: '2' });
    expect(after['q:groups:g:plan']?.value).toMatchObject({ r0: '"done"' });
  });

  it('notes a compensation that a stock worker had finished before it goes', async () => {
    const undone = (id: string, undoAt: MemberSpec['undoAt']): MemberSpec => ({
      id,
      status: 'completed',
      undo: 'waiting',
      undoAt,
    });
    await tables.given(
      world({ state: 'COMPENSATING', members: [undone('m0', 'active'), undone('m1', 'completed')] }),
    );
    await tables.run(ofUndo(complete({ jobId: undoId(0), keepCount: '1' })));
    const after = await tables.keyspace();
    expect(after[`q:compensation:${undoId(1)}`]).toBeUndefined();
    expect(after['q:groups:g']?.value).toMatchObject({ state: 'FAILED', undoing: '0' });
  });
});

describe('groups that have ended', () => {
  const keep = (text: string): Command => hset(`${ROOT}:meta`, { 'yoke.keepGroups': text });
  const old = (id: string, age: number): Command[] => [
    ...givenGroup({ id, state: 'COMPLETED', members: [{ id: `${id}j`, status: 'completed', mapping: 0 }] }),
    ['ZADD', `${ROOT}:meta:groups:COMPLETED`, String(NOW - age), id],
  ];
  const kept = async (text: string) => {
    await tables.given(world({ members: [running] }), old('a', 3000), old('b', 2000), old('c', 1000), [
      keep(text),
    ]);
    await tables.run(complete());
    const after = await tables.keyspace();
    const ids = (after['q:groups']!.value as [string, string][]).map(([id]) => id);
    expect((after['q:meta:groups:COMPLETED']!.value as [string, string][]).map(([id]) => id).sort()).toEqual(
      ids,
    );
    expect(['a', 'b', 'c', 'g'].filter((id) => after[`q:groups:${id}`])).toEqual(ids);
    // Their jobs stay.
    expect(after['q:aj']).toBeDefined();
    return ids;
  };

  it('are kept by count, by age, or all', async () => {
    expect(await kept('2:')).toEqual(['c', 'g']);
    expect(await kept(':1500')).toEqual(['c', 'g']);
    expect(await kept(':')).toEqual(['a', 'b', 'c', 'g']);
    expect(await kept('no sense')).toEqual(['a', 'b', 'c', 'g']);
  });

  it('none is kept: the group is gone with its own end', async () => {
    await tables.given(world({ members: [running] }), [keep('0:')]);
    await tables.run(complete());
    const after = await tables.keyspace();
    expect(Object.keys(after).filter((key) => key.includes(':groups'))).toEqual([]);
    expect((after['q:events']!.value as string[][]).map(([, name]) => name)).toContain('group:completed');
  });
});

describe('obliterate', () => {
  const paused: Command = hset(`${ROOT}:meta`, { paused: '1' });

  it('of a home with an open group is refused without force', async () => {
    const given = [...usedQueue(), paused, ...givenGroup({ members: [waiting] })];
    await expectChange(tables, given, obliterate(false), ['has_groups'], {});
  });

  it('by force: the groups are cancelled, what they did is undone, then all of the queue goes', async () => {
    const space = await tables.given(world({ members: [{ ...done, root: OTHER }, ...mixed.slice(1)] }), [
      paused,
    ]);
    expect(await tables.run(obliterate(true))).toEqual(['done']);
    const after = await tables.keyspace();
    expect(Object.keys(after).filter((key) => key.startsWith('q:'))).toEqual(
      ['q:1:lock'].filter((key) => key in after),
    );
    expect(after['p:m1']).toBeUndefined();
    expect(after['p:compensation:wait']?.value).toEqual([undoId(0)]);
    expect(after['p:m0']).toEqual(space['p:m0']);
  });

  it('of a home whose groups have ended needs no force', async () => {
    const given = [
      ...usedQueue(),
      paused,
      ...givenGroup({ state: 'COMPLETED', members: [{ ...done, mapping: 0 }] }),
    ];
    await tables.given(given);
    expect(await tables.run(obliterate(false))).toEqual(['done']);
    expect(Object.keys(await tables.keyspace())).toEqual([]);
  });

  it('of a member queue that is no home: the group is cancelled', async () => {
    const given: Command[] = [...world({ members: mixed }), hset(`${OTHER}:meta`, { paused: '1' })];
    await tables.given(given);
    expect(await tables.run({ ...obliterate(true), root: OTHER })).toEqual(['done']);
    const after = await tables.keyspace();
    expect(Object.keys(after).filter((key) => key.startsWith('p:') && !key.endsWith(':lock'))).toEqual([]);
    expect(after['q:groups:g']?.value).toMatchObject({ state: 'COMPENSATING', reason: 'member removed' });
    expect(after['q:compensation:wait']?.value).toEqual([undoId(0)]);
  });

  it('of a compensation queue: what was not undone has failed, and can be tried again', async () => {
    const spec: GroupSpec = { state: 'COMPENSATING', members: [{ ...done, undo: 'waiting' }] };
    await tables.given(world(spec), [hset(`${UNDO}:meta`, { paused: '1' })]);
    expect(await tables.run(ofUndo(obliterate(true)))).toEqual(['done']);
    expect((await tables.keyspace())['q:groups:g']?.value).toMatchObject({ state: 'FAILED_COMPENSATION' });
  });
});

describe('what a group leaves', () => {
  it('is nothing, once jobs and groups have gone', async () => {
    await tables.given(usedQueue(), givenGroup({ members: [{ ...running, mapping: 0 }] }));
    await tables.run(complete({ keepCount: '0' }));
    expect(await tables.run(removeGroup)).toEqual(['ok', 'g']);
    await tables.run(maintain);
    expect(Object.keys(await tables.keyspace())).toEqual(['q:events', 'q:id', 'q:meta', 'q:stalled-check']);
  });
});
