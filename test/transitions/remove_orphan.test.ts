import { describe, it } from 'vitest';
import { gone } from '../support/expected.ts';
import { type Command, crowd, hset, ROOT, record } from '../support/given.ts';
import { edgeOf } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();

describe('remove_orphan: lost -> nothing', () => {
  const edge = edgeOf('remove_orphan');
  fromEveryState(tables, edge, {});

  const lost: Command[] = [...crowd(), hset(`${ROOT}:1`, record()), ['RPUSH', `${ROOT}:1:logs`, 'a']];

  it('a record that lies nowhere goes with all its keys', async () => {
    await expectChange(tables, lost, edge, ['ok', ''], { 'q:1': gone, 'q:1:logs': gone });
  });

  it('a suspect lies somewhere', async () => {
    await expectChange(tables, [...lost, ['SADD', `${ROOT}:stalled`, '1']], edge, ['placed', ''], {});
  });
});
