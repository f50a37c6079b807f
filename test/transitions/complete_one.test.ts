// That it does what an exchange of one does, whatever the job is, is in short-ways.test.ts.

import { describe, it } from 'vitest';
import {
  type Changes,
  events,
  fields,
  gone,
  hash,
  list,
  scored,
  without,
  zset,
} from '../support/expected.ts';
import { type Command, crowd, job, lane, laneFields, NOW, usedQueue } from '../support/given.ts';
import { completingOne, edgesOf, seen, seenInLane } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const [, , , byItself, untied] = edgesOf('complete');
const done: [string, Record<string, string>] = [
  'completed',
  { jobId: '1', returnvalue: '{"ok":true}', prev: 'active' },
];
const finished: Changes = {
  'q:active': without('1'),
  'q:completed': scored('1', NOW),
  'q:1': fields({ atm: '1', returnvalue: '{"ok":true}', finishedOn: String(NOW) }),
  'q:1:lock': gone,
  'q:events': events(done),
};
const accepted: unknown[] = [];

describe('complete_one', () => {
  fromEveryState(tables, byItself!, { active: finished });
});

describe('complete_one of a job that its worker saw to be tied to nothing', () => {
  fromEveryState(tables, untied!, { active: finished });

  it('the last job of a queue drains it', async () => {
    await expectChange(tables, [...usedQueue(), ...job('active')], completingOne(seen), accepted, {
      ...finished,
      'q:active': gone,
      'q:events': events(done, ['drained']),
    });
  });

  it('only as many as are wished for are kept', async () => {
    const older = job('completed', { id: 'old', at: NOW - 10 });
    await expectChange(
      tables,
      [...usedQueue(), ...older, ...job('waiting', { id: 'w' }), ...job('active')],
      completingOne({ ...seen, keepCount: '1' }),
      accepted,
      { ...finished, 'q:active': gone, 'q:completed': [scored('1', NOW), without('old')], 'q:old': gone },
    );
  });

  it('it is accepted also where nobody can tell whether it was the last', async () => {
    const given: Command[] = [
      ...crowd(),
      ['DEL', 'bull:q:wait'],
      ['SET', 'bull:q:wait', 'x'],
      ...job('active'),
    ];
    await expectChange(tables, given, completingOne(seen), accepted, finished);
  });

  it('in its lane the next goes', async () => {
    const given: Command[] = [
      ...usedQueue(),
      ...job('waiting', { id: 'w' }),
      ...lane({ out: ['1'], resting: ['r1'] }),
      ...job('active', { fields: laneFields() }),
    ];
    await expectChange(tables, given, completingOne({ ...seenInLane, lane: 'a' }), accepted, {
      ...finished,
      'q:active': gone,
      'q:meta:lane-out': hash({ a: 'r1' }),
      'q:meta:lane:a': gone,
      'q:de': gone,
      'q:wait': list('r1', 'w'),
      'q:marker': zset(['0', '0']),
    });
  });
});
