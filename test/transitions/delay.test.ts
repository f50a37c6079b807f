import { describe, it } from 'vitest';
import { pushDelay } from '../../src/store/generated/engine.ts';
import { type Changes, events, fields, gone, scored, without } from '../support/expected.ts';
import { crowd, delayedScore, job, NOW } from '../support/given.ts';
import { edgeOf, ending, finishing } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const accepted = [[], [], [], '0', '0', '', ''];
const due = NOW + 5_000;
const backedOff: Changes = {
  'q:active': without('1'),
  'q:1:lock': gone,
  'q:1': fields({ atm: '1', delay: '5000', failedReason: 'broke', stacktrace: '["at x"]' }),
  'q:delayed': scored('1', delayedScore(due)),
  'q:events': events(['delayed', { jobId: '1', delay: String(due) }]),
  'q:marker': scored('1', due),
};

describe('delay: active -> delayed', () => {
  const edge = edgeOf('delay');
  fromEveryState(tables, edge, { active: backedOff });

  it('a handler that postpones its own job uses no attempt and leaves no reason', async () => {
    const arg = {
      jobId: '1',
      token: 'mine:1',
      delay: 0,
      isAttempt: false,
      reason: '',
      stacktrace: '',
      ...ending,
    };
    await expectChange(tables, [...crowd(), ...job('active')], finishing(pushDelay, arg), accepted, {
      ...backedOff,
      'q:1': fields({ delay: '0' }),
      'q:delayed': scored('1', delayedScore(NOW)),
      'q:events': events(['delayed', { jobId: '1', delay: String(NOW) }]),
      'q:marker': scored('1', NOW),
    });
  });

  it('jobs that are due in the same millisecond keep their order', async () => {
    await expectChange(
      tables,
      [...crowd(), ...job('active'), ...job('delayed', { id: 'd2', due })],
      edge,
      accepted,
      {
        ...backedOff,
        'q:delayed': scored('1', delayedScore(due, 1)),
      },
    );
  });

  it('the last place of a millisecond is shared', async () => {
    const full = [
      ...job('delayed', { id: 'd2', due }),
      ['ZADD', 'bull:q:delayed', delayedScore(due, 4095), 'd2'] as [string, ...string[]],
    ];
    await expectChange(tables, [...crowd(), ...job('active'), ...full], edge, accepted, {
      ...backedOff,
      'q:delayed': scored('1', delayedScore(due, 4095)),
      // The earliest is a fraction past its millisecond; readers cut it off.
      'q:marker': scored('1', due + 4095 / 4096),
    });
  });
});
