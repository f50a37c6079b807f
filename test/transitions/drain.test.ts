import { describe, it } from 'vitest';
import { drainCall } from '../../src/store/generated/engine.ts';
import { type Changes, gone, hash, list, scored, without } from '../support/expected.ts';
import {
  type Command,
  crowd,
  delayedScore,
  job,
  lane,
  laneFields,
  NOW,
  priorityScore,
  ROOT,
  usedQueue,
} from '../support/given.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const drain = (withDelayed: boolean, most = 1000) => ({
  call: drainCall,
  argv: drainCall.encode({ withDelayed, most }),
});
const waiting: Changes = { 'q:wait': gone, 'q:w1': gone, 'q:w2': gone, 'q:prioritized': gone, 'q:p1': gone };

describe('drain', () => {
  it('what waits goes, without a word; all else stays', async () => {
    await expectChange(tables, crowd(), drain(false), ['3'], waiting);
  });

  it('what is delayed and what an older client parked goes too', async () => {
    await expectChange(tables, [...crowd(), ...job('paused')], drain(true), ['5'], {
      ...waiting,
      'q:delayed': gone,
      'q:d1': gone,
      'q:paused': gone,
      'q:1': gone,
    });
  });

  it('the pending iteration of a scheduler stays in its place, wherever it lies', async () => {
    const pending = `repeat:s:${NOW}`;
    const iteration = { id: pending, fields: { rjk: 's' } };
    const scheduler: Command = ['ZADD', `${ROOT}:repeat`, String(NOW), 's'];
    const between = [
      ...usedQueue(),
      scheduler,
      ...job('waiting', { id: 'a' }),
      ...job('waiting', iteration),
      ...job('waiting', { id: 'b' }),
    ];
    await expectChange(tables, between, drain(false), ['2'], {
      'q:wait': list(pending),
      'q:a': gone,
      'q:b': gone,
    });
    const prioritized: Command[] = [
      ...crowd(),
      scheduler,
      ...job('prioritized', iteration),
      ['ZADD', `${ROOT}:prioritized`, priorityScore(1, 1), pending],
    ];
    await expectChange(tables, prioritized, drain(false), ['3'], {
      ...waiting,
      'q:prioritized': without('p1'),
    });
    const delayed: Command[] = [
      ...crowd(),
      scheduler,
      ...job('delayed', iteration),
      ['ZADD', `${ROOT}:delayed`, delayedScore(NOW), pending],
    ];
    await expectChange(tables, delayed, drain(true), ['4'], {
      ...waiting,
      'q:delayed': without('d1'),
      'q:d1': gone,
    });
  });

  it('a call is bounded, oldest first', async () => {
    await expectChange(tables, crowd(), drain(true, 1), ['1'], { 'q:wait': list('w2'), 'q:w1': gone });
  });

  it('a parent of the same queue goes with its last child', async () => {
    const given = [
      ...usedQueue(),
      ...job('waiting-children', { id: 'par', dependencies: [`${ROOT}:1`] }),
      ...job('waiting', {
        fields: { parentKey: `${ROOT}:par`, parent: `{"id":"par","queueKey":"${ROOT}"}` },
      }),
    ];
    await expectChange(tables, given, drain(false), ['1'], {
      'q:wait': gone,
      'q:1': gone,
      'q:waiting-children': gone,
      'q:par': gone,
      'q:par:dependencies': gone,
    });
  });

  it('a parent that goes so leaves its lane, and the next of that goes out', async () => {
    const given = [
      ...usedQueue(),
      ...lane({ out: ['par'], resting: ['next'] }),
      ...job('waiting-children', { id: 'par', fields: laneFields(), dependencies: [`${ROOT}:1`] }),
      ...job('waiting', {
        fields: { parentKey: `${ROOT}:par`, parent: `{"id":"par","queueKey":"${ROOT}"}` },
      }),
      // Not what is drained here.
      ['ZREM', `${ROOT}:de`, 'next'] as Command,
    ];
    await expectChange(tables, given, drain(false), ['1'], {
      'q:1': gone,
      'q:waiting-children': gone,
      'q:par': gone,
      'q:par:dependencies': gone,
      'q:wait': list('next'),
      'q:marker': scored('0', 0),
      'q:meta:lane:a': gone,
      'q:meta:lane-out': hash({ a: 'next' }),
    });
  });

  it('ids without a record, or with something else in its place, go as well', async () => {
    const given: Command[] = [
      ...usedQueue(),
      ['RPUSH', `${ROOT}:wait`, 'ghost', 'poison'],
      ['SET', `${ROOT}:poison`, 'x'],
    ];
    await expectChange(tables, given, drain(false), ['2'], { 'q:wait': gone, 'q:poison': gone });
  });
});
