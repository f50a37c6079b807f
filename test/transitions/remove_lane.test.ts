import { describe, it } from 'vitest';
import { removeLaneCall } from '../../src/store/generated/engine.ts';
import { type Changes, events, gone, hash, without } from '../support/expected.ts';
import { job, lane, laneFields, usedQueue } from '../support/given.ts';
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

  it('a lane that is not there has nothing to remove', async () => {
    await expectChange(tables, usedQueue(), remove(), ['done', '0'], {});
  });
});
