import { describe, it } from 'vitest';
import { type Changes, events, fields, gone, pushedRight, scored, without } from '../support/expected.ts';
import { crowd, job, type State, states, usedQueue } from '../support/given.ts';
import { edgeOf } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();

describe('detach: any -> same', () => {
  const edge = edgeOf('detach');
  const free: Changes = {
    'q:1': fields({ parentKey: undefined, parent: undefined }),
    'p:par:dependencies': gone,
  };
  const released: Changes = {
    ...free,
    'p:waiting-children': gone,
    'p:wait': pushedRight('par'),
    'p:marker': scored('0', 0),
    'p:events': events(['waiting', { jobId: 'par', prev: 'waiting-children' }]),
  };
  const existing = states.filter((state) => state !== 'missing');
  fromEveryState(
    tables,
    edge,
    Object.fromEntries(existing.map((state) => [state, released])) as Partial<Record<State, Changes>>,
  );

  const child = { parentKey: 'bull:p:par', parent: '{"id":"par","queueKey":"bull:p"}' };

  it('a parent with other children goes on waiting, and one that runs is left alone', async () => {
    const given = [...crowd(), ...usedQueue('bull:p'), ...job('waiting', { fields: child })];
    const waiting = job('waiting-children', {
      root: 'bull:p',
      id: 'par',
      dependencies: ['bull:q:1', 'bull:q:w1'],
    });
    await expectChange(tables, [...given, ...waiting], edge, ['ok', ''], {
      ...free,
      'p:par:dependencies': without('bull:q:1'),
    });
    const running = job('foreign', { root: 'bull:p', id: 'par', dependencies: ['bull:q:1'] });
    await expectChange(tables, [...given, ...running], edge, ['ok', ''], free);
  });

  it('a stranger and a missing parent are refused', async () => {
    const given = [...crowd(), ...job('waiting', { fields: child })];
    const parent = job('waiting-children', { root: 'bull:p', id: 'par', dependencies: ['bull:q:w1'] });
    await expectChange(tables, [...given, ...parent], edge, ['unrelated', ''], {});
    await expectChange(tables, given, edge, ['parent_missing', ''], {});
  });
});
