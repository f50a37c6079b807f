import { describe } from 'vitest';
import { type Changes, fields } from '../support/expected.ts';
import { type State, states } from '../support/given.ts';
import { edgeOf } from './edges.ts';
import { fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const stored: Changes = { 'q:1': fields({ data: '{"n":2}' }) };

describe('update_data: any -> same', () => {
  const existing = states.filter((state) => state !== 'missing');
  fromEveryState(
    tables,
    edgeOf('update_data'),
    Object.fromEntries(existing.map((state) => [state, stored])) as Partial<Record<State, Changes>>,
  );
});
