import { describe, it } from 'vitest';
import { type Changes, gone } from '../support/expected.ts';
import { crowd, job, ROOT, type State, states } from '../support/given.ts';
import { edgeOf } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();

describe('release_dedup: any -> same', () => {
  const edge = edgeOf('release_dedup');
  const released: Changes = { 'q:de:once': gone };
  fromEveryState(
    tables,
    edge,
    Object.fromEntries(states.map((state) => [state, released])) as Partial<Record<State, Changes>>,
  );

  it('an id that stands for another job, or for none, is left alone', async () => {
    const given = [...crowd(), ...job('waiting', { fields: { deid: 'once' } })];
    await expectChange(tables, [...given, ['SET', `${ROOT}:de:once`, '2']], edge, ['unrelated', ''], {});
    await expectChange(tables, given, edge, ['unrelated', ''], {});
  });
});
