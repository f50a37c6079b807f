import { describe, it } from 'vitest';
import { freeLanesCall } from '../../src/store/generated/engine.ts';
import { events, fields, gone, list, scored, without } from '../support/expected.ts';
import { delayedScore, hset, job, lane, laneFields, NOW, ROOT, record, usedQueue } from '../support/given.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const free = (most = 100) => ({ call: freeLanesCall, argv: freeLanesCall.encode({ most }) });
const plain = fields({ lane: undefined, orderMs: undefined, laneSeq: undefined });
const given = [
  ...usedQueue(),
  ...lane({ out: ['1'], resting: ['r1', 'r2'], own: 'p' }),
  ...job('active', { fields: laneFields() }),
  hset(`${ROOT}:late`, record(laneFields())),
  ['ZADD', `${ROOT}:meta:lane-delayed`, String(NOW + 50), 'late'] as [string, ...string[]],
  ['ZADD', `${ROOT}:de`, '-1', 'late'] as [string, ...string[]],
];

describe('free_lanes', () => {
  it('makes ordinary jobs of all and leaves nothing of lanes', async () => {
    await expectChange(tables, given, free(), ['done', '3'], {
      'q:1': plain,
      'q:r1': plain,
      'q:r2': plain,
      'q:late': plain,
      'q:wait': list('r2', 'r1'),
      'q:delayed': scored('late', delayedScore(NOW + 50)),
      'q:events': events(['delayed', { jobId: 'late', delay: String(NOW + 50) }]),
      'q:de': gone,
      'q:meta': fields({ 'yoke.lanes': undefined }),
      'q:meta:lanes': gone,
      'q:meta:lane:a': gone,
      'q:meta:lane-out': gone,
      'q:meta:lane-settings': gone,
      'q:meta:lane-delayed': gone,
      'q:marker': [scored('0', 0), scored('1', NOW + 50)],
    });
  });

  it('goes on where it stopped', async () => {
    await expectChange(tables, given, free(1), ['more', '1'], {
      'q:r1': plain,
      'q:wait': list('r1'),
      'q:de': without('r1'),
      'q:meta:lane:a': without('0000000000000002r1'),
      'q:marker': scored('0', 0),
    });
  });

  it('a queue without lanes stays as it is', async () => {
    await expectChange(tables, usedQueue(), free(), ['done', '0'], {});
  });
});
