import { describe, expect, it } from 'vitest';
import { obliterateCall } from '../../src/store/generated/engine.ts';
import { type Command, crowd, hset, job, lane, laneFields, ROOT } from '../support/given.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const obliterate = (isForced: boolean, most = 1000) => ({
  call: obliterateCall,
  argv: obliterateCall.encode({ isForced, most }),
});
const paused: Command = hset(`${ROOT}:meta`, { paused: '1' });
const everything: Command[] = [
  ...crowd(),
  ...job('paused'),
  ['XADD', `${ROOT}:events`, '*', 'event', 'x'],
  ['ZADD', `${ROOT}:marker`, '0', '0'],
  ['SADD', `${ROOT}:stalled`, 'x1'],
  ['SET', `${ROOT}:stalled-check`, '1'],
  ['SET', `${ROOT}:limiter`, '1'],
  ['ZADD', `${ROOT}:repeat`, '5', 's'],
  hset(`${ROOT}:repeat:s`, { name: 'n', ic: '1' }),
  hset(`${ROOT}:metrics:completed`, { count: '1' }),
  ['RPUSH', `${ROOT}:metrics:completed:data`, '1'],
  hset('bull:other:meta', { version: 'x' }),
];

describe('obliterate', () => {
  it('a queue that is not paused stays as it is', async () => {
    await expectChange(tables, crowd(), obliterate(true), ['not_paused'], {});
  });

  it('one with active jobs stays unless forced', async () => {
    await expectChange(tables, [...everything, paused], obliterate(false), ['has_active'], {});
  });

  it('nothing of the queue is left, and nothing of another is touched', async () => {
    await tables.given(everything, [paused]);
    expect(await tables.run(obliterate(true))).toEqual(['done']);
    expect(Object.keys(await tables.keyspace())).toEqual(['other:meta']);
  });

  it('jobs of lanes go a few at a time, and so does what is left of those whose records were gone', async () => {
    await tables.given(
      [...crowd(), paused],
      lane({ out: ['1'], resting: ['r1', 'r2', 'r3', 'r4'] }),
      job('waiting', { fields: laneFields() }),
      lane({ name: 'b', resting: ['ghost'] }),
      [
        ['DEL', `${ROOT}:ghost`],
        ['ZREM', `${ROOT}:de`, 'ghost'],
        ['RPUSH', `${ROOT}:meta:line:b`, '77'],
      ],
    );
    expect(await tables.run(obliterate(true, 2))).toEqual(['more']);
    expect((await tables.keyspace())['q:de']!.value).toHaveLength(2);
    const words: unknown[] = [];
    do words.push((await tables.run(obliterate(true, 2)))[0]);
    while (words.at(-1) === 'more' && words.length < 20);
    expect(words.at(-1)).toBe('done');
    expect(await tables.keyspace()).toEqual({});
  });

  it('a call is bounded and says that there is more', async () => {
    await tables.given(everything, [paused]);
    const words: unknown[] = [];
    do words.push((await tables.run(obliterate(true, 3)))[0]);
    while (words.at(-1) === 'more' && words.length < 20);
    expect(words).toEqual(['more', 'more', 'more', 'done']);
    expect(Object.keys(await tables.keyspace())).toEqual(['other:meta']);
  });
});
