import { describe, expect, it } from 'vitest';
import { addManyCall, pushAdd } from '../../src/store/generated/engine.ts';
import {
  type Changes,
  events,
  fields,
  hash,
  pushedLeft,
  pushedRight,
  scored,
  text,
} from '../support/expected.ts';
import { crowd, delayedScore, hset, job, NOW, priorityScore, type State, states } from '../support/given.ts';
import { addition, edgeOf, items } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const stored = (other: Record<string, string> = {}) =>
  hash({
    name: 'mail',
    data: '{"to":"a"}',
    opts: '{"attempts":1}',
    timestamp: String(NOW),
    delay: '0',
    priority: '0',
    ...other,
  });
const added = (id: string): Changes => ({
  'q:id': text('11'),
  [`q:${id}`]: stored(),
  'q:wait': pushedLeft(id),
  'q:events': events(['added', { jobId: id, name: 'mail' }], ['waiting', { jobId: id }]),
  'q:marker': scored('0', 0),
});
const duplicate: Changes = { 'q:id': text('11'), 'q:events': events(['duplicated', { jobId: '1' }]) };
const add = (...args: Partial<typeof addition>[]) => {
  const argv = items(pushAdd, ...args.map((arg) => ({ ...addition, jobId: '', ...arg })));
  return { call: addManyCall, argv: addManyCall.encode(argv) };
};

describe('add: nothing -> waiting', () => {
  const taken = states.filter((state) => state !== 'missing');
  fromEveryState(tables, edgeOf('add'), {
    missing: added('1'),
    ...(Object.fromEntries(taken.map((state) => [state, duplicate])) as Partial<Record<State, Changes>>),
  });

  it('an automatic id is the next number', async () => {
    await expectChange(tables, crowd(), add({}), ['numbered', '11', '1'], added('11'));
  });

  it('the creation time can be given', async () => {
    await expectChange(tables, crowd(), add({ timestamp: '77' }), ['numbered', '11', '1'], {
      ...added('11'),
      'q:11': stored({ timestamp: '77' }),
    });
  });

  it('a last-in first-out job runs next', async () => {
    await expectChange(tables, crowd(), add({ isNext: true }), ['added', '11'], {
      ...added('11'),
      'q:wait': pushedRight('11'),
    });
  });

  it('the first add of all sets the length of the event stream', async () => {
    await expectChange(tables, [], add({}), ['numbered', '1', '1'], {
      ...added('1'),
      'q:id': text('1'),
      'q:meta': fields({ 'opts.maxLenEvents': '10000' }),
    });
  });

  it('a paused or full queue wakes nobody', async () => {
    const quiet = { ...added('11'), 'q:marker': () => undefined };
    await expectChange(
      tables,
      [...crowd(), hset('bull:q:meta', { paused: '1' })],
      add({}),
      ['numbered', '11', '1'],
      quiet,
    );
    await expectChange(
      tables,
      [...crowd(), hset('bull:q:meta', { concurrency: '1' })],
      add({}),
      ['numbered', '11', '1'],
      quiet,
    );
    await expectChange(
      tables,
      [...crowd(), hset('bull:q:meta', { concurrency: '2' })],
      add({}),
      ['numbered', '11', '1'],
      added('11'),
    );
  });
});

describe('add: nothing -> prioritized', () => {
  it('the job goes behind its peers', async () => {
    await expectChange(tables, crowd(), add({ priority: '3' }), ['added', '11'], {
      ...added('11'),
      'q:wait': (before) => before,
      'q:11': stored({ priority: '3' }),
      'q:pc': text('3'),
      'q:prioritized': scored('11', priorityScore(3, 3)),
    });
  });
});

describe('add: nothing -> delayed', () => {
  const delayed = (delay: number, due: number, place: number): Changes => ({
    'q:id': text('11'),
    'q:11': stored({ delay: String(delay) }),
    'q:delayed': scored('11', delayedScore(due, place)),
    'q:events': events(
      ['added', { jobId: '11', name: 'mail' }],
      ['delayed', { jobId: '11', delay: String(due) }],
    ),
    'q:marker': scored('1', Math.min(due, NOW + 60_000)),
  });

  it('the job is due after its delay, and the marker is the earliest due time', async () => {
    await expectChange(tables, crowd(), add({ delay: '500' }), ['added', '11'], delayed(500, NOW + 500, 0));
    await expectChange(
      tables,
      crowd(),
      add({ delay: '90000' }),
      ['added', '11'],
      delayed(90_000, NOW + 90_000, 0),
    );
  });

  it('jobs due in the same millisecond keep their order', async () => {
    await expectChange(
      tables,
      crowd(),
      add({ delay: '60000' }),
      ['added', '11'],
      delayed(60_000, NOW + 60_000, 1),
    );
  });

  it('the delay counts from the creation time, and a paused queue is told of it', async () => {
    const given = [...crowd(), hset('bull:q:meta', { paused: '1' })];
    await expectChange(tables, given, add({ delay: '500', timestamp: String(NOW - 100) }), ['added', '11'], {
      ...delayed(500, NOW + 400, 0),
      'q:11': stored({ delay: '500', timestamp: String(NOW - 100) }),
    });
  });

  it('a job with a priority waits for its time first', async () => {
    await expectChange(tables, crowd(), add({ delay: '500', priority: '3' }), ['added', '11'], {
      ...delayed(500, NOW + 500, 0),
      'q:11': stored({ delay: '500', priority: '3' }),
    });
  });
});

describe('add_many', () => {
  it('jobs go in the order of the batch, one marker for all', async () => {
    await tables.given(crowd());
    // Those that were numbered one after the other are told together.
    expect(await tables.run(add({}, {}, { jobId: 'a' }, { jobId: 'a' }, {}, { isNext: true }))).toEqual([
      ...['numbered', '11', '2'],
      ...['added', 'a'],
      ...['duplicate', 'a'],
      ...['numbered', '15', '1'],
      ...['added', '16'],
    ]);
    const after = await tables.keyspace();
    expect(after['q:wait']!.value).toEqual(['15', 'a', '12', '11', 'w2', 'w1', '16']);
    expect(after['q:marker']!.value).toEqual([['0', '0']]);
  });

  it('a key that holds something else is no free id', async () => {
    await expectChange(
      tables,
      [...crowd(), ['SET', 'bull:q:1', 'x']],
      edgeOf('add'),
      ['duplicate', '1'],
      duplicate,
    );
    await expectChange(tables, [...crowd(), ...job('waiting')], edgeOf('add'), ['duplicate', '1'], duplicate);
  });

  it('one that cannot be written keeps none of the others from being told of, in their order', async () => {
    const told = (id: string): Parameters<typeof events> => [
      ['added', { jobId: id, name: 'mail' }],
      ['waiting', { jobId: id }],
    ];
    await expectChange(
      tables,
      [...crowd(), ['SET', 'bull:q:12', 'x']],
      add({}, {}, {}),
      ['numbered', '11', '1', 'error', expect.stringContaining('WRONGTYPE'), 'numbered', '13', '1'],
      {
        'q:id': text('13'),
        'q:11': stored(),
        'q:13': stored(),
        'q:wait': (before) => pushedLeft('13')(pushedLeft('11')(before)),
        'q:events': events(...told('11'), ...told('13')),
        'q:marker': scored('0', 0),
      },
    );
  });
});
