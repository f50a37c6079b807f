import { describe, it } from 'vitest';
import { events, fields, pushedLeft, scored, without } from '../support/expected.ts';
import { crowd, hset, job, priorityScore } from '../support/given.ts';
import { edgeOf } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const promote = edgeOf('promote');
const becameReady = events(['waiting', { jobId: '1', prev: 'delayed' }]);

describe('promote: delayed -> waiting | prioritized', () => {
  fromEveryState(tables, promote, {
    delayed: {
      'q:delayed': without('1'),
      'q:wait': pushedLeft('1'),
      'q:1': fields({ delay: '0' }),
      'q:events': becameReady,
      'q:marker': scored('0', 0),
    },
  });

  it('a job with a priority goes among its peers, behind those that came before', async () => {
    await expectChange(
      tables,
      [...crowd(), ...job('delayed', { fields: { priority: '3' } })],
      promote,
      ['ok', ''],
      {
        'q:delayed': without('1'),
        'q:prioritized': scored('1', priorityScore(3, 3)),
        'q:pc': () => ({ type: 'string', value: '3', hasTtl: false }),
        'q:1': fields({ delay: '0' }),
        'q:events': becameReady,
        'q:marker': scored('0', 0),
      },
    );
  });

  it('no worker is woken while the queue is paused', async () => {
    await expectChange(
      tables,
      [...crowd(), hset('bull:q:meta', { paused: '1' }), ...job('delayed')],
      promote,
      ['ok', ''],
      {
        'q:delayed': without('1'),
        'q:wait': pushedLeft('1'),
        'q:1': fields({ delay: '0' }),
        'q:events': becameReady,
      },
    );
  });
});
