import { describe, it } from 'vitest';
import { pauseCall } from '../../src/store/generated/engine.ts';
import { events, fields, gone } from '../support/expected.ts';
import { crowd, ROOT } from '../support/given.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const pause = { call: pauseCall, argv: pauseCall.encode() };

describe('pause', () => {
  it('a flag stops the workers, the markers go, and jobs stay where they are', async () => {
    const given = [...crowd(), ['ZADD', `${ROOT}:marker`, '0', '0', '5', '1'] as [string, ...string[]]];
    await expectChange(tables, given, pause, [], {
      'q:meta': fields({ paused: '1' }),
      'q:marker': gone,
      'q:events': events(['paused']),
    });
  });
});
