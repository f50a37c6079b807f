import { describe, it } from 'vitest';
import { configureLanesCall } from '../../src/store/generated/engine.ts';
import { fields } from '../support/expected.ts';
import { crowd, hset, laneRules, ROOT } from '../support/given.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const nothing = { concurrency: '', onRetry: '', onFailure: '', orderingDelay: '' };
const configure = (change: object) => ({
  call: configureLanesCall,
  argv: configureLanesCall.encode({ ...nothing, ...change }),
});

describe('configure_lanes', () => {
  it('writes what is given and says whether it was new', async () => {
    const all = { concurrency: '3', onRetry: 'skip', onFailure: 'halt', orderingDelay: '50' };
    const rules = { concurrency: '3', onRetry: 'skip', onFailure: 'halt', orderingDelayMs: '50', used: 'l' };
    const stored = laneRules(rules);
    await expectChange(tables, crowd(), configure(all), ['changed'], { 'q:meta': fields(stored) });
    await expectChange(tables, [...crowd(), hset(`${ROOT}:meta`, stored)], configure(all), ['same'], {});
    await expectChange(tables, crowd(), configure({}), ['same'], {});
    await expectChange(
      tables,
      [...crowd(), hset(`${ROOT}:meta`, stored)],
      configure({ onRetry: 'block' }),
      ['changed'],
      { 'q:meta': fields(laneRules({ ...rules, onRetry: 'block' })) },
    );
  });
});
