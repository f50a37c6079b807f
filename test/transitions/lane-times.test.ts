// Many come due at once: a fetch admits a bounded number, and those that come after it admit the others.

import { describe, expect, it } from 'vitest';
import { exchangeCall } from '../../src/store/generated/engine.ts';
import {
  type Command,
  hset,
  lane,
  laneFields,
  laneRules,
  NOW,
  ROOT,
  record,
  TOKEN,
  usedQueue,
} from '../support/given.ts';
import { noFetch } from './edges.ts';
import { commandsOf, runShim } from './shim.ts';
import { useTables } from './tables.ts';

const tables = useTables();
// Some for each job that is admitted or let out.
const MOST_COMMANDS = 10_000;

/** One fetch of two jobs. */
async function fetch(): Promise<void> {
  const argv = exchangeCall.encode({ ...noFetch, fetchCount: 2, token: TOKEN }, []);
  const run = await runShim(tables.admin, { call: exchangeCall, argv });
  expect(commandsOf(run).length).toBeLessThan(MOST_COMMANDS);
  const body = run.reply![2];
  expect([(body[1] as unknown[]).length, body[6]]).toEqual([4, '']);
}

describe('a fetch admits a bounded number', () => {
  it('of jobs whose time has come', async () => {
    const due = Array.from({ length: 1200 }, (_, i) => `d${i}`).flatMap((id): Command[] => [
      hset(`${ROOT}:${id}`, record(laneFields('5', '1', `lane-${id}`))),
      ['ZADD', `${ROOT}:meta:lane-delayed`, String(NOW - 10), id],
      ['ZADD', `${ROOT}:de`, '-1', id],
    ]);
    await tables.given(usedQueue(ROOT, laneRules({ used: 'd' })), due);
    const left: number[] = [];
    for (let i = 0; i < 3; i++) {
      await fetch();
      left.push(await tables.admin.zcard(`${ROOT}:meta:lane-delayed`));
    }
    expect(left).toEqual([700, 200, 0]);
    expect(await tables.admin.llen(`${ROOT}:wait`)).toBe(1194);
  });

  it('of lanes that were held back and have room for many', async () => {
    const resting = (name: string) => Array.from({ length: 800 }, (_, i) => `${name}-${i}`);
    const held = ['a', 'b', 'c', 'd'].flatMap((name): Command[] => [
      ...lane({ name, resting: resting(name) }),
      ['ZADD', `${ROOT}:meta:lane-held`, String(NOW - 10), name],
    ]);
    await tables.given(
      held,
      usedQueue(ROOT, laneRules({ used: 'h', concurrency: '1000', orderingDelayMs: '10' })),
    );
    await fetch();
    expect(await tables.admin.zrange(`${ROOT}:meta:lane-held`, '0', '-1')).toEqual(['c', 'd']);
    await fetch();
    expect(await tables.admin.exists(`${ROOT}:meta:lane-held`)).toBe(0);
    expect(await tables.admin.llen(`${ROOT}:wait`)).toBe(4 * 800 - 4);
  });
});
