import { describe, it } from 'vitest';
import { promoteManyCall } from '../../src/store/generated/engine.ts';
import { events, fields, gone, pushedLeft, scored, text, without } from '../support/expected.ts';
import { type Command, crowd, delayedScore, job, NOW, priorityScore, ROOT } from '../support/given.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const promoteMany = (most: number) => ({ call: promoteManyCall, argv: promoteManyCall.encode({ most }) });
const ready = (id: string): [string, Record<string, string>] => ['waiting', { jobId: id, prev: 'delayed' }];
const given = [
  ...crowd(),
  ...job('delayed'),
  ...job('delayed', { id: '2', due: NOW + 70_000, fields: { priority: '3' } }),
];

describe('promote_many', () => {
  it('delayed jobs become ready, earliest first, each where its priority says', async () => {
    await expectChange(tables, given, promoteMany(1000), ['3'], {
      'q:delayed': gone,
      'q:1': fields({ delay: '0' }),
      'q:2': fields({ delay: '0' }),
      'q:d1': fields({ delay: '0' }),
      'q:wait': [pushedLeft('1'), pushedLeft('d1')],
      'q:pc': text('3'),
      'q:prioritized': scored('2', priorityScore(3, 3)),
      'q:events': events(ready('1'), ready('d1'), ready('2')),
      'q:marker': scored('0', 0),
    });
  });

  it('a call is bounded', async () => {
    await expectChange(tables, given, promoteMany(1), ['1'], {
      'q:delayed': without('1'),
      'q:1': fields({ delay: '0' }),
      'q:wait': pushedLeft('1'),
      'q:events': events(ready('1')),
      'q:marker': scored('0', 0),
    });
  });

  it('an id without a record disappears', async () => {
    const ghost: Command = ['ZADD', `${ROOT}:delayed`, delayedScore(NOW), 'ghost'];
    await expectChange(tables, [...crowd(), ghost], promoteMany(1), ['1'], { 'q:delayed': without('ghost') });
  });
});
