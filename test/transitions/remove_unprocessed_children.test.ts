import { describe, it } from 'vitest';
import { type Changes, events, gone, pushedRight, scored, without } from '../support/expected.ts';
import { crowd, job, ROOT, type State, states } from '../support/given.ts';
import { edgeOf } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();

describe('remove_unprocessed_children: any -> same', () => {
  const edge = edgeOf('remove_unprocessed_children');
  const removed: Changes = {
    'q:wait': without('ch1'),
    'q:ch1': gone,
    'q:1:dependencies': without(`${ROOT}:ch1`),
    'q:events': events(['removed', { jobId: 'ch1', prev: 'wait' }]),
  };
  const existing = states.filter((state) => state !== 'missing');
  fromEveryState(
    tables,
    edge,
    Object.fromEntries(existing.map((state) => [state, removed])) as Partial<Record<State, Changes>>,
  );

  it('a parent whose children were all removed becomes ready', async () => {
    const child = { parentKey: `${ROOT}:1`, parent: `{"id":"1","queueKey":"${ROOT}"}` };
    const given = [
      ...crowd(),
      ...job('delayed', { id: 'ch1', fields: child }),
      ...job('waiting-children', { dependencies: [`${ROOT}:ch1`] }),
    ];
    await expectChange(tables, given, edge, ['ok', ''], {
      'q:delayed': without('ch1'),
      'q:ch1': gone,
      'q:1:dependencies': gone,
      'q:waiting-children': without('1'),
      'q:wait': pushedRight('1'),
      'q:marker': scored('0', 0),
      'q:events': events(
        ['waiting', { jobId: '1', prev: 'waiting-children' }],
        ['removed', { jobId: 'ch1', prev: 'delayed' }],
      ),
    });
  });
});
