import { describe } from 'vitest';
import { type Changes, events, fields } from '../support/expected.ts';
import { type State, states } from '../support/given.ts';
import { edgeOf } from './edges.ts';
import { fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const stored: Changes = {
  'q:1': fields({ progress: '{"at":7}' }),
  'q:events': events(['progress', { jobId: '1', data: '{"at":7}' }]),
};

describe('update_progress: any -> same', () => {
  const existing = states.filter((state) => state !== 'missing');
  fromEveryState(
    tables,
    edgeOf('update_progress'),
    Object.fromEntries(existing.map((state) => [state, stored])) as Partial<Record<State, Changes>>,
  );
});
