import { describe, expect, it } from 'vitest';
import { resumeCall } from '../../src/store/generated/engine.ts';
import { type Changes, changed, events, fields, gone, list, scored } from '../support/expected.ts';
import { type Command, crowd, hset, job, NOW, ROOT, usedQueue } from '../support/given.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const resume = (isFirst = true) => ({ call: resumeCall, argv: resumeCall.encode({ isFirst }) });
const paused = (commands: Command[]): Command[] => [...commands, hset(`${ROOT}:meta`, { paused: '1' })];
const resumed: Changes = { 'q:meta': fields({ paused: undefined }), 'q:events': events(['resumed']) };

describe('resume', () => {
  it('workers are woken where there is work', async () => {
    await expectChange(tables, paused(crowd()), resume(), ['0'], { ...resumed, 'q:marker': scored('0', 0) });
    await expectChange(tables, paused([...usedQueue(), ...job('prioritized')]), resume(), ['0'], {
      ...resumed,
      'q:marker': scored('0', 0),
    });
  });

  it('they are told of the next delayed job where there is none', async () => {
    await expectChange(tables, paused([...usedQueue(), ...job('delayed')]), resume(), ['0'], {
      ...resumed,
      'q:marker': scored('1', NOW + 30_000),
    });
    await expectChange(tables, paused(usedQueue()), resume(), ['0'], resumed);
  });

  it('jobs parked by an older client come back, before those that came after them', async () => {
    const parked: Command = ['RPUSH', `${ROOT}:paused`, 'b', 'a'];
    await expectChange(tables, paused([...usedQueue(), parked]), resume(), ['0'], {
      ...resumed,
      'q:paused': gone,
      'q:wait': list('b', 'a'),
      'q:marker': scored('0', 0),
    });
    await expectChange(tables, paused([...crowd(), parked]), resume(), ['0'], {
      ...resumed,
      'q:paused': gone,
      'q:wait': list('w2', 'w1', 'b', 'a'),
      'q:marker': scored('0', 0),
    });
  });

  it('many come back in several calls, and only the first announces it', async () => {
    const ids = Array.from({ length: 7_001 }, (_, i) => `j${i}`);
    await tables.given(paused(crowd()), [['RPUSH', `${ROOT}:paused`, ...ids]]);
    expect(await tables.run(resume())).toEqual(['1']);
    const between = await tables.keyspace();
    expect(await tables.run(resume(false))).toEqual(['0']);
    expect(await tables.keyspace()).toEqual(
      changed(between, { 'q:paused': gone, 'q:wait': list('w2', 'w1', ...ids) }),
    );
  });
});
