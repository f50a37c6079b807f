import { describe, it } from 'vitest';
import { setLaneCall } from '../../src/store/generated/engine.ts';
import { type Changes, fields, gone, hash, list, scored, without } from '../support/expected.ts';
import { lane, laneRules, NOW, usedQueue } from '../support/given.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const set = (change: object) => ({
  call: setLaneCall,
  argv: setLaneCall.encode({ lane: 'a', pauses: false, resumes: false, concurrency: '', ...change }),
});
const released: Changes = {
  'q:meta:lane:a': without('0000000000000002r1'),
  'q:de': without('r1'),
  'q:wait': list('r1'),
  'q:meta:lane-out': hash({ a: 'r1' }),
  'q:marker': scored('0', 0),
};

describe('set_lane', () => {
  it('pauses a lane, which is listed from then on', async () => {
    const given = [...usedQueue(), ...lane({ name: 'b' })];
    await expectChange(tables, given, set({ pauses: true }), ['changed'], {
      'q:meta': fields(laneRules({ used: 'o' })),
      'q:meta:lane-settings': hash({ a: 'p' }),
      'q:meta:lanes': scored('a', 0),
    });
    await expectChange(tables, [...given, ...lane({ own: 'p' })], set({ pauses: true }), ['same'], {});
  });

  it('resumes a lane that is paused or has halted, and it goes on', async () => {
    for (const own of ['p', 'h', 'ph']) {
      await expectChange(
        tables,
        [...usedQueue(), ...lane({ own, resting: ['r1', 'r2'] })],
        set({ resumes: true }),
        ['changed'],
        { ...released, 'q:meta:lane-settings': gone },
      );
    }
    await expectChange(tables, [...usedQueue(), ...lane({ own: 'p' })], set({ resumes: true }), ['changed'], {
      'q:meta:lane-settings': gone,
      'q:meta:lanes': gone,
    });
  });

  it('gives a lane a concurrency of its own, and takes it away', async () => {
    const given = [...usedQueue(), ...lane({ out: ['x'], resting: ['r1', 'r2'] })];
    await expectChange(tables, given, set({ concurrency: '2' }), ['changed'], {
      ...released,
      'q:meta:lane-out': hash({ a: ':1:x2:r1' }),
      'q:meta': fields(laneRules({ used: 'o' })),
      'q:meta:lane-settings': hash({ a: '2' }),
    });
    await expectChange(
      tables,
      [...usedQueue(), ...lane({ own: 'p7', resting: ['r1'] })],
      set({ concurrency: '0' }),
      ['changed'],
      { 'q:meta:lane-settings': hash({ a: 'p' }) },
    );
  });

  it('a lane whose first job is held back stays held', async () => {
    const rules = { orderingDelayMs: '20000', used: 'o' };
    const held = [...usedQueue(), ...lane({ own: 'p', resting: ['r1'], rules })];
    // The order is long past, so it is due; with an order of its arrival it is not.
    await expectChange(
      tables,
      [...held, ['ZADD', 'bull:q:meta:lane:a', String(NOW), '0000000000000002r1']],
      set({ resumes: true }),
      ['changed'],
      {
        'q:meta:lane-settings': gone,
        'q:meta': fields(laneRules({ ...rules, used: 'oh' })),
        'q:meta:lane-held': scored('a', NOW - 9_000 + 20_000),
        'q:marker': scored('1', NOW - 9_000 + 20_000),
      },
    );
  });
});
