import { describe, expect, it } from 'vitest';
import { type Changes, events, hash, pushedLeft, scored, text, zset } from '../support/expected.ts';
import { type Command, crowd, delayedScore, hset, job, NOW, ROOT, usedQueue } from '../support/given.ts';
import { GROUP, givenGroup, headOf, TAIL, tie, undoOptions } from '../support/given-group.ts';
import { edgeOf } from './edges.ts';
import { addGroup, addGroups, mixed, OTHER, world } from './group-requests.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const short = usedQueue(OTHER);

const memberRecord = (index: number, mapping: number, delay = '0', priority = '0') => ({
  name: 'mail',
  data: '{"to":"a"}',
  opts: '{"attempts":1}',
  timestamp: String(NOW),
  delay,
  priority,
  grp: tie('member', index, mapping),
});

/** Text as the server's msgpack has it, read as UTF-8 like everything in a snapshot. */
function msgpack(value: unknown): Buffer {
  if (Array.isArray(value)) return Buffer.concat([Buffer.from([0x90 | value.length]), ...value.map(msgpack)]);
  if (typeof value === 'boolean') return Buffer.from([value ? 0xc3 : 0xc2]);
  if (typeof value === 'number') return Buffer.from([value]);
  const bytes = Buffer.from(String(value));
  const head = bytes.length < 32 ? [0xa0 | bytes.length] : [0xd9, bytes.length];
  return Buffer.concat([Buffer.from(head), bytes]);
}
const packed = (value: unknown) => msgpack(value).toString('utf8');

const record = (members: unknown[], total: number, more: Record<string, string> = {}) => ({
  name: 'order',
  state: 'ACTIVE',
  createdAt: String(NOW),
  updatedAt: String(NOW),
  totalJobs: String(total),
  completedCount: '0',
  failedCount: '0',
  cancelledCount: '0',
  compensation: '{"mail":{}}',
  members: packed(members),
  ...more,
});
const aMapping = packed(['undo', TAIL, undoOptions(0).slice(0, -3), false]);

describe('add_group: nothing -> waiting', () => {
  fromEveryState(tables, edgeOf('add_group'), {
    missing: {
      'q:id': text('11'),
      'q:1': hash(memberRecord(0, 0)),
      'q:wait': pushedLeft('1'),
      'q:marker': scored('0', 0),
      'q:events': events(['added', { jobId: '1', name: 'mail' }], ['waiting', { jobId: '1' }]),
      'q:meta:homes': zset([ROOT, '0']),
      'q:groups': zset([GROUP, String(NOW)]),
      'q:groups:g': hash(record([ROOT, '1', 0], 1, { compensation: '{}' })),
      'q:groups:g:jobs': hash({ 'bull:q:1': 'pending' }),
      'q:meta:groups:open': zset([GROUP, String(NOW)]),
    },
  });
});

describe('add_group', () => {
  const added: Changes = {
    'q:id': text('12'),
    'q:a': hash(memberRecord(0, 1)),
    'q:12': hash(memberRecord(2, 1)),
    'q:wait': [pushedLeft('a'), pushedLeft('12')],
    'q:marker': scored('0', 0),
    'q:events': events(
      ['added', { jobId: 'a', name: 'mail' }],
      ['waiting', { jobId: 'a' }],
      ['added', { jobId: '12', name: 'mail' }],
      ['waiting', { jobId: '12' }],
    ),
    'q:meta:homes': zset([ROOT, '0']),
    'p:id': text('11'),
    'p:b': hash(memberRecord(1, 0, '500')),
    'p:delayed': zset(['b', delayedScore(NOW + 500)]),
    'p:marker': zset(['1', String(NOW + 500)]),
    'p:events': events(
      ['added', { jobId: 'b', name: 'mail' }],
      ['delayed', { jobId: 'b', delay: String(NOW + 500) }],
    ),
    'p:meta:homes': zset([ROOT, '0']),
    'q:groups': zset([GROUP, String(NOW)]),
    'q:groups:g': hash(record([ROOT, 'a', 1, OTHER, 'b', 0, ROOT, '12', 1], 3)),
    'q:groups:g:jobs': hash({ 'bull:q:a': 'pending', 'bull:p:b': 'pending', 'bull:q:12': 'pending' }),
    'q:groups:g:plan': hash({ h0: headOf('a'), h2: headOf('12'), m1: aMapping }),
    'q:meta:groups:open': zset([GROUP, String(NOW)]),
  };

  it('members, record, plan and what looks after them', async () => {
    await expectChange(tables, [...crowd(), ...short], addGroup(), [['added', 'a', 'b', '12']], added);
  });

  it('an order and a time limit are kept; the group is looked at when its time is up', async () => {
    const request = addGroup({ order: 'reverse', timeoutMs: '9000' });
    await expectChange(tables, [...crowd(), ...short], request, [['added', 'a', 'b', '12']], {
      ...added,
      'q:groups:g': hash(
        record([ROOT, 'a', 1, OTHER, 'b', 0, ROOT, '12', 1], 3, {
          order: 'reverse',
          timeoutAt: String(NOW + 9000),
        }),
      ),
    });
  });

  it('members have the priority of their own', async () => {
    const space = await tables.given(usedQueue());
    expect(await tables.run(addGroup({}, [{ id: 'a', priority: '2', mapping: 0 }]))).toEqual([
      ['added', 'a'],
    ]);
    const after = await tables.keyspace();
    expect(after['q:prioritized']).toEqual({
      type: 'zset',
      value: [['a', String(2 * 2 ** 32 + 1)]],
      hasTtl: false,
    });
    expect(after['q:groups:g:plan']).toEqual({ type: 'hash', value: { m1: aMapping }, hasTtl: false });
    expect(after['q:meta']).toEqual(space['q:meta']);
  });

  it('a paused queue takes its members and wakes nobody', async () => {
    const paused: Command = hset(`${ROOT}:meta`, { paused: '1' });
    await tables.given(usedQueue(), [paused]);
    await tables.run(addGroup({}, [{ id: 'a' }]));
    const after = await tables.keyspace();
    expect(after['q:wait']?.value).toEqual(['a']);
    expect(after['q:marker']).toBeUndefined();
  });

  it('a group that exists is returned as it is, whatever is given', async () => {
    const members = [ROOT, 'm0', OTHER, 'm1', ROOT, 'm2', ROOT, '1'];
    await expectChange(tables, world({ members: mixed }), addGroup(), [['exists', ...members]], {});
    const ended = givenGroup({ state: 'FAILED', members: [{ id: 'a', status: 'failed' }] });
    await expectChange(tables, [...crowd(), ...ended], addGroup(), [['exists', ROOT, 'a']], {});
  });

  it('an id that exists, anywhere and in any place, refuses the whole group', async () => {
    const request = addGroup({}, [{ id: 'a' }, { id: 'b', root: OTHER }]);
    for (const state of ['waiting', 'completed', 'active'] as const) {
      const taken = job(state, { root: OTHER, id: 'b' });
      await expectChange(tables, [...crowd(), ...taken], request, [['taken', 'bull:p:b']], {});
    }
    const other: Command = ['SET', `${OTHER}:b`, 'something else'];
    await expectChange(tables, [...crowd(), other], request, [['taken', 'bull:p:b']], {});
  });

  it('an id given twice refuses the whole group; the same id on two queues does not', async () => {
    const twice = addGroup({}, [{ id: 'a' }, { id: 'b' }, { id: 'a' }]);
    await expectChange(tables, crowd(), twice, [['taken', 'bull:q:a']], {});
    await tables.given(crowd());
    expect(await tables.run(addGroup({}, [{ id: 'a' }, { id: 'a', root: OTHER }]))).toEqual([
      ['added', 'a', 'a'],
    ]);
  });

  it('members due in the same millisecond keep the order in which they were given', async () => {
    await tables.given(usedQueue(), job('delayed', { id: 'd1', due: NOW + 500 }));
    const members = ['z', 'a', 'm'].map((id) => ({ id, delay: '500' }));
    await tables.run(
      addGroup({}, [...members, { id: 'b', root: OTHER, delay: '500' }, { id: 'later', delay: '501' }]),
    );
    const after = await tables.keyspace();
    expect(after['q:delayed']?.value).toEqual([
      ...['d1', 'z', 'a', 'm'].map((id, place) => [id, delayedScore(NOW + 500, place)]),
      ['later', delayedScore(NOW + 501)],
    ]);
    expect(after['p:delayed']?.value).toEqual([['b', delayedScore(NOW + 500)]]);
  });

  describe('after a group with the same id was forgotten', () => {
    const forgotten = (undo: 'completed' | 'failed' | 'waiting'): Command[] => [
      ...crowd(),
      ...givenGroup({ state: 'FAILED', members: [{ id: 'old', status: 'completed', undo }] }),
      ['DEL', `${ROOT}:groups`, `${ROOT}:groups:g`, `${ROOT}:groups:g:jobs`, `${ROOT}:groups:g:plan`],
      ['DEL', `${ROOT}:meta:groups:FAILED`, `${ROOT}:meta:homes`],
    ];

    for (const undo of ['completed', 'failed'] as const) {
      it(`a compensation of it that has ${undo} goes: it must not stand for the new one`, async () => {
        const space = await tables.given(forgotten(undo));
        expect(await tables.run(addGroup({}, [{ id: 'a' }]))).toEqual([['added', 'a']]);
        const after = await tables.keyspace();
        expect(space['q:compensation:g-0']).toBeDefined();
        expect(after['q:compensation:g-0']).toBeUndefined();
        expect(after[`q:compensation:${undo}`]).toBeUndefined();
        expect(after['q:compensation:events']).toEqual(
          events(['removed', { jobId: 'g-0', prev: undo }])(undefined),
        );
      });
    }

    it('one that has not settled is still needed, and refuses the new group', async () => {
      const request = addGroup({}, [{ id: 'a' }]);
      await expectChange(tables, forgotten('waiting'), request, [['taken', 'bull:q:compensation:g-0']], {});
    });

    it('members without a mapping do not care', async () => {
      await tables.given(forgotten('waiting'));
      expect(await tables.run(addGroup({}, [{ id: 'a', mapping: 0 }]))).toEqual([['added', 'a']]);
    });
  });

  describe('several groups in one call', () => {
    const first = [{ groupId: 'g1' }, [{ id: 'a' }, { id: 'b', root: OTHER }]] as const;
    const third = [{ groupId: 'g3' }, [{ id: 'c' }, { id: 'd', root: OTHER }]] as const;
    const given = [...crowd(), ...short];

    it('are what they are in calls of their own', async () => {
      const second = [
        { groupId: 'g2' },
        [
          { id: '', delay: '500' },
          { id: 'x', priority: '3' },
        ],
      ] as const;
      await tables.given(given);
      const alone: unknown[] = [];
      for (const group of [first, second, third]) alone.push(...(await tables.run(addGroups(group))));
      const expected = await tables.keyspace();
      await tables.given(given);
      expect(await tables.run(addGroups(first, second, third))).toEqual(alone);
      expect(await tables.keyspace()).toEqual(expected);
    });

    for (const [title, refused, reply] of [
      ['an id that exists', [{ id: 'n' }, { id: 'w1' }], ['taken', 'bull:q:w1']],
      ['an id that one before it has', [{ id: 'n' }, { id: 'b', root: OTHER }], ['taken', 'bull:p:b']],
    ] as const) {
      it(`${title} refuses its group; those beside it are added`, async () => {
        const without = await (async () => {
          await tables.given(given);
          await tables.run(addGroups(first, third));
          return tables.keyspace();
        })();
        await tables.given(given);
        expect(await tables.run(addGroups(first, [{ groupId: 'g2' }, refused], third))).toEqual([
          ['added', 'a', 'b'],
          reply,
          ['added', 'c', 'd'],
        ]);
        expect(await tables.keyspace()).toEqual(without);
      });
    }

    it('a queue that cannot take a member refuses its group; those beside it are added', async () => {
      const poison: Command = ['SET', 'bull:r:wait', 'poison'];
      await tables.given(given, [poison]);
      const second = [{ groupId: 'g2' }, [{ id: 'n' }, { id: 'n', root: 'bull:r' }]] as const;
      const [one, two, three] = (await tables.run(addGroups(first, second, third))) as string[][];
      expect([one, three]).toEqual([
        ['added', 'a', 'b'],
        ['added', 'c', 'd'],
      ]);
      expect(two![0]).toBe('error');
      expect(two![1]).toContain('WRONGTYPE');
      const after = await tables.keyspace();
      expect(Object.keys(after).filter((key) => /g2|:n$|^r:/.test(key))).toEqual(['r:wait']);
    });

    it('the same id twice is one group', async () => {
      await tables.given(given);
      expect(await tables.run(addGroups(first, [{ groupId: 'g1' }, [{ id: 'z' }]]))).toEqual([
        ['added', 'a', 'b'],
        ['exists', ROOT, 'a', OTHER, 'b'],
      ]);
      expect((await tables.keyspace())['q:z']).toBeUndefined();
    });

    it('sent again, the call answers the same', async () => {
      await tables.given(given);
      const request = addGroups(first, [{ groupId: 'g2' }, [{ id: 'a' }]], third);
      const head = { clientId: 'again', sequence: 7 };
      const reply = await tables.send(request, head);
      const after = await tables.keyspace();
      expect(await tables.send(request, head)).toEqual(reply);
      expect(await tables.keyspace()).toEqual(after);
    });
  });

  it('a thousand members are one call', async () => {
    await tables.given(usedQueue());
    const many = Array.from({ length: 1000 }, (_, i) => ({ id: `n${i}` }));
    const [reply] = await tables.run(addGroup({}, many));
    expect(reply).toHaveLength(1001);
    const after = await tables.keyspace();
    expect(Object.keys((after['q:groups:g:jobs']?.value ?? {}) as object)).toHaveLength(1000);
    expect(Object.keys((after['q:groups:g:plan']?.value ?? {}) as object)).toHaveLength(1001);
    expect(after['q:wait']?.value).toHaveLength(1000);
    // And a second time it says so.
    const [again] = await tables.run(addGroup({}, many));
    expect(again).toHaveLength(2001);
  });
});
