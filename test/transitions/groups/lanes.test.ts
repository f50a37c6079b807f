// Members that share a lane: the lane goes on whatever becomes of the group.

import { describe, expect, it } from 'vitest';
import {
  addGroupsCall,
  cleanCall,
  exchangeCall,
  pushAddGroup,
  pushAddInLane,
  pushCompleteInLane,
  pushMapping,
  pushMember,
  removeLaneCall,
} from '../../../src/store/generated/engine.ts';
import {
  changed,
  events,
  fields,
  gone,
  hash,
  list,
  pushedLeft,
  scored,
  text,
  without,
  zset,
} from '../../support/expected.ts';
import { counts, groupChanges, moved, told } from '../../support/expected-group.ts';
import { type Command, hset, job, NOW, ROOT, record, usedQueue } from '../../support/given.ts';
import { GROUP, givenGroup, headOf, type MemberSpec, mapping } from '../../support/given-group.ts';
import { addition, completion, fetching, items, noFetch, seenInLane } from '../edges.ts';
import { cancelGroup, complete, drain, fail, obliterate, running } from '../group-requests.ts';
import { expectChange, useTables } from '../tables.ts';

const tables = useTables();
const at = String(NOW);
const used = usedQueue(ROOT, { 'yoke.lanes': '1' });
const laneFields = (sequence: number) => ({ lane: 'a', orderMs: '+7', laneSeq: String(sequence) });
const entry = (sequence: number, id: string) => `${String(sequence).padStart(16, '0')}${id}`;

/** A member of the lane: the first is out and waits, the second rests, the third waits there for its time. */
const inLane = (id: string, sequence: number, where: MemberSpec['at']): MemberSpec => ({
  id,
  status: 'pending',
  mapping: 0,
  at: where,
  job: { fields: laneFields(sequence) },
});
const out = inLane('m1', 1, 'waiting');
const resting = inLane('m2', 2, 'missing');
const timed = inLane('m3', 3, 'missing');
const stored = (id: string, sequence: number, index: number): Command =>
  hset(
    `${ROOT}:${id}`,
    record({ grp: `member:${index}:0:bull:q:groups:g`, ...laneFields(sequence), opts: '{}' }),
  );
const lane = (outText: string): Command[] => [
  hset(`${ROOT}:meta:lane-out`, { a: outText }),
  ['ZADD', `${ROOT}:meta:lanes`, '0', 'a'],
];
const rests = (id: string, sequence: number): Command[] => [
  ['ZADD', `${ROOT}:meta:lane:a`, '7', entry(sequence, id)],
  ['ZADD', `${ROOT}:de`, String(NOW - 100), id],
];
/** One of the lane that is no member, behind all others. */
const bystander: Command[] = [hset(`${ROOT}:by`, record(laneFields(9))), ...rests('by', 9)];
const three: Command[] = [
  ...used,
  ...givenGroup({ members: [out, resting, timed] }),
  stored('m2', 2, 1),
  stored('m3', 3, 2),
  ...lane('m1'),
  ...rests('m2', 2),
  ['ZADD', `${ROOT}:meta:lane-delayed`, String(NOW + 500), 'm3'],
  ['ZADD', `${ROOT}:de`, '-1', 'm3'],
  ...bystander,
];

describe('members of a lane', () => {
  it('that wait, rest or wait for their time are taken out, and the one behind them is let out', async () => {
    await expectChange(tables, three, cancelGroup(), ['ok', 'FAILED'], {
      'q:m1': gone,
      'q:m2': gone,
      'q:m3': gone,
      'q:wait': list('by'),
      'q:marker': scored('0', 0),
      'q:meta:lane:a': gone,
      'q:meta:lane-delayed': gone,
      'q:de': gone,
      'q:meta:lane-out': hash({ a: 'by' }),
      'q:events': events(
        ['removed', { jobId: 'm1', prev: 'wait' }],
        ['removed', { jobId: 'm2', prev: 'wait' }],
        ['removed', { jobId: 'm3', prev: 'delayed' }],
        told('failed', { state: 'FAILED', compensationResults: '[]' }),
      ),
      ...moved('ACTIVE', 'FAILED'),
      ...groupChanges(
        {
          state: 'FAILED',
          updatedAt: at,
          ...counts({ cancelledCount: 3 }),
          failedJobId: '',
          reason: 'cancelled',
        },
        { 'bull:q:m1': 'cancelled', 'bull:q:m2': 'cancelled', 'bull:q:m3': 'cancelled' },
      ),
    });
  });

  const runs: MemberSpec = { ...running, mapping: 0, job: { fields: laneFields(1) } };
  const two: Command[] = [
    ...used,
    ...givenGroup({ members: [runs, resting] }),
    stored('m2', 2, 1),
    ...lane('1'),
    ...rests('m2', 2),
    ...bystander,
  ];

  it('one fails: the next, which is cancelled with it, does not go out, and the one behind it does', async () => {
    await expectChange(tables, two, fail(), [[], [], [], '0', '0', '', ''], {
      'q:active': gone,
      'q:1:lock': gone,
      'q:1': fields({ atm: '1', failedReason: 'broke', stacktrace: '["at x"]', finishedOn: at }),
      'q:failed': zset(['1', at]),
      'q:m2': gone,
      'q:de': gone,
      'q:meta:lane:a': gone,
      'q:meta:lane-out': hash({ a: 'by' }),
      'q:wait': list('by'),
      'q:marker': scored('0', 0),
      'q:events': events(
        ['removed', { jobId: 'm2', prev: 'wait' }],
        told('failed', { state: 'FAILED', compensationResults: '[]' }),
        ['failed', { jobId: '1', failedReason: 'broke', prev: 'active' }],
      ),
      ...moved('ACTIVE', 'FAILED'),
      ...groupChanges(
        {
          state: 'FAILED',
          updatedAt: at,
          ...counts({ failedCount: 1, cancelledCount: 1 }),
          failedJobId: '1',
          reason: 'broke',
        },
        { 'bull:q:1': 'failed', 'bull:q:m2': 'cancelled' },
      ),
    });
  });

  it('one completes: the next goes out', async () => {
    await expectChange(tables, two, complete(), [[], [], [], '0', '0', '', ''], {
      'q:active': gone,
      'q:1:lock': gone,
      'q:1': fields({ atm: '1', returnvalue: '{"ok":true}', finishedOn: at }),
      'q:completed': zset(['1', at]),
      'q:de': without('m2'),
      'q:meta:lane:a': without(entry(2, 'm2')),
      'q:meta:lane-out': hash({ a: 'm2' }),
      'q:wait': list('m2'),
      'q:marker': scored('0', 0),
      'q:events': events(['completed', { jobId: '1', returnvalue: '{"ok":true}', prev: 'active' }]),
      ...groupChanges({ completedCount: '1' }, { 'bull:q:1': 'completed' }),
    });
  });

  it('one that was cancelled and is fetched: it is erased, and the next goes out', async () => {
    const given: Command[] = [
      ...used,
      ...givenGroup({ state: 'FAILED', members: [{ ...out, status: 'cancelled' }] }),
      ...lane('m1'),
      ...bystander,
    ];
    const space = await tables.given(given);
    const reply = await tables.run(fetching());
    expect((reply[1] as unknown[])[0]).toBe('by');
    expect(await tables.keyspace()).toEqual(
      changed(space, {
        'q:m1': gone,
        'q:wait': gone,
        'q:de': gone,
        'q:meta:lane:a': gone,
        'q:meta:lane-out': hash({ a: 'by' }),
        'q:active': list('by'),
        'q:by': fields({ ats: '1', processedOn: at }),
        'q:by:lock': text('mine:1', true),
        'q:marker': scored('0', 0),
        'q:events': events(
          ['removed', { jobId: 'm1', prev: 'wait' }],
          ['active', { jobId: 'by', prev: 'waiting' }],
        ),
      }),
    );
  });

  // The first of them that goes undoes the group, whose other members go with it: and so the one behind them is let out
  // while the lane is being emptied.
  it.each([
    ['drained', drain],
    ['removed', { call: removeLaneCall, argv: removeLaneCall.encode({ lane: 'a', most: 100 }) }],
  ])(
    'when the lane is %s, all are gone, the group is undone, and nothing of the lane is left',
    async (_, request) => {
      await tables.given(three);
      const [count] = (await tables.run(request)).filter((word) => word !== 'done');
      expect(Number(count)).toBeGreaterThan(0);
      const after = await tables.keyspace();
      expect(after['q:groups:g']!.value).toMatchObject({ state: 'FAILED', cancelledCount: '3' });
      expect(Object.keys(after).filter((key) => /^q:(m\d|by|de|wait|meta:lane|meta:line)/.test(key))).toEqual(
        [],
      );
    },
  );

  // The member came to rest before the bystander, so it goes first: its group is undone, and the bystander is let out while
  // the call still has it among those that rest.
  const cleaned = async (limit: number, ...given: readonly Command[][]) => {
    await tables.given(three, [['ZADD', `${ROOT}:de`, String(NOW - 50), 'by']], ...given);
    const ids = await tables.run({
      call: cleanCall,
      argv: cleanCall.encode({ state: 'wait', cutoff: String(NOW), limit, most: 100 }),
    });
    const after = await tables.keyspace();
    const told = (after['q:events']!.value as string[][]).at(-1);
    return { ids, told, after };
  };

  it.each([0, 2])(
    'when what waits is cleaned, all are gone, also the one that was let out meanwhile (limit %s)',
    async (limit) => {
      const { ids, told, after } = await cleaned(limit);
      expect(ids).toEqual(['m2', 'by']);
      expect(told).toEqual(['event', 'cleaned', 'count', '2']);
      expect(Object.keys(after).filter((key) => /^q:(m\d|by|de|wait|meta:lane|meta:line)/.test(key))).toEqual(
        [],
      );
    },
  );

  it('when what waits is cleaned, one that was let out to those with a priority stays, and is not named', async () => {
    const { ids, told, after } = await cleaned(0, [hset(`${ROOT}:by`, { priority: '3' })]);
    expect(ids).toEqual(['m2']);
    expect(told).toEqual(['event', 'cleaned', 'count', '1']);
    expect((after['q:prioritized']!.value as string[][]).map(([id]) => id)).toEqual(['by']);
    expect(after['q:meta:lane-out']).toEqual(hash({ a: 'by' })(undefined));
    expect(after['q:by']).toBeDefined();
    expect(after['q:de']).toBeUndefined();
  });

  it('when the queue is obliterated, nothing is left', async () => {
    await tables.given(three, [hset(`${ROOT}:meta`, { paused: '1' })]);
    expect(await tables.run(obliterate(true))).toEqual(['done']);
    expect(await tables.keyspace()).toEqual({});
  });

  // Two lanes are handed over. The next of the first is cancelled, so the one behind it is let out, into the ready order;
  // and with it the next of the second, which must not be taken from where it was before.
  it('the next of a lane was cancelled: the next of another lane, fetched in the same call, begins once', async () => {
    const inB = (sequence: string) => ({ lane: 'b', orderMs: '+7', laneSeq: sequence });
    const given: Command[] = [
      ...used,
      ...givenGroup({ state: 'FAILED', members: [{ ...resting, status: 'cancelled' }] }),
      stored('m2', 2, 0),
      ...job('active', { id: 'a1', fields: laneFields(1) }),
      ...job('active', { id: 'b1', fields: inB('3') }),
      hset(`${ROOT}:meta:lane-out`, { a: 'a1', b: 'b1' }),
      ['ZADD', `${ROOT}:meta:lanes`, '0', 'a', '0', 'b'],
      ...rests('m2', 2),
      ...bystander,
      hset(`${ROOT}:b2`, record(inB('4'))),
      ['ZADD', `${ROOT}:meta:lane:b`, '7', entry(4, 'b2')],
      ['ZADD', `${ROOT}:de`, String(NOW - 100), 'b2'],
    ];
    const ends = [
      { ...completion, ...seenInLane, jobId: 'a1', lane: 'a' },
      { ...completion, ...seenInLane, jobId: 'b1', lane: 'b' },
    ];
    await tables.given(given);
    const reply = await tables.run({
      call: exchangeCall,
      argv: exchangeCall.encode(
        { ...noFetch, fetchCount: 4, token: 'mine:2' },
        items(pushCompleteInLane, ...ends),
      ),
    });
    const ids = (reply[1] as unknown[]).filter((_, i) => i % 2 === 0);
    const after = await tables.keyspace();
    const waiting = (after['q:wait']?.value ?? []) as string[];
    expect([...ids, ...waiting].sort()).toEqual(['b2', 'by']);
    expect(((after['q:active']?.value ?? []) as string[]).toSorted()).toEqual(ids.toSorted());
    expect(after['q:meta:lane-out']!.value).toEqual({ a: 'by', b: 'b2' });
  });

  it('added with their group: the first is out, the second rests', async () => {
    const items: string[] = [];
    pushAddGroup(items, { groupId: GROUP, name: 'order', compensation: '{}', order: '', timeoutMs: '' });
    pushMapping(items, mapping());
    for (const id of ['a1', 'a2']) {
      pushMember(items, { root: ROOT, mapping: 0, head: headOf(id) });
      pushAddInLane(items, { ...addition, jobId: id, lane: 'a', order: '7' });
    }
    await tables.given(usedQueue());
    expect(await tables.run({ call: addGroupsCall, argv: addGroupsCall.encode(items) })).toEqual([
      ['added', 'a1', 'a2'],
    ]);
    const after = await tables.keyspace();
    expect(after['q:wait']).toEqual(pushedLeft('a1')(undefined));
    expect(after['q:meta:lane-out']).toEqual(hash({ a: 'a1' })(undefined));
    expect(after['q:meta:lane:a']).toEqual(zset([entry(12, 'a2'), '7'])(undefined));
    expect(after['q:a2']?.value).toMatchObject({ ...laneFields(12), grp: 'member:1:0:bull:q:groups:g' });
    expect(after['q:groups:g:jobs']?.value).toEqual({ 'bull:q:a1': 'pending', 'bull:q:a2': 'pending' });
  });
});
