import { describe, expect, it } from 'vitest';
import { without } from '../support/expected.ts';
import { edgeOf } from './edges.ts';
import { fromEveryState, startOf, useTables } from './tables.ts';

const tables = useTables();

describe('extend: active -> active', () => {
  const edge = edgeOf('extend');
  fromEveryState(tables, edge, { active: { 'q:stalled': without('1') } });

  it('the lease lasts for the time asked for, from now', async () => {
    await tables.given(startOf(edge, 'active'));
    await tables.run(edge);
    expect(await tables.admin.get('bull:q:1:lock')).toBe('mine:1');
    expect(await tables.admin.pttl('bull:q:1:lock')).toBeGreaterThan(30_000);
  });

  it('a lost lease keeps its holder and its end', async () => {
    await tables.given(startOf(edge, 'foreign'));
    await tables.run(edge);
    expect(await tables.admin.pttl('bull:q:1:lock')).toBeLessThanOrEqual(30_000);
  });
});
