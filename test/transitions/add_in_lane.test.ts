import { describe, expect, it } from 'vitest';
import { addManyCall, pushAddInLane } from '../../src/store/generated/engine.ts';
import { ItemRun } from '../../src/store/item-run.ts';
import { type Changes, events, fields, hash, pushedLeft, scored, text } from '../support/expected.ts';
import {
  crowd,
  hset,
  laneRules,
  NOW,
  priorityScore,
  ROOT,
  type State,
  states,
  usedQueue,
} from '../support/given.ts';
import { addition, edgeOf } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const inLane = { ...addition, lane: 'a', order: '7' };
const add = (...jobs: Partial<typeof inLane>[]) => {
  const argv: string[] = [];
  const run = new ItemRun<typeof inLane>();
  for (const job of jobs) pushAddInLane(argv, { ...inLane, jobId: '', ...job }, run);
  return { call: addManyCall, argv: addManyCall.encode(argv) };
};
/** A sequence of its own only beside an id of its own. */
const stored = (sequence: string | undefined, other: Record<string, string> = {}) =>
  hash({
    name: 'mail',
    data: '{"to":"a"}',
    opts: '{"attempts":1}',
    timestamp: String(NOW),
    delay: '0',
    priority: '0',
    lane: 'a',
    orderMs: '+7',
    ...(sequence === undefined ? {} : { laneSeq: sequence }),
    ...other,
  });
const member = (sequence: number, id = String(sequence)) => `${String(sequence).padStart(16, '0')}${id}`;
const told = (id: string) =>
  events(['added', { jobId: id, name: 'mail' }], ['waiting', { jobId: id, lane: 'a' }]);

/** The first of its lane goes out at once. A queue that has had no lanes begins with lines. */
const out = (id: string, usedBefore = 'l'): Changes => ({
  'q:id': text('11'),
  [`q:${id}`]: stored(id === '11' ? undefined : '11'),
  'q:wait': pushedLeft(id),
  'q:events': told(id),
  'q:marker': scored('0', 0),
  'q:meta': fields(laneRules({ used: usedBefore })),
  'q:meta:lanes': scored('a', 0),
  'q:meta:lane-out': hash({ a: id }),
});
const duplicate: Changes = { 'q:id': text('11'), 'q:events': events(['duplicated', { jobId: '1' }]) };
const used = usedQueue(ROOT, laneRules());
const busy = [
  ...used,
  ['HSET', `${ROOT}:meta:lane-out`, 'a', 'x'],
  ['ZADD', `${ROOT}:meta:lanes`, '0', 'a'],
] as [string, ...string[]][];
/** Behind one that is out it rests. */
const resting = (sequence: number, order = '7'): Changes => ({
  'q:id': text(String(sequence)),
  [`q:${sequence}`]: stored(undefined, { orderMs: `+${order}` }),
  'q:events': told(String(sequence)),
  'q:meta:lane:a': scored(member(sequence), order),
  'q:de': scored(String(sequence), NOW),
});

describe('add_in_lane: nothing -> waiting', () => {
  const taken = states.filter((state) => state !== 'missing');
  fromEveryState(tables, edgeOf('add_in_lane'), {
    missing: out('1'),
    ...(Object.fromEntries(taken.map((state) => [state, duplicate])) as Partial<Record<State, Changes>>),
  });

  it('with a priority it goes out by that', async () => {
    const { 'q:wait': _, ...rest } = out('11');
    await expectChange(tables, crowd(), add({ priority: '2' }), ['added', '11'], {
      ...rest,
      'q:11': stored(undefined, { priority: '2' }),
      'q:meta': fields(laneRules({ used: 'lp' })),
      'q:pc': text('3'),
      'q:prioritized': scored('11', priorityScore(2, 3)),
    });
  });

  it('behind one that is out it rests in its lane', async () => {
    await expectChange(tables, busy, add({}), ['added', '11'], resting(11));
  });

  it('without an order its place is the time of the add', async () => {
    await expectChange(tables, busy, add({ order: '' }), ['numbered', '11', '1'], resting(11, String(NOW)));
  });

  it('one whose record cannot be written leaves nothing in its lane, and the others are told of', async () => {
    const usual = { order: '' };
    const [first, third] = [resting(11, String(NOW)), resting(13, String(NOW))];
    await expectChange(
      tables,
      [...busy, ['SET', `${ROOT}:12`, 'x']],
      add(usual, usual, usual),
      ['numbered', '11', '1', 'error', expect.stringContaining('WRONGTYPE'), 'numbered', '13', '1'],
      {
        ...first,
        ...third,
        'q:events': [told('11'), told('13')],
        'q:meta:lane:a': [scored(member(11), String(NOW)), scored(member(13), String(NOW))],
        'q:de': [scored('11', NOW), scored('13', NOW)],
      },
    );
  });

  it('two of one call go one after the other', async () => {
    await expectChange(tables, used, add({}, {}), ['added', '11', 'added', '12'], {
      ...out('11', '-'),
      'q:id': text('12'),
      'q:12': stored(undefined),
      'q:events': [told('11'), told('12')],
      'q:meta:lane:a': scored(member(12), '7'),
      'q:de': scored('12', NOW),
    });
  });

  it('many lanes are found by an index from the moment when there are many, also in a queue that was empty', async () => {
    await tables.given(used);
    const lanes = Array.from({ length: 10 }, (_, i) => ({ lane: `lane ${i}`, order: '' }));
    const encoding = () => tables.admin.object('ENCODING', `${ROOT}:meta:lane-out`);
    // Looked for among none that are out, and then among ten.
    await tables.run(add(...lanes));
    expect(await encoding()).toBe('listpack');
    await tables.run(add(...lanes));
    expect(await encoding()).toBe('hashtable');
  });

  it('with a delay it waits for its time, and its lane does not wait for it', async () => {
    await expectChange(tables, used, add({ delay: '500' }), ['added', '11'], {
      'q:id': text('11'),
      'q:11': stored(undefined, { delay: '500' }),
      'q:events': events(
        ['added', { jobId: '11', name: 'mail' }],
        ['delayed', { jobId: '11', delay: String(NOW + 500) }],
      ),
      'q:meta:lane-delayed': scored('11', NOW + 500),
      'q:de': scored('11', -1),
      'q:marker': scored('1', NOW + 500),
      'q:meta': fields(laneRules({ used: 'd' })),
    });
  });

  it('two may be out where the queue or the lane says so', async () => {
    const { 'q:meta': _, ...same } = out('11');
    const two: Changes = {
      ...same,
      'q:meta:lane-out': hash({ a: ':1:x2:11' }),
    };
    await expectChange(
      tables,
      [...busy, hset(`${ROOT}:meta`, laneRules({ concurrency: '2' }))],
      add({}),
      ['added', '11'],
      two,
    );
    await expectChange(
      tables,
      [
        ...busy,
        hset(`${ROOT}:meta`, laneRules({ used: 'o' })),
        hset(`${ROOT}:meta:lane-settings`, { a: '2' }),
      ],
      add({}),
      ['added', '11'],
      two,
    );
  });

  it('a lane that is paused or halted lets nobody out', async () => {
    for (const own of ['p', 'h', 'ph3']) {
      await expectChange(
        tables,
        [
          ...used,
          hset(`${ROOT}:meta`, laneRules({ used: 'o' })),
          hset(`${ROOT}:meta:lane-settings`, { a: own }),
        ],
        add({}),
        ['added', '11'],
        { ...resting(11), 'q:meta:lanes': scored('a', 0) },
      );
    }
  });

  it('with an ordering delay it is held back, from its order or its arrival, whichever is earlier', async () => {
    const given = [...used, hset(`${ROOT}:meta`, laneRules({ orderingDelayMs: '500' }))];
    for (const order of [NOW - 100, NOW + 9_000]) {
      const due = Math.min(order, NOW) + 500;
      await expectChange(tables, given, add({ order: String(order) }), ['added', '11'], {
        ...resting(11, String(order)),
        'q:meta:lanes': scored('a', 0),
        'q:meta:lane-held': scored('a', due),
        'q:marker': scored('1', due),
        'q:meta': fields(laneRules({ orderingDelayMs: '500', used: 'h' })),
      });
    }
  });

  it('a name may be any text', async () => {
    for (const lane of ['a:b', '{x}', '%1', 'line\nbreak', 'lock', 'out', '-out', 's', 'ж💡', ' ']) {
      const { 'q:meta:lanes': _lanes, 'q:meta:lane-out': _out, ...rest } = out('11', '-');
      await expectChange(tables, used, add({ lane }), ['added', '11'], {
        ...rest,
        'q:11': stored(undefined, { lane }),
        'q:events': events(['added', { jobId: '11', name: 'mail' }], ['waiting', { jobId: '11', lane }]),
        'q:meta:lanes': scored(lane, 0),
        'q:meta:lane-out': hash({ [lane]: '11' }),
      });
    }
  });
});
