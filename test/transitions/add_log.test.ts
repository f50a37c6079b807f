import { describe, it } from 'vitest';
import { addLogCall } from '../../src/store/generated/engine.ts';
import { type Changes, list } from '../support/expected.ts';
import { type Command, crowd, job, type State, states } from '../support/given.ts';
import { edgeOf } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();

describe('add_log: any -> same', () => {
  const existing = states.filter((state) => state !== 'missing');
  const written: Changes = { 'q:1:logs': list('hello') };
  fromEveryState(
    tables,
    edgeOf('add_log'),
    Object.fromEntries(existing.map((state) => [state, written])) as Partial<Record<State, Changes>>,
  );

  it('the newest rows are kept and counted', async () => {
    const given: Command[] = [...crowd(), ...job('waiting'), ['RPUSH', 'bull:q:1:logs', 'a', 'b']];
    const log = (keep: number) => ({
      call: addLogCall,
      argv: addLogCall.encode({ jobId: '1', row: 'c', keep }),
    });
    await expectChange(tables, given, log(0), ['ok', '3'], { 'q:1:logs': list('a', 'b', 'c') });
    await expectChange(tables, given, log(2), ['ok', '2'], { 'q:1:logs': list('b', 'c') });
  });
});
