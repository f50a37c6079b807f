import { describe, it } from 'vitest';
import { reprocessCall } from '../../src/store/generated/engine.ts';
import {
  type Changes,
  events,
  fields,
  gone,
  joined,
  pushedLeft,
  pushedRight,
  scored,
  text,
  without,
} from '../support/expected.ts';
import { type Command, crowd, job, priorityScore, usedQueue } from '../support/given.ts';
import { edgesOf } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const [fromCompleted, fromFailed] = edgesOf('reprocess');
const again = (from: string, forgotten: string): Changes => ({
  [`q:${from}`]: without('1'),
  'q:1': fields({ finishedOn: undefined, processedOn: undefined, [forgotten]: undefined }),
  'q:wait': pushedLeft('1'),
  'q:events': events(['waiting', { jobId: '1', prev: from }]),
  'q:marker': scored('0', 0),
});

describe('reprocess: completed -> waiting | prioritized', () => {
  fromEveryState(tables, fromCompleted!, { completed: again('completed', 'returnvalue') });
});

describe('reprocess: failed -> waiting | prioritized', () => {
  fromEveryState(tables, fromFailed!, { failed: again('failed', 'failedReason') });
});

describe('reprocess', () => {
  it('counters are reset where asked, and a last-in first-out job runs next', async () => {
    const argv = reprocessCall.encode({
      jobId: '1',
      from: 'failed',
      isNext: true,
      resetsMade: true,
      resetsStarted: true,
    });
    await expectChange(tables, [...crowd(), ...job('failed')], { call: reprocessCall, argv }, ['ok', ''], {
      ...again('failed', 'failedReason'),
      'q:1': fields({
        finishedOn: undefined,
        processedOn: undefined,
        failedReason: undefined,
        atm: undefined,
        ats: undefined,
      }),
      'q:wait': pushedRight('1'),
    });
  });

  it('a job with a priority goes among its peers', async () => {
    await expectChange(
      tables,
      [...crowd(), ...job('failed', { fields: { priority: '1' } })],
      fromFailed!,
      ['ok', ''],
      {
        ...again('failed', 'failedReason'),
        'q:wait': (before) => before,
        'q:pc': text('3'),
        'q:prioritized': scored('1', priorityScore(1, 3)),
      },
    );
  });

  const child = { fields: { parentKey: 'bull:p:par', parent: '{"id":"par","queueKey":"bull:p"}' } };
  const parent = (...commands: Command[]): Command[] => [
    ...crowd(),
    ...usedQueue('bull:p'),
    ...job('foreign', { root: 'bull:p', id: 'par', dependencies: ['bull:q:w1'] }),
    ...commands,
  ];

  it('a parent waits again for a child that had settled, whatever way', async () => {
    const waits: Changes = { 'p:par:dependencies': joined('bull:q:1') };
    const processed = parent(['HSET', 'bull:p:par:processed', 'bull:q:1', '1'], ...job('completed', child));
    await expectChange(tables, processed, fromCompleted!, ['ok', ''], {
      ...again('completed', 'returnvalue'),
      ...waits,
      'p:par:processed': gone,
    });
    const unsuccessful = parent(
      ['ZADD', 'bull:p:par:unsuccessful', '5', 'bull:q:1'],
      ...job('failed', child),
    );
    await expectChange(tables, unsuccessful, fromFailed!, ['ok', ''], {
      ...again('failed', 'failedReason'),
      ...waits,
      'p:par:unsuccessful': gone,
    });
    const ignored = parent(['HSET', 'bull:p:par:failed', 'bull:q:1', 'broke'], ...job('failed', child));
    await expectChange(tables, ignored, fromFailed!, ['ok', ''], {
      ...again('failed', 'failedReason'),
      ...waits,
      'p:par:failed': gone,
    });
  });
});
