import { describe, it } from 'vitest';
import { changeDelayCall } from '../../src/store/generated/engine.ts';
import { type Changes, events, fields, scored } from '../support/expected.ts';
import { crowd, delayedScore, job, NOW } from '../support/given.ts';
import { edgeOf } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const moved = (delay: number, earliest: number): Changes => ({
  'q:1': fields({ delay: String(delay) }),
  'q:delayed': scored('1', delayedScore(NOW + delay)),
  'q:events': events(['delayed', { jobId: '1', delay: String(NOW + delay) }]),
  'q:marker': scored('1', earliest),
});

describe('change_delay: delayed -> delayed', () => {
  fromEveryState(tables, edgeOf('change_delay'), { delayed: moved(90_000, NOW + 60_000) });

  it('the earliest job moves the marker', async () => {
    const request = { call: changeDelayCall, argv: changeDelayCall.encode({ jobId: '1', delay: 100 }) };
    await expectChange(tables, [...crowd(), ...job('delayed')], request, ['ok', ''], moved(100, NOW + 100));
  });
});
