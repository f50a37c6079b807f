import { describe, expect, it } from 'vitest';
import { exchangeCall, pushCompleteInLane } from '../../src/store/generated/engine.ts';
import { type Changes, events, fields, gone, hash, list, scored, zset } from '../support/expected.ts';
import { type Command, crowd, job, lane, laneFields, laneMember, NOW, usedQueue } from '../support/given.ts';
import { completion, edgeOf, finishing, items, noFetch, seenInLane } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const accepted = [[], [], [], '0', '0', '', ''];
const told = (jobId: string): [string, Record<string, string>] => [
  'completed',
  { jobId, returnvalue: '{"ok":true}', prev: 'active' },
];
const ended = (id: string, ...others: string[]): Changes => ({
  ...Object.fromEntries(
    [id, ...others].flatMap((one) => [
      [`q:${one}`, fields({ atm: '1', returnvalue: '{"ok":true}', finishedOn: String(NOW) })],
      [`q:${one}:lock`, gone],
    ]),
  ),
  'q:completed': [id, ...others].map((one) => scored(one, NOW)),
  'q:events': events(...[id, ...others].map(told)),
});
/** Active jobs, each alone in a lane that has its name; behind it whoever rests there. */
const inLanes = (...ids: [string, ...string[]][]): Command[] =>
  ids.flatMap(([id, ...resting]) => [
    ...lane({ name: `lane ${id}`, out: [id], resting }),
    ...job('active', { id, fields: laneFields('5', '1', `lane ${id}`) }),
  ]);
const ends = (ids: string[]) =>
  ids.map((jobId) => ({ ...completion, ...seenInLane, jobId, lane: `lane ${jobId}` }));
const completing = (...ids: string[]) => finishing(pushCompleteInLane, ...ends(ids));
/** The same by a worker that has room for so many. */
const completingAndFetching = (fetchCount: number, ...ids: string[]) => ({
  call: exchangeCall,
  argv: exchangeCall.encode(
    { ...noFetch, fetchCount, token: 'mine:2' },
    items(pushCompleteInLane, ...ends(ids)),
  ),
});

describe('complete_in_lane: active -> completed', () => {
  const edge = edgeOf('complete_in_lane');
  fromEveryState(
    tables,
    { ...edge, given: crowd(), spec: {} },
    {
      active: { ...ended('1'), 'q:active': list('x1'), 'q:completed': scored('1', NOW) },
    },
  );

  it('several hand their lanes over at once, and what is left of a lane without a next is nothing', async () => {
    const given = [...usedQueue(), ...inLanes(['a', 'a2', 'a3'], ['b'], ['c', 'c2'])];
    await expectChange(tables, given, completing('a', 'b', 'c'), accepted, {
      ...ended('a', 'b', 'c'),
      'q:active': gone,
      'q:wait': list('c2', 'a2'),
      'q:marker': scored('0', 0),
      'q:de': zset(['a3', String(NOW - 8_999)]),
      'q:meta:lane:lane a': zset([laneMember(3, 'a3'), '7']),
      'q:meta:lane:lane c': gone,
      'q:meta:lanes': zset(['lane a', '0'], ['lane c', '0']),
      'q:meta:lane-out': hash({ 'lane a': 'a2', 'lane c': 'c2' }),
    });
  });

  it('an id that begins like the text of several is told apart from them', async () => {
    await tables.given([...usedQueue(), ...inLanes([':a:b', ':a:c'], ['b', 'b2'])]);
    expect((await tables.run(completing(':a:b', 'b')))[0]).toEqual([]);
    const after = await tables.keyspace();
    expect(after['q:meta:lane-out']!.value).toEqual({ 'lane :a:b': ':4::a:c', 'lane b': 'b2' });
    expect(after['q:wait']!.value).toEqual(['b2', ':a:c']);
    expect(after['q:completed']!.value).toHaveLength(2);
  });

  it('one that is not out alone ends between others that are', async () => {
    await tables.given([
      ...usedQueue(),
      ...inLanes(['a', 'a2']),
      ...lane({ name: 'lane b', out: ['elsewhere', 'b'], resting: ['b2'] }),
      ...job('active', { id: 'b', fields: laneFields('5', '1', 'lane b') }),
      ...inLanes(['c', 'c2'], ['d', 'd2']),
    ]);
    expect((await tables.run(completing('a', 'b', 'c', 'd')))[0]).toEqual([]);
    const after = await tables.keyspace();
    expect(after['q:active']).toBeUndefined();
    expect(after['q:wait']!.value).toEqual(['d2', 'c2', 'a2']);
    expect(after['q:meta:lane-out']!.value).toEqual({
      'lane a': 'a2',
      'lane b': 'elsewhere',
      'lane c': 'c2',
      'lane d': 'd2',
    });
  });

  it('a next one without a record is passed over', async () => {
    await tables.given([
      ...usedQueue(),
      ...inLanes(['a', 'a2', 'a3'], ['b', 'b2'], ['c', 'c2']),
      ['DEL', 'bull:q:a2', 'bull:q:c2'],
    ]);
    expect((await tables.run(completing('a', 'b', 'c')))[0]).toEqual([]);
    const after = await tables.keyspace();
    expect((after['q:wait']!.value as string[]).sort()).toEqual(['a3', 'b2']);
    expect(after['q:meta:lane-out']!.value).toEqual({ 'lane a': 'a3', 'lane b': 'b2' });
    expect(after['q:de']).toBeUndefined();
  });

  it('nor is it fetched, or told of: the one behind it comes instead', async () => {
    await tables.given([
      ...usedQueue(),
      ...inLanes(['a', 'a2', 'a3'], ['b', 'b2'], ['c', 'c2'], ['d', 'd2', 'd3', 'd4']),
      ['DEL', 'bull:q:a2', 'bull:q:c2', 'bull:q:d2', 'bull:q:d3'],
      // No job is what is no record.
      ['SET', 'bull:q:d3', 'something else'],
    ]);
    const [refused, records, ghosts] = await tables.run(completingAndFetching(9, 'a', 'b', 'c', 'd'));
    expect([refused, ghosts]).toEqual([[], []]);
    const fetched = (records as unknown[]).filter((_, i) => i % 2 === 0);
    expect(fetched.sort()).toEqual(['a3', 'b2', 'd4']);
    const after = await tables.keyspace();
    expect((after['q:active']!.value as string[]).sort()).toEqual(['a3', 'b2', 'd4']);
    expect(after['q:wait']).toBeUndefined();
    expect(after['q:de']).toBeUndefined();
    expect(after['q:meta:lane-out']!.value).toEqual({ 'lane a': 'a3', 'lane b': 'b2', 'lane d': 'd4' });
  });

  it('those who follow are fetched behind what was ready, and who is left is ready too', async () => {
    await tables.given([
      ...usedQueue(),
      ...inLanes(['a', 'a2'], ['b', 'b2'], ['c', 'c2']),
      ...job('waiting', { id: 'first' }),
      ...job('prioritized', { id: 'last', fields: { priority: '1' } }),
    ]);
    const [, records] = await tables.run(completingAndFetching(3, 'a', 'b', 'c'));
    expect((records as unknown[]).filter((_, i) => i % 2 === 0)).toEqual(['first', 'a2', 'b2']);
    const after = await tables.keyspace();
    expect(after['q:active']!.value).toEqual(['b2', 'a2', 'first']);
    expect(after['q:wait']!.value).toEqual(['c2']);
    expect(after['q:meta:lane-out']!.value).toEqual({ 'lane a': 'a2', 'lane b': 'b2', 'lane c': 'c2' });
  });

  it('many lanes are found by an index, and nothing else is left of that', async () => {
    const names = Array.from({ length: 10 }, (_, i) => `n${i}`);
    await tables.given([
      ...usedQueue(),
      ...inLanes(['z'], ...names.map((id): [string, string] => [id, `${id}+`])),
    ]);
    // Whether there is one is asked again after the end of a lane.
    expect((await tables.run(completing('z')))[0]).toEqual([]);
    expect((await tables.run(completing(...names)))[0]).toEqual([]);
    expect((await tables.keyspace())['q:meta:lane-out']!.value).toEqual(
      Object.fromEntries(names.map((id) => [`lane ${id}`, `${id}+`])),
    );
    expect(await tables.admin.object('ENCODING', 'bull:q:meta:lane-out')).toBe('hashtable');
  });

  it('the lanes that a worker moves on are its own to go on with, and half of what else is ready', async () => {
    const others = ['o1', 'o2', 'o3', 'o4'].flatMap((id) => job('waiting', { id }));
    await tables.given([...usedQueue(), ...inLanes(['a', 'a2'], ['b', 'b2']), ...others]);
    const [, records] = await tables.run(completingAndFetching(9, 'a', 'b'));
    expect(records).toHaveLength(2 * 4);
    expect((await tables.keyspace())['q:active']!.value).toHaveLength(4);
  });
});
