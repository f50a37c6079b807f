import { describe, it } from 'vitest';
import { checkLanesCall } from '../../src/store/generated/engine.ts';
import { type Changes, gone, hash, list, scored, without } from '../support/expected.ts';
import { type Command, job, lane, laneFields, usedQueue } from '../support/given.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const check = (change: object = {}) => ({
  call: checkLanesCall,
  argv: checkLanesCall.encode({ after: '', most: 10, mostResting: 10, heals: true, ...change }),
});
const goesOn: Changes = {
  'q:meta:lane:a': gone,
  'q:de': gone,
  'q:wait': list('r1'),
  'q:meta:lane-out': hash({ a: 'r1' }),
  'q:marker': scored('0', 0),
};
const given = (...more: (readonly Command[])[]) => [...usedQueue(), ...more.flat()];

describe('check_lanes', () => {
  it('a sound lane is left alone', async () => {
    const sound = given(lane({ out: ['1'], resting: ['r1'] }), job('active', { fields: laneFields() }));
    await expectChange(tables, sound, check(), ['', '1'], {});
    for (const state of [
      'waiting',
      'prioritized',
      'delayed',
      'expired',
      'waiting-children',
      'paused',
    ] as const) {
      const other = given(lane({ out: ['1'], resting: ['r1'] }), job(state, { fields: laneFields() }));
      await expectChange(tables, other, check(), ['', '1'], {});
    }
  });

  it('a job that ended elsewhere, or has no record, is out no more', async () => {
    for (const state of ['completed', 'failed', 'missing'] as const) {
      const ended = given(lane({ out: ['1'], resting: ['r1'] }), job(state, { fields: laneFields() }));
      const word = state === 'missing' ? 'gone' : 'finished';
      await expectChange(tables, ended, check(), ['', '1', 'a', '1', word], goesOn);
      await expectChange(tables, ended, check({ heals: false }), ['', '1', 'a', '1', word], {});
    }
  });

  it('a job that lies nowhere takes its place again', async () => {
    const [store] = job('waiting', { fields: laneFields() });
    await expectChange(
      tables,
      given(lane({ out: ['1'], resting: ['r1'] }), [store!]),
      check(),
      ['', '1', 'a', '1', 'lost'],
      {
        'q:wait': list('1'),
        'q:marker': scored('0', 0),
      },
    );
  });

  it('a resting job without a record is forgotten, and a lane without any job', async () => {
    await expectChange(
      tables,
      given(lane({ own: 'p', resting: ['r1', 'r2'] }), [['DEL', 'bull:q:r1']]),
      check(),
      ['', '1', 'a', 'r1', 'gone'],
      { 'q:meta:lane:a': without('0000000000000002r1'), 'q:de': without('r1') },
    );
    await expectChange(tables, given(lane({})), check(), ['', '1'], { 'q:meta:lanes': gone });
  });

  it('a lane that forgot to go on goes on', async () => {
    const stuck = given(lane({ resting: ['r1'] }));
    await expectChange(tables, stuck, check({ heals: false }), ['', '1', 'a', '', 'stuck'], {});
    await expectChange(tables, stuck, check(), ['', '1', 'a', '', 'stuck'], goesOn);
  });

  it('says where to go on', async () => {
    const three = given(...['a', 'b', 'c'].map((name) => lane({ name, own: 'p' })));
    await expectChange(tables, three, check({ most: 2 }), ['b', '2'], {});
    await expectChange(tables, three, check({ most: 2, after: 'b' }), ['', '1'], {});
  });
});
