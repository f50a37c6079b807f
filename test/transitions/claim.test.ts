import { describe, expect, it } from 'vitest';
import { exchangeCall, pushComplete } from '../../src/store/generated/engine.ts';
import {
  type Changes,
  changed,
  events,
  fields,
  gone,
  list,
  pushedLeft,
  scored,
  text,
  without,
} from '../support/expected.ts';
import {
  type Command,
  crowd,
  hset,
  job,
  lane,
  laneFields,
  NOW,
  priorityScore,
  ROOT,
  usedQueue,
} from '../support/given.ts';
import { completion, edgeOf, fetching, noFetch } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const edge = edgeOf('claim');
const claimed: Changes = {
  'q:active': pushedLeft('1'),
  'q:1:lock': text('mine:1', true),
  'q:1': fields({ processedOn: String(NOW), ats: '1' }),
  'q:events': events(['active', { jobId: '1', prev: 'waiting' }]),
  'q:marker': scored('0', 0),
};
const idsOf = (reply: unknown[]) => (reply[1] as unknown[]).filter((_, i) => i % 2 === 0);
const nothing = (limitedMs = '0', due = '0') => [[], [], [], limitedMs, due, '', ''];

describe('claim: waiting | prioritized -> active', () => {
  fromEveryState(tables, edge, {
    waiting: { ...claimed, 'q:wait': gone },
    prioritized: { ...claimed, 'q:prioritized': gone },
  });

  it('the reply is the record as it was before', async () => {
    await tables.given(usedQueue(), job('waiting', { fields: { ats: '4' } }));
    const [, fetched] = (await tables.run(edge)) as [unknown, [string, string[]]];
    const record = Object.fromEntries(
      fetched[1].flatMap((name, i) => (i % 2 === 0 ? [[name, fetched[1][i + 1]]] : [])),
    );
    expect(fetched[0]).toBe('1');
    expect(record).toMatchObject({ name: 'work', data: '{"n":1}', ats: '4' });
    expect((await tables.keyspace())['q:1']!.value).toMatchObject({ ats: '5' });
  });

  it('a worker with a name signs, and the token that asks for no lease leaves none', async () => {
    const space = await tables.given(usedQueue(), job('waiting'));
    expect(idsOf(await tables.run(fetching({ worker: 'ann', token: '0' })))).toEqual(['1']);
    expect(await tables.keyspace()).toEqual(
      changed(space, {
        ...claimed,
        'q:wait': gone,
        'q:1:lock': gone,
        'q:1': fields({ processedOn: String(NOW), ats: '1', pb: 'ann' }),
      }),
    );
  });

  it('of several, ids without a record leave with them, and what was not asked for stays', async () => {
    await tables.given([
      ...usedQueue(),
      ...job('waiting', { id: 'a' }),
      ['LPUSH', `${ROOT}:wait`, 'nobody'],
      ...job('waiting', { id: 'b' }),
      ...job('waiting', { id: 'c' }),
    ]);
    // Half of what is ready.
    const reply = await tables.run(fetching({ fetchCount: 4 }));
    expect(idsOf(reply)).toEqual(['a']);
    expect(reply[2]).toEqual(['nobody']);
    const after = await tables.keyspace();
    expect(after['q:active']!.value).toEqual(['a']);
    expect(after['q:wait']!.value).toEqual(['c', 'b']);
  });

  it('jobs without a priority run first, oldest first, then by priority', async () => {
    await tables.given(
      usedQueue(),
      job('waiting', { id: 'b' }),
      job('waiting', { id: 'c' }),
      job('prioritized', { id: 'low', fields: { priority: '9' } }),
      job('prioritized', { id: 'high', fields: { priority: '1' } }),
    );
    const order: unknown[] = [];
    for (let i = 0; i < 4; i++) order.push(...idsOf(await tables.run(fetching())));
    expect(order).toEqual(['b', 'c', 'high', 'low']);
    expect((await tables.keyspace())['q:active']!.value).toEqual(['low', 'high', 'c', 'b']);
  });

  it('an id without a record, or with something else in its place, is dropped and told', async () => {
    const listed: Command[] = [...usedQueue(), ['LPUSH', `${ROOT}:wait`, '1']];
    await expectChange(tables, listed, fetching(), [[], [], ['1'], '0', '0', '', ''], { 'q:wait': gone });
    const poisoned: Command[] = [...listed, ['SET', `${ROOT}:1`, 'x']];
    await expectChange(tables, poisoned, fetching(), [[], [], ['1'], '0', '0', '', ''], { 'q:wait': gone });
    const scoredOne: Command[] = [...usedQueue(), ['ZADD', `${ROOT}:prioritized`, priorityScore(1, 1), '1']];
    await expectChange(tables, scoredOne, fetching(), [[], [], ['1'], '0', '0', '', ''], {
      'q:prioritized': gone,
    });
  });

  it('a worker that met such an id is told of the job behind it', async () => {
    const given: Command[] = [...usedQueue(), ...job('waiting'), ['RPUSH', `${ROOT}:wait`, 'ghost']];
    await expectChange(tables, given, fetching(), [[], [], ['ghost'], '0', '0', '1', ''], {
      'q:wait': without('ghost'),
    });
  });

  it('an id that lies there twice is claimed once, and the job behind it takes its place', async () => {
    await tables.given([
      ...usedQueue(),
      ...job('waiting', { id: 'a' }),
      ['LPUSH', `${ROOT}:wait`, 'a'],
      ...job('waiting', { id: 'b' }),
      ...job('waiting', { id: 'c' }),
    ]);
    expect(idsOf(await tables.run(fetching({ fetchCount: 2 })))).toEqual(['a', 'b']);
    const after = await tables.keyspace();
    expect(after['q:active']!.value).toEqual(['b', 'a']);
    expect(after['q:wait']!.value).toEqual(['c']);
    expect(after['q:a']!.value).toMatchObject({ ats: '1' });
    const started = (after['q:events']!.value as unknown[]).map((event) => JSON.stringify(event));
    expect(started.filter((event) => event.includes('"active"') && event.includes('"a"'))).toHaveLength(1);
  });

  it('so is one that has run before, amid others', async () => {
    const again = { fields: { ats: '1', processedOn: String(NOW - 60_000) } };
    await tables.given([
      ...usedQueue(),
      ...job('waiting', { id: 'a' }),
      ...job('waiting', { id: 'b', ...again }),
      ['LPUSH', `${ROOT}:wait`, 'b', 'a'],
      ...['c', 'd', 'e', 'f'].flatMap((id) => job('waiting', { id })),
    ]);
    expect(idsOf(await tables.run(fetching({ fetchCount: 4 })))).toEqual(['a', 'b', 'c', 'd']);
    const after = await tables.keyspace();
    expect(after['q:active']!.value).toEqual(['d', 'c', 'b', 'a']);
    expect(after['q:wait']!.value).toEqual(['f', 'e']);
    expect(after['q:b']!.value).toMatchObject({ ats: '2' });
  });

  it('the id of a job that runs is dropped, whoever holds it', async () => {
    for (const state of ['active', 'foreign'] as const) {
      const given: Command[] = [...usedQueue(), ...job(state), ['LPUSH', `${ROOT}:wait`, '1']];
      await expectChange(tables, given, fetching(), nothing(), { 'q:wait': gone });
    }
  });

  it('a lock that was left behind keeps no job from running', async () => {
    const given: Command[] = [
      ...usedQueue(),
      ...job('waiting', { fields: { ats: '1', processedOn: String(NOW - 60_000) } }),
      ['SET', `${ROOT}:1:lock`, 'theirs:9', 'PX', '30000'],
    ];
    await tables.given(given);
    expect(idsOf(await tables.run(fetching()))).toEqual(['1']);
  });

  it('each job of a fetch is leased for the same time, whatever lies where its lock belongs', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    await tables.given(
      usedQueue(),
      ids.flatMap((id) => job('waiting', { id })),
      [
        ['SET', `${ROOT}:a:lock`, 'theirs:8', 'PX', '100'],
        ['SET', `${ROOT}:b:lock`, 'theirs:9'],
        ['LPUSH', `${ROOT}:c:lock`, 'no lock'],
      ],
    );
    const reply = await tables.run(fetching({ fetchCount: 4, token: 'mine:7', leaseMs: '30000' }));
    expect(idsOf(reply)).toEqual(['a', 'b', 'c', 'd']);
    const locks = ids.slice(0, 4).map((id) => `${ROOT}:${id}:lock`);
    expect(await tables.admin.mget(locks)).toEqual(Array(4).fill('mine:7'));
    const left = await Promise.all(locks.map((lock) => tables.admin.pttl(lock)));
    expect(Math.min(...left)).toBeGreaterThan(20_000);
    expect(Math.max(...left)).toBeLessThanOrEqual(30_000);
  });

  it('what is due is promoted, also while the queue is paused, full or limited', async () => {
    const due = job('delayed', { due: NOW });
    const promoted: Changes = {
      'q:delayed': without('1'),
      'q:1': fields({ delay: '0' }),
      'q:wait': pushedLeft('1'),
      'q:events': events(['waiting', { jobId: '1', prev: 'delayed' }]),
    };
    await expectChange(
      tables,
      [...crowd(), hset(`${ROOT}:meta`, { paused: '1' }), ...due],
      fetching(),
      nothing('0', String(NOW + 60_000)),
      promoted,
    );
    await expectChange(
      tables,
      [...crowd(), hset(`${ROOT}:meta`, { concurrency: '1' }), ...due],
      fetching(),
      nothing('0', String(NOW + 60_000)),
      promoted,
    );
  });

  it('a due id without a record is dropped', async () => {
    await expectChange(
      tables,
      [...usedQueue(), ['ZADD', `${ROOT}:delayed`, String(NOW * 4096), 'g']],
      fetching(),
      nothing(),
      { 'q:delayed': gone },
    );
  });

  it('a job that is not due is announced', async () => {
    await expectChange(
      tables,
      [...usedQueue(), ...job('delayed', { due: NOW + 1 })],
      fetching(),
      nothing('0', String(NOW + 1)),
      {},
    );
  });

  it('a rate limit counts starts and ends with its window', async () => {
    await tables.given(
      usedQueue(),
      job('waiting', { id: 'a' }),
      job('waiting', { id: 'b' }),
      job('waiting', { id: 'c' }),
    );
    const limited = fetching({ fetchCount: 3, limitMax: '2', limitMs: '5000' });
    const first = idsOf(await tables.run(limited));
    const second = idsOf(await tables.run(limited));
    expect([...first, ...second]).toEqual(['a', 'b']);
    const [, fetched, , limitedMs] = await tables.run(limited);
    expect(fetched).toEqual([]);
    expect(Number(limitedMs)).toBeGreaterThan(0);
    expect(await tables.admin.get(`${ROOT}:limiter`)).toBe('2');
  });

  it('a queue that is full gives nothing', async () => {
    const given = [
      ...usedQueue(ROOT, { concurrency: '1' }),
      ...job('foreign', { id: 'x' }),
      ...job('waiting'),
    ];
    await expectChange(tables, given, fetching(), nothing(), {});
  });

  it.each<Record<string, string>>([{ concurrency: '2.5' }, { max: '2.5', duration: '1000' }])(
    'a limit that is a fraction lets one more start as long as fewer run: $concurrency $max',
    async (limit) => {
      const ids = Array.from({ length: 10 }, (_, i) => `w${i}`);
      await tables.given(
        usedQueue(ROOT, limit),
        ids.flatMap((id) => job('waiting', { id })),
      );
      const reply = await tables.run(fetching({ fetchCount: 5 }));
      expect(idsOf(reply)).toHaveLength(3);
      expect(reply.at(-1)).toBe('');
      expect(idsOf(await tables.run(fetching({ fetchCount: 5 })))).toEqual([]);
    },
  );

  // The first one came by a door that knows nothing of lanes. It goes back, and those that its lane lets out instead lie
  // in front of all that the fetch has read.
  it.each([
    { concurrency: '1', started: ['p2', 'r1'], left: ['p3', 'p4'] },
    { concurrency: '2', started: ['p2', 'r1'], left: ['1', 'p3', 'p4'] },
  ])('what a lane of $concurrency lets out amid a fetch disturbs no other', async (given) => {
    await tables.given(
      usedQueue(),
      lane({ resting: ['r1'], rules: { concurrency: given.concurrency } }),
      [hset(`${ROOT}:r1`, { priority: '1' })],
      job('prioritized', { id: '1', fields: { ...laneFields('9', '9'), priority: '5' } }),
      ...['p2', 'p3', 'p4'].map((id) => job('prioritized', { id, fields: { priority: '6' } })),
    );
    expect(idsOf(await tables.run(fetching({ fetchCount: 4 })))).toEqual(given.started);
    const after = await tables.keyspace();
    expect(after['q:active']!.value).toEqual(given.started.toReversed());
    expect((after['q:prioritized']!.value as string[][]).map(([id]) => id).sort()).toEqual(given.left);
  });

  it('behind one that goes back to its lane, all that the fetch has read are claimed', async () => {
    await tables.given(
      usedQueue(),
      lane({ out: ['x'], resting: ['r1'] }),
      job('foreign', { id: 'x', fields: laneFields('1', '1') }),
      job('waiting', { id: 'late', fields: laneFields('9', '9') }),
      ...['p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7'].map((id) => job('waiting', { id })),
    );
    const ids = idsOf(await tables.run(fetching({ fetchCount: 4 })));
    expect(ids).toEqual(['p1', 'p2', 'p3', 'p4']);
    const after = await tables.keyspace();
    expect(after['q:active']!.value).toEqual(['p4', 'p3', 'p2', 'p1', 'x']);
    expect(after['q:wait']!.value).toEqual(['p7', 'p6', 'p5']);
  });

  describe('ahead of free slots', () => {
    const again = { ats: '1', processedOn: String(NOW - 60_000) };
    const waiting = (...ids: string[]) => ids.flatMap((id) => job('waiting', { id }));

    it('jobs are taken that have never begun, in their order', async () => {
      await tables.given(usedQueue(), waiting('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'));
      expect(idsOf(await tables.run(fetching({ fetchCount: 1, aheadCount: 2 })))).toEqual(['a', 'b', 'c']);
      expect(idsOf(await tables.run(fetching({ fetchCount: 0, aheadCount: 2 })))).toEqual(['d', 'e']);
      expect((await tables.keyspace())['q:active']!.value).toEqual(['e', 'd', 'c', 'b', 'a']);
    });

    it('at most half of what is ready', async () => {
      await tables.given(usedQueue(), waiting('a', 'b', 'c', 'd'));
      expect(idsOf(await tables.run(fetching({ fetchCount: 1, aheadCount: 9 })))).toEqual(['a', 'b']);
    });

    it('one that has begun before waits for a slot, and nothing overtakes it', async () => {
      const given = [
        ...usedQueue(),
        ...waiting('a'),
        ...job('waiting', { id: 'b', fields: again }),
        ...waiting('c', 'd', 'e', 'f'),
        ...job('prioritized', { id: 'p', fields: { priority: '1' } }),
      ];
      await tables.given(given);
      expect(idsOf(await tables.run(fetching({ fetchCount: 1, aheadCount: 3 })))).toEqual(['a']);
      const space = await tables.keyspace();
      expect(await tables.run(fetching({ fetchCount: 0, aheadCount: 3 }))).toEqual(nothing());
      expect(await tables.keyspace()).toEqual(space);
      expect(idsOf(await tables.run(fetching({ fetchCount: 1, aheadCount: 1 })))).toEqual(['b', 'c']);
    });

    it('so does one that is tied to others, and an id without a job', async () => {
      const parent = { parentKey: `${ROOT}:p`, parent: JSON.stringify({ id: 'p', queueKey: ROOT }) };
      for (const first of [
        job('waiting', { id: 'a', fields: parent }),
        [['LPUSH', `${ROOT}:wait`, 'nobody'] as Command],
      ])
        await expectChange(
          tables,
          [...usedQueue(), ...first, ...waiting('b', 'c')],
          fetching({ fetchCount: 0, aheadCount: 2 }),
          nothing(),
          {},
        );
    });

    it('the heads of lanes are taken', async () => {
      await tables.given(
        usedQueue(),
        lane({ name: 'x', out: ['a'] }),
        lane({ name: 'y', out: ['b'] }),
        job('waiting', { id: 'a', fields: laneFields('1', '1', 'x') }),
        job('waiting', { id: 'b', fields: laneFields('1', '2', 'y') }),
        waiting('c', 'd'),
      );
      expect(idsOf(await tables.run(fetching({ fetchCount: 0, aheadCount: 2 })))).toEqual(['a', 'b']);
    });

    it('none where the queue limits how many run, or how many start', async () => {
      const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
      await tables.given(usedQueue(ROOT, { concurrency: '9' }), waiting(...ids));
      expect(idsOf(await tables.run(fetching({ fetchCount: 1, aheadCount: 2 })))).toEqual(['a']);
      await tables.given(usedQueue(), waiting(...ids));
      const limited = { limitMax: '9', limitMs: '5000' };
      expect(idsOf(await tables.run(fetching({ fetchCount: 1, aheadCount: 2, ...limited })))).toEqual(['a']);
    });
  });

  it('the counter of turns is forgotten with the last prioritized job', async () => {
    await expectChange(tables, [...usedQueue(), ['SET', `${ROOT}:pc`, '8']], fetching(), nothing(), {
      'q:pc': gone,
    });
  });

  it('a finish and a fetch go together, finish first', async () => {
    const argv: string[] = [];
    pushComplete(argv, completion);
    const exchange = {
      call: exchangeCall,
      argv: exchangeCall.encode({ ...noFetch, fetchCount: 1, token: 'mine:2' }, argv),
    };
    await tables.given(usedQueue(), job('active'), job('waiting', { id: '2' }));
    const reply = await tables.run(exchange);
    expect(reply[0]).toEqual([]);
    expect(idsOf(reply)).toEqual(['2']);
    const after = await tables.keyspace();
    expect(after['q:active']).toEqual(list('2')(undefined));
    expect(after['q:events']!.value).toEqual([
      ['event', 'completed', 'jobId', '1', 'returnvalue', '{"ok":true}', 'prev', 'active'],
      ['event', 'active', 'jobId', '2', 'prev', 'waiting'],
    ]);
  });
});
