import { describe, expect, it } from 'vitest';
import { exchangeCall, pushComplete } from '../../src/store/generated/engine.ts';
import {
  type Changes,
  events,
  fields,
  gone,
  pushedRight,
  scored,
  text,
  without,
} from '../support/expected.ts';
import { type Command, crowd, job, NOW, usedQueue } from '../support/given.ts';
import { completion, edgesOf, finishing, items, noFetch, seen } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const [withLease, untied, withoutLease] = edgesOf('complete');
const done = ['completed', { jobId: '1', returnvalue: '{"ok":true}', prev: 'active' }] as [
  string,
  Record<string, string>,
];
const finished: Changes = {
  'q:active': without('1'),
  'q:completed': scored('1', NOW),
  'q:1': fields({ atm: '1', returnvalue: '{"ok":true}', finishedOn: String(NOW) }),
  'q:events': events(done),
};
const accepted = [[], [], [], '0', '0', '', ''];
const complete = (arg: Partial<typeof completion> = {}) => finishing(pushComplete, { ...completion, ...arg });

describe('complete: active -> completed', () => {
  fromEveryState(tables, withLease!, { active: { ...finished, 'q:1:lock': gone } });
});

describe('complete of a job that its worker saw to be tied to nothing', () => {
  fromEveryState(tables, untied!, { active: { ...finished, 'q:1:lock': gone } });
});

describe('complete with the token that asks for no lease', () => {
  fromEveryState(tables, withoutLease!, { active: finished, foreign: finished, expired: finished });
});

describe('complete', () => {
  it('the last job of a queue drains it', async () => {
    await expectChange(tables, [...usedQueue(), ...job('active')], complete(), accepted, {
      ...finished,
      'q:active': gone,
      'q:1:lock': gone,
      'q:events': events(done, ['drained']),
    });
  });

  it('a suspect is one no more', async () => {
    await expectChange(
      tables,
      [...crowd(), ['SADD', 'bull:q:stalled', '1', 'x1'], ...job('active')],
      complete(),
      accepted,
      {
        ...finished,
        'q:1:lock': gone,
        'q:stalled': without('1'),
      },
    );
  });

  it('keeping none erases the job and all its keys', async () => {
    const given: Command[] = [
      ...crowd(),
      ...job('active'),
      ['RPUSH', 'bull:q:1:logs', 'row'],
      ['HSET', 'bull:q:1:processed', 'k', '1'],
    ];
    await expectChange(tables, given, complete({ keepCount: '0' }), accepted, {
      'q:active': without('1'),
      'q:1': gone,
      'q:1:lock': gone,
      'q:1:logs': gone,
      'q:1:processed': gone,
      'q:events': events(done),
    });
  });

  it('keeping one erases the older ones', async () => {
    await expectChange(tables, [...crowd(), ...job('active')], complete({ keepCount: '1' }), accepted, {
      ...finished,
      'q:1:lock': gone,
      'q:completed': [scored('1', NOW), without('c1')],
      'q:c1': gone,
    });
  });

  it('an older one of which only half a record is left tells its parent all the same', async () => {
    await tables.given([
      ...crowd(),
      ...job('active'),
      ['DEL', 'bull:q:c1'],
      ['HSET', 'bull:q:c1', 'parentKey', 'bull:q:k1'],
      ['DEL', 'bull:q:k1:dependencies'],
      ['SADD', 'bull:q:k1:dependencies', 'bull:q:c1'],
    ]);
    expect((await tables.run(complete({ keepCount: '1' })))[0]).toEqual([]);
    const after = await tables.keyspace();
    expect(after['q:c1']).toBeUndefined();
    expect(after['q:k1:dependencies']).toBeUndefined();
    expect(after['q:wait']!.value).toContain('k1');
  });

  it('keeping for a time erases what is older, and the job itself where the time is nothing', async () => {
    await expectChange(tables, [...crowd(), ...job('active')], complete({ keepAge: '30' }), accepted, {
      ...finished,
      'q:1:lock': gone,
      'q:completed': [scored('1', NOW), without('c1')],
      'q:c1': gone,
    });
    await expectChange(tables, [...crowd(), ...job('active')], complete({ keepAge: '0' }), accepted, {
      'q:active': without('1'),
      'q:completed': gone,
      'q:c1': gone,
      'q:1': gone,
      'q:1:lock': gone,
      'q:events': events(done),
    });
  });

  it('a parent with a child that failed for it is refused', async () => {
    const given: Command[] = [
      ...crowd(),
      ...job('active'),
      ['ZADD', 'bull:q:1:unsuccessful', '5', 'bull:q:ch'],
    ];
    await expectChange(
      tables,
      given,
      complete(),
      [['0', 'failed_children', ''], [], [], '0', '0', '', ''],
      {},
    );
  });

  it('and so is one whose child failed while it ran, though its worker saw neither', async () => {
    const given: Command[] = [
      ...crowd(),
      ...job('active', { fields: { defa: 'child bull:q:ch failed' } }),
      ['ZADD', 'bull:q:1:unsuccessful', '5', 'bull:q:ch'],
    ];
    await expectChange(
      tables,
      given,
      complete(seen),
      [['0', 'failed_children', ''], [], [], '0', '0', '', ''],
      {},
    );
  });

  it('one that its worker holds but that is not active any more is refused, and lies nowhere else', async () => {
    const given: Command[] = [...usedQueue(), ...job('active'), ['DEL', 'bull:q:active']];
    await expectChange(
      tables,
      given,
      complete(seen),
      [['0', 'not_in_state', ''], [], [], '0', '0', '', ''],
      {},
    );
  });

  it('what comes due is fetched behind it, in a queue that had no delayed jobs and has one now', async () => {
    const finishAndFetch = (jobId: string) => ({
      call: exchangeCall,
      argv: exchangeCall.encode(
        { ...noFetch, fetchCount: 1, token: completion.token },
        items(pushComplete, { ...completion, ...seen, jobId }),
      ),
    });
    await tables.given([...usedQueue(), ...job('active')]);
    expect((await tables.run(finishAndFetch('1')))[1]).toEqual([]);
    for (const id of ['d1', 'd2']) {
      await tables.given([...usedQueue(), ...job('active'), ...job('delayed', { id, due: NOW })]);
      expect((await tables.run(finishAndFetch('1')))[1]).toEqual([id, expect.anything()]);
    }
  });

  const child = { parentKey: 'bull:p:par', parent: '{"id":"par","queueKey":"bull:p"}' };
  const parent = (...others: string[]) => [
    ...usedQueue('bull:p'),
    ...job('waiting-children', { root: 'bull:p', id: 'par', dependencies: ['bull:q:1', ...others] }),
  ];

  it('the last child releases its parent in another queue', async () => {
    await expectChange(
      tables,
      [...crowd(), ...parent(), ...job('active', { fields: child })],
      complete(),
      accepted,
      {
        ...finished,
        'q:1:lock': gone,
        'p:par:dependencies': gone,
        'p:par:processed': fields({ 'bull:q:1': '{"ok":true}' }),
        'p:waiting-children': gone,
        'p:wait': pushedRight('par'),
        'p:marker': scored('0', 0),
        'p:events': events(['waiting', { jobId: 'par', prev: 'waiting-children' }]),
      },
    );
  });

  it('a job that was given a parent while it ran tells it', async () => {
    const given = [...crowd(), ...parent('bull:q:w1'), ...job('active', { fields: child })];
    await expectChange(tables, given, complete(seen), accepted, {
      ...finished,
      'q:1:lock': gone,
      'p:par:dependencies': without('bull:q:1'),
      'p:par:processed': fields({ 'bull:q:1': '{"ok":true}' }),
    });
  });

  it('one of several children leaves the parent waiting', async () => {
    const given = [...crowd(), ...parent('bull:q:w1'), ...job('active', { fields: child })];
    await expectChange(tables, given, complete(), accepted, {
      ...finished,
      'q:1:lock': gone,
      'p:par:dependencies': without('bull:q:1'),
      'p:par:processed': fields({ 'bull:q:1': '{"ok":true}' }),
    });
  });

  it('a parent field that is no key ties the job to nothing', async () => {
    const given = [...crowd(), ...job('active', { fields: { parentKey: 'nonsense', parent: 'nonsense' } })];
    await expectChange(tables, given, complete(), accepted, { ...finished, 'q:1:lock': gone });
  });

  it('a deduplication without an end is released, and one with an end is left to it', async () => {
    const given = [...crowd(), ...job('active', { fields: { deid: 'once' } })];
    const after = { ...finished, 'q:1:lock': gone };
    await expectChange(tables, [...given, ['SET', 'bull:q:de:once', '1']], complete(), accepted, {
      ...after,
      'q:de:once': gone,
    });
    await expectChange(
      tables,
      [...given, ['SET', 'bull:q:de:once', '1', 'PX', '99999']],
      complete(),
      accepted,
      after,
    );
    await expectChange(tables, [...given, ['SET', 'bull:q:de:once', '7']], complete(), accepted, after);
  });

  it('the add that was swallowed meanwhile becomes a job', async () => {
    const given: Command[] = [
      ...crowd(),
      ...job('active', { fields: { deid: 'once' } }),
      ['SET', 'bull:q:de:once', '1'],
      [
        'HSET',
        'bull:q:dn:once',
        'name',
        'again',
        'data',
        '[]',
        'opts',
        '{"de":{"id":"once","keepLastIfActive":true}}',
        'jid',
        '9',
      ],
    ];
    await expectChange(tables, given, complete(), accepted, {
      ...finished,
      'q:1:lock': gone,
      'q:id': text('11'),
      'q:de:once': text('9'),
      'q:dn:once': gone,
      'q:9': fields({
        name: 'again',
        data: '[]',
        opts: '{"de":{"id":"once","keepLastIfActive":true}}',
        timestamp: String(NOW),
        delay: '0',
        priority: '0',
        deid: 'once',
      }),
      'q:wait': (before) => ({ type: 'list', value: ['9', ...(before!.value as string[])], hasTtl: false }),
      'q:marker': scored('0', 0),
      'q:events': events(['added', { jobId: '9', name: 'again' }], ['waiting', { jobId: '9' }], done),
    });
  });

  const many = (...ids: string[]) =>
    finishing(pushComplete, ...ids.map((jobId) => ({ ...completion, jobId, ...seen })));

  it('those that have been active the longest leave together, and others stay', async () => {
    await tables.given([...usedQueue(), ...['a', 'b', 'c', 'd'].flatMap((id) => job('active', { id }))]);
    expect((await tables.run(many('b', 'a')))[0]).toEqual([]);
    const after = await tables.keyspace();
    expect(after['q:active']!.value).toEqual(['d', 'c']);
    expect(Object.keys(after).filter((key) => key.endsWith(':lock'))).toEqual(['q:c:lock', 'q:d:lock']);
    expect((await tables.run(many('d', 'c')))[0]).toEqual([]);
    expect((await tables.keyspace())['q:active']).toBeUndefined();
  });

  it('a job that is handed in twice in one call is accepted once', async () => {
    await tables.given([...usedQueue(), ...job('active', { id: 'a' }), ...job('active', { id: 'b' })]);
    expect((await tables.run(many('a', 'a', 'b')))[0]).toEqual(['1', 'lease_missing', '']);
    const after = await tables.keyspace();
    expect(after['q:active']).toBeUndefined();
    expect((after['q:completed']!.value as string[][]).map(([id]) => id)).toEqual(['a', 'b']);
  });

  it('so is one of a worker that asks for no lease', async () => {
    await tables.given([...usedQueue(), ...job('active', { id: 'a' })]);
    const twice = { ...completion, jobId: 'a', token: '0' };
    expect((await tables.run(finishing(pushComplete, twice, twice)))[0]).toEqual(['1', 'not_in_state', '']);
    const told = (await tables.keyspace())['q:events']!.value as string[][];
    expect(told.filter((event) => event.includes('completed'))).toHaveLength(1);
  });

  it('one of a batch whose record has gone is refused, and the others finish', async () => {
    await tables.given([
      ...usedQueue(),
      ...job('active', { id: 'a' }),
      ...job('active', { id: 'b' }),
      ['DEL', 'bull:q:b'],
    ]);
    expect((await tables.run(many('a', 'b')))[0]).toEqual(['1', 'not_found', '']);
    const after = await tables.keyspace();
    expect(after['q:active']!.value).toEqual(['b']);
    expect(after['q:b']).toBeUndefined();
  });

  it('a batch goes in its order, and each job is accepted or refused on its own', async () => {
    const space = await tables.given([
      ...crowd(),
      ...job('active'),
      ...job('foreign', { id: '2' }),
      ...job('active', { id: '3' }),
    ]);
    const batch = finishing(
      pushComplete,
      completion,
      { ...completion, jobId: '2' },
      { ...completion, jobId: '3' },
    );
    const reply = await tables.run(batch);
    expect(reply[0]).toEqual(['1', 'lease_lost', '']);
    const after = await tables.keyspace();
    expect(after['q:active']!.value).toEqual(['2', 'x1']);
    expect(after['q:2']).toEqual(space['q:2']);
    expect(after['q:completed']!.value).toEqual([
      ['c1', String(NOW - 60_000)],
      ['1', String(NOW)],
      ['3', String(NOW)],
    ]);
  });
});
