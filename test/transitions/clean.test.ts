import { describe, expect, it } from 'vitest';
import { cleanCall } from '../../src/store/generated/engine.ts';
import { events, gone, list, without } from '../support/expected.ts';
import { type Command, crowd, job, lane, NOW, ROOT, usedQueue } from '../support/given.ts';
import { commandsOf, runShim } from './shim.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const clean = (state: string, cutoff = NOW, limit = 0, most = 1000) => ({
  call: cleanCall,
  argv: cleanCall.encode({ state, cutoff: String(cutoff), limit, most }),
});
const cleaned = (count: number) => events(['cleaned', { count: String(count) }]);
// Bystanders were created 90 s ago, finished 60 s ago and started 5 s ago.
const beforeAll = NOW - 100_000;

describe('clean', () => {
  for (const [state, ids] of [
    ['wait', ['w1', 'w2']],
    ['prioritized', ['p1']],
    ['delayed', ['d1']],
    ['completed', ['c1']],
    ['failed', ['f1']],
  ] as const) {
    it(`old jobs of ${state} go, and nothing else`, async () => {
      const removals = Object.fromEntries(ids.map((id) => [`q:${id}`, gone]));
      await expectChange(tables, crowd(), clean(state), [...ids], {
        [`q:${state}`]: gone,
        ...removals,
        'q:events': cleaned(ids.length),
      });
      await expectChange(tables, crowd(), clean(state, beforeAll), [], { 'q:events': cleaned(0) });
    });
  }

  it('an active job goes only without a lease', async () => {
    await expectChange(tables, [...crowd(), ...job('expired')], clean('active'), ['1'], {
      'q:active': without('1'),
      'q:1': gone,
      'q:events': cleaned(1),
    });
    await expectChange(tables, [...crowd(), ...job('expired')], clean('active', NOW - 6_000), [], {
      'q:events': cleaned(0),
    });
  });

  it('the list of an older client is cleaned too', async () => {
    await expectChange(tables, [...crowd(), ...job('paused')], clean('paused'), ['1'], {
      'q:paused': gone,
      'q:1': gone,
      'q:events': cleaned(1),
    });
  });

  it('a limit looks at the oldest only, and a call is bounded', async () => {
    await expectChange(tables, crowd(), clean('wait', NOW, 1), ['w1'], {
      'q:wait': list('w2'),
      'q:w1': gone,
      'q:events': cleaned(1),
    });
    await expectChange(tables, crowd(), clean('wait', NOW, 0, 1), ['w1'], {
      'q:wait': list('w2'),
      'q:w1': gone,
      'q:events': cleaned(1),
    });
    const two = [...crowd(), ...job('completed', { at: NOW - 70_000 })];
    await expectChange(tables, two, clean('completed', NOW, 1), ['1'], {
      'q:completed': without('1'),
      'q:1': gone,
      'q:events': cleaned(1),
    });
  });

  it('the pending iteration of a scheduler stays', async () => {
    const pending = `repeat:s:${NOW}`;
    const given: Command[] = [
      ...usedQueue(),
      ['ZADD', `${ROOT}:repeat`, String(NOW), 's'],
      ...job('delayed', { id: pending, fields: { rjk: 's' } }),
    ];
    await expectChange(tables, given, clean('delayed'), [], { 'q:events': cleaned(0) });
  });

  it('what rests in lanes goes as far as it is old, some at a time', async () => {
    const resting = Array.from({ length: 2500 }, (_, i) => `r${i}`);
    const isYoung = (id: string) => Number(id.slice(1)) % 5 === 0;
    const young = resting
      .filter(isYoung)
      .map((id): Command => ['HSET', `${ROOT}:${id}`, 'timestamp', String(NOW)]);
    await tables.given(usedQueue(), lane({ own: 'p', resting }), young);
    const old = resting.filter((id) => !isYoung(id));
    expect(await tables.run(clean('wait', NOW - 10, 30))).toEqual(old.slice(0, 24));
    expect(await tables.run(clean('wait', NOW - 10))).toEqual(old.slice(24, 1024));
    // Reads no further than it has to: nobody else is served meanwhile.
    const run = await runShim(tables.admin, clean('wait', NOW - 10, 0, 100));
    expect(run.reply![2]).toEqual(old.slice(1024, 1124));
    expect(commandsOf(run).filter(({ command }) => command === 'LRANGE')).toEqual([]);
    expect(await tables.run(clean('wait', NOW - 10))).toEqual(old.slice(1124));
    expect(await tables.run(clean('wait', NOW - 10))).toEqual([]);
    expect(await tables.admin.zcard(`${ROOT}:de`)).toBe(500);
    expect(await tables.admin.zcard(`${ROOT}:meta:lane:a`)).toBe(500);
  });

  it('a deduplication that the job stands for ends', async () => {
    const given: Command[] = [
      ...usedQueue(),
      ...job('waiting', { fields: { deid: 'once' } }),
      ['SET', `${ROOT}:de:once`, '1'],
    ];
    await expectChange(tables, given, clean('wait'), ['1'], {
      'q:wait': gone,
      'q:1': gone,
      'q:de:once': gone,
      'q:events': cleaned(1),
    });
  });
});
