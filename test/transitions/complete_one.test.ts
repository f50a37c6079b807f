// That it does what an exchange of one does, whatever the job is, is in short-ways.test.ts.

import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import type { RedisClient } from '../../src/store/client.ts';
import { Engine } from '../../src/store/engine.ts';
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
import { completingOne, edgesOf, fetching, seen, seenInLane } from './edges.ts';
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

  it('its events are not trimmed by the cap of a queue of that name in another database', async () => {
    await tables.given(usedQueue(undefined, { 'opts.maxLenEvents': '5' }), job('waiting'));
    await tables.run(fetching());
    const other = new Redis({ ...tables.admin.options, db: 1 });
    try {
      const engine = new Engine(other as unknown as RedisClient);
      await engine.load();
      for (const [command, ...args] of [...usedQueue(), ...job('active')])
        await other.call(command!, ...args);
      for (let n = 0; n < 300; n++) await other.xadd('bull:q:events', '*', 'event', 'progress', 'jobId', 'x');
      const { call, argv } = completingOne(seen);
      await engine.send(call, ['', '1', 'bull:q', 'elsewhere', '1', '0', String(NOW), ...argv]);
      expect(await other.zscore('bull:q:completed', '1')).toBe(String(NOW));
      expect(await other.xlen('bull:q:events')).toBeGreaterThan(300);
    } finally {
      await other.flushdb();
      other.disconnect();
    }
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
