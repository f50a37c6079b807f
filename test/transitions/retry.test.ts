import { describe, it } from 'vitest';
import { pushRetry } from '../../src/store/generated/engine.ts';
import {
  type Changes,
  events,
  fields,
  gone,
  pushedLeft,
  pushedRight,
  scored,
  text,
  without,
} from '../support/expected.ts';
import { crowd, hset, job, NOW, priorityScore } from '../support/given.ts';
import { edgeOf, ending, finishing } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const accepted = [[], [], [], '0', '0', '', ''];
const retried: Changes = {
  'q:active': without('1'),
  'q:1:lock': gone,
  'q:1': fields({ atm: '1', failedReason: 'broke', stacktrace: '["at x"]' }),
  'q:wait': pushedLeft('1'),
  'q:events': events(['waiting', { jobId: '1', prev: 'active' }]),
  'q:marker': scored('0', 0),
};

describe('retry: active -> waiting | prioritized', () => {
  const edge = edgeOf('retry');
  fromEveryState(tables, edge, { active: retried });

  it('a last-in first-out job runs next', async () => {
    const retry = finishing(pushRetry, {
      jobId: '1',
      token: 'mine:1',
      isNext: true,
      reason: 'broke',
      stacktrace: '["at x"]',
      ...ending,
    });
    await expectChange(tables, [...crowd(), ...job('active')], retry, accepted, {
      ...retried,
      'q:wait': pushedRight('1'),
    });
  });

  it('a job with a priority goes behind its peers', async () => {
    await expectChange(
      tables,
      [...crowd(), ...job('active', { fields: { priority: '3' } })],
      edge,
      accepted,
      {
        ...retried,
        'q:wait': (before) => before,
        'q:pc': text('3'),
        'q:prioritized': scored('1', priorityScore(3, 3)),
      },
    );
  });

  it('what is due goes first', async () => {
    await expectChange(
      tables,
      [...crowd(), ...job('active'), ...job('delayed', { id: 'due', due: NOW })],
      edge,
      accepted,
      {
        ...retried,
        'q:delayed': without('due'),
        'q:due': fields({ delay: '0' }),
        'q:wait': [pushedLeft('due'), pushedLeft('1')],
        'q:events': events(
          ['waiting', { jobId: 'due', prev: 'delayed' }],
          ['waiting', { jobId: '1', prev: 'active' }],
        ),
      },
    );
  });

  it('a paused queue wakes nobody', async () => {
    await expectChange(
      tables,
      [...crowd(), hset('bull:q:meta', { paused: '1' }), ...job('active')],
      edge,
      accepted,
      {
        ...retried,
        'q:marker': gone,
      },
    );
  });
});
