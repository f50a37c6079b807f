import { describe, it } from 'vitest';
import { removeLaneCall } from '../../src/store/generated/engine.ts';
import { type Changes, events, gone, hash, list, scored, without } from '../support/expected.ts';
import { type Command, job, lane, laneFields, NOW, ROOT, usedQueue } from '../support/given.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const remove = (most = 100) => ({ call: removeLaneCall, argv: removeLaneCall.encode({ lane: 'a', most }) });
const given = [
  ...usedQueue(),
  ...lane({ out: ['w', 'x'], resting: ['r1', 'r2'], own: 'p2' }),
  ...job('waiting', { id: 'w', fields: laneFields('1', '8') }),
  ...job('foreign', { id: 'x', fields: laneFields('1', '9') }),
];
const removed = (...ids: [string, string][]) =>
  events(...ids.map(([jobId, prev]): [string, Record<string, string>] => ['removed', { jobId, prev }]));

describe('remove_lane', () => {
  it('removes what rests and what waits to start; what runs stays out', async () => {
    const all: Changes = {
      'q:r1': gone,
      'q:r2': gone,
      'q:w': gone,
      'q:de': gone,
      'q:wait': gone,
      'q:meta:lane:a': gone,
      'q:meta:lane-settings': gone,
      'q:meta:lane-out': hash({ a: 'x' }),
      'q:events': removed(['r1', 'wait'], ['r2', 'wait'], ['w', 'wait']),
    };
    await expectChange(tables, given, remove(), ['done', '3'], all);
  });

  it('goes on where it stopped', async () => {
    await expectChange(tables, given, remove(1), ['more', '1'], {
      'q:r1': gone,
      'q:de': without('r1'),
      'q:meta:lane:a': without('0000000000000002r1'),
      'q:events': removed(['r1', 'wait']),
    });
  });

  it('the iteration that a scheduler waits for stays, resting or out, and what is left of the lane goes on', async () => {
    const pending = `repeat:s:${NOW}`;
    const scheduler: Command = ['ZADD', `${ROOT}:repeat`, String(NOW), 's'];
    const tied: Command = ['HSET', `${ROOT}:${pending}`, 'rjk', 's'];
    const resting = [...usedQueue(), scheduler, ...lane({ out: ['w'], resting: ['r1', pending] }), tied];
    const w = job('waiting', { id: 'w', fields: laneFields('1', '8') });
    await expectChange(tables, [...resting, ...w], remove(), ['done', '2'], {
      'q:r1': gone,
      'q:w': gone,
      'q:de': gone,
      'q:wait': list(pending),
      'q:marker': scored('0', 0),
      'q:meta:lane:a': gone,
      'q:meta:lane-out': hash({ a: pending }),
      'q:events': removed(['r1', 'wait'], ['w', 'wait']),
    });
    const isOut = [
      ...usedQueue(),
      scheduler,
      ...lane({ out: [pending], resting: ['r1'] }),
      ...job('waiting', { id: pending, fields: { ...laneFields('1', '8'), rjk: 's' } }),
    ];
    await expectChange(tables, isOut, remove(), ['done', '1'], {
      'q:r1': gone,
      'q:de': gone,
      'q:meta:lane:a': gone,
      'q:events': removed(['r1', 'wait']),
    });
  });

  it('a lock that was left behind keeps nobody who rests', async () => {
    const lock: Command = ['SET', `${ROOT}:r1:lock`, 'left:1', 'PX', '30000'];
    const left = [...usedQueue(), ...lane({ out: ['x'], resting: ['r1'] }), lock];
    await expectChange(
      tables,
      [...left, ...job('foreign', { id: 'x', fields: laneFields('1', '9') })],
      remove(),
      ['done', '1'],
      {
        'q:r1': gone,
        'q:de': gone,
        'q:meta:lane:a': gone,
        'q:events': removed(['r1', 'wait']),
      },
    );
  });

  it('a lane that is not there has nothing to remove', async () => {
    await expectChange(tables, usedQueue(), remove(), ['done', '0'], {});
  });
});
