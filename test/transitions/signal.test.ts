import { describe, it } from 'vitest';
import { signalCall } from '../../src/store/generated/engine.ts';
import { scored } from '../support/expected.ts';
import { crowd, hset, job, NOW, ROOT, usedQueue } from '../support/given.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const signal = { call: signalCall, argv: signalCall.encode() };

describe('signal', () => {
  it('both markers are put where there is work now and later', async () => {
    await expectChange(tables, crowd(), signal, [], {
      'q:marker': [scored('0', 0), scored('1', NOW + 60_000)],
    });
  });

  it('an idle queue has none', async () => {
    await expectChange(tables, usedQueue(), signal, [], {});
  });

  it('a paused queue keeps only the marker of delayed jobs', async () => {
    const given = [...crowd(), hset(`${ROOT}:meta`, { paused: '1' })];
    await expectChange(tables, given, signal, [], { 'q:marker': scored('1', NOW + 60_000) });
  });

  it('prioritized jobs are work', async () => {
    await expectChange(tables, [...usedQueue(), ...job('prioritized')], signal, [], {
      'q:marker': scored('0', 0),
    });
  });
});
