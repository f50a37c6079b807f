import { describe, it } from 'vitest';
import { removeCall } from '../../src/store/generated/engine.ts';
import { type Changes, events, gone, pushedRight, scored, without } from '../support/expected.ts';
import { type Command, crowd, job, NOW, ROOT, type State, usedQueue } from '../support/given.ts';
import { edgesOf } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const [alone, withChildren] = edgesOf('remove');
const places: Partial<Record<State, string>> = {
  waiting: 'wait',
  prioritized: 'prioritized',
  delayed: 'delayed',
  expired: 'active',
  completed: 'completed',
  failed: 'failed',
  'waiting-children': 'waiting-children',
  paused: 'paused',
};
const each = (changes: (place: string, state: State) => Changes) =>
  Object.fromEntries(
    Object.entries(places).map(([state, place]) => [state, changes(place, state as State)]),
  ) as Partial<Record<State, Changes>>;
const remove = (jobId: string, children: boolean) => ({
  call: removeCall,
  argv: removeCall.encode({ jobId, withChildren: children }),
});

describe('remove: any but leased -> nothing', () => {
  fromEveryState(
    tables,
    alone!,
    each((place, state) => ({
      [`q:${place}`]: without('1'),
      'q:1': gone,
      ...(state === 'waiting-children' ? { 'q:1:dependencies': gone } : {}),
      'q:events': events(['removed', { jobId: '1', prev: place }]),
    })),
  );
});

describe('remove with children', () => {
  const removals = (place: string): Changes => ({
    [`q:${place}`]: without('1'),
    'q:wait': place === 'wait' ? without('1', 'ch1') : without('ch1'),
    'q:1': gone,
    'q:1:dependencies': gone,
    'q:ch1': gone,
    'q:events': events(['removed', { jobId: 'ch1', prev: 'wait' }], ['removed', { jobId: '1', prev: place }]),
  });
  fromEveryState(tables, withChildren!, {
    ...each((place) => removals(place)),
    // The last child sets its parent free before the parent itself goes.
    'waiting-children': {
      ...removals('waiting-children'),
      'q:marker': scored('0', 0),
      'q:events': events(
        ['waiting', { jobId: '1', prev: 'waiting-children' }],
        ['removed', { jobId: 'ch1', prev: 'wait' }],
        ['removed', { jobId: '1', prev: 'wait' }],
      ),
    },
  });

  it('a leased job further down keeps the whole tree', async () => {
    const given: Command[] = [
      ...crowd(),
      ...job('waiting-children', { dependencies: [`${ROOT}:mid`] }),
      ...job('waiting-children', { id: 'mid', dependencies: ['bull:p:leaf'] }),
      ...job('foreign', { root: 'bull:p', id: 'leaf' }),
    ];
    await expectChange(tables, given, remove('1', true), ['locked', ''], {});
  });

  it('settled children go along, in their own queues', async () => {
    const given: Command[] = [
      ...crowd(),
      ...usedQueue('bull:p'),
      ...job('completed'),
      ['HSET', `${ROOT}:1:processed`, 'bull:p:done', '1'],
      ['ZADD', `${ROOT}:1:unsuccessful`, '5', 'bull:p:bad'],
      ['HSET', `${ROOT}:1:failed`, 'bull:p:gone', 'x'],
      ...job('completed', { root: 'bull:p', id: 'done' }),
      ...job('failed', { root: 'bull:p', id: 'bad' }),
    ];
    await expectChange(tables, given, remove('1', true), ['ok', ''], {
      'q:completed': without('1'),
      'q:1': gone,
      'q:1:processed': gone,
      'q:1:unsuccessful': gone,
      'q:1:failed': gone,
      'q:events': events(['removed', { jobId: '1', prev: 'completed' }]),
      'p:completed': gone,
      'p:done': gone,
      'p:failed': gone,
      'p:bad': gone,
      'p:events': events(
        ['removed', { jobId: 'done', prev: 'completed' }],
        ['removed', { jobId: 'bad', prev: 'failed' }],
      ),
    });
  });

  it('records that name each other as children end', async () => {
    const given: Command[] = [
      ...usedQueue(),
      ...job('completed'),
      ...job('completed', { id: '2' }),
      ['HSET', `${ROOT}:1:processed`, `${ROOT}:2`, '1'],
      ['HSET', `${ROOT}:2:processed`, `${ROOT}:1`, '1'],
    ];
    await expectChange(tables, given, remove('1', true), ['ok', ''], {
      'q:completed': gone,
      'q:1': gone,
      'q:1:processed': gone,
      'q:2': gone,
      'q:2:processed': gone,
      'q:events': events(
        ['removed', { jobId: '2', prev: 'completed' }],
        ['removed', { jobId: '1', prev: 'completed' }],
      ),
    });
  });
});

describe('remove', () => {
  it('the pending iteration of a scheduler stays, any other iteration goes', async () => {
    const scheduler: Command = ['ZADD', `${ROOT}:repeat`, String(NOW), 's'];
    const pending = `repeat:s:${NOW}`;
    const iteration = (id: string) => job('delayed', { id, fields: { rjk: 's' } });
    await expectChange(
      tables,
      [...crowd(), scheduler, ...iteration(pending)],
      remove(pending, false),
      ['scheduled', ''],
      {},
    );
    const past = `repeat:s:${NOW - 1}`;
    await expectChange(tables, [...crowd(), scheduler, ...iteration(past)], remove(past, false), ['ok', ''], {
      'q:delayed': without(past),
      [`q:${past}`]: gone,
      'q:events': events(['removed', { jobId: past, prev: 'delayed' }]),
    });
  });

  it('the last child that a parent waits for releases it', async () => {
    const given = [
      ...crowd(),
      ...usedQueue('bull:p'),
      ...job('waiting-children', {
        root: 'bull:p',
        id: 'par',
        dependencies: [`${ROOT}:1`],
        fields: { priority: '4', delay: '9' },
      }),
      ...job('waiting', { fields: { parentKey: 'bull:p:par', parent: '{"id":"par","queueKey":"bull:p"}' } }),
    ];
    await expectChange(tables, given, remove('1', false), ['ok', ''], {
      'q:wait': without('1'),
      'q:1': gone,
      'q:events': events(['removed', { jobId: '1', prev: 'wait' }]),
      'p:par:dependencies': gone,
      'p:waiting-children': gone,
      // Neither priority nor delay of the parent count on this way.
      'p:wait': pushedRight('par'),
      'p:marker': scored('0', 0),
      'p:events': events(['waiting', { jobId: 'par', prev: 'waiting-children' }]),
    });
  });

  it('a deduplication that the job stands for ends with what was swallowed', async () => {
    const given: Command[] = [
      ...crowd(),
      ...job('waiting', { fields: { deid: 'once' } }),
      ['HSET', `${ROOT}:dn:once`, 'name', 'n'],
    ];
    const removed: Changes = {
      'q:wait': without('1'),
      'q:1': gone,
      'q:events': events(['removed', { jobId: '1', prev: 'wait' }]),
    };
    await expectChange(tables, [...given, ['SET', `${ROOT}:de:once`, '1']], remove('1', false), ['ok', ''], {
      ...removed,
      'q:de:once': gone,
      'q:dn:once': gone,
    });
    await expectChange(
      tables,
      [...given, ['SET', `${ROOT}:de:once`, '2']],
      remove('1', false),
      ['ok', ''],
      removed,
    );
  });

  it('what lies in the place of a record is removed with the id', async () => {
    const given: Command[] = [...crowd(), ['LPUSH', `${ROOT}:wait`, '1'], ['SET', `${ROOT}:1`, 'x']];
    await expectChange(tables, given, remove('1', false), ['ok', ''], {
      'q:wait': without('1'),
      'q:1': gone,
      'q:events': events(['removed', { jobId: '1', prev: 'wait' }]),
    });
  });
});
