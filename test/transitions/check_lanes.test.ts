import { describe, expect, it } from 'vitest';
import { checkLanesCall } from '../../src/store/generated/engine.ts';
import { type Changes, gone, hash, list, scored, without } from '../support/expected.ts';
import { type Command, job, lane, laneFields, ROOT, usedQueue } from '../support/given.ts';
import { commandsOf, runShim } from './shim.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const check = (change: object = {}) => ({
  call: checkLanesCall,
  argv: checkLanesCall.encode({ after: '', most: 10, mostResting: 10, heals: true, ...change }),
});
const goesOn: Changes = {
  'q:meta:lane:a': gone,
  'q:de': gone,
  'q:wait': list('r1'),
  'q:meta:lane-out': hash({ a: 'r1' }),
  'q:marker': scored('0', 0),
};
/** Lane, id and word of each finding, as they are told. */
const told = (...found: string[]) => JSON.stringify(found);
const given = (...more: (readonly Command[])[]) => [...usedQueue(), ...more.flat()];

describe('check_lanes', () => {
  it('a sound lane is left alone', async () => {
    const sound = given(lane({ out: ['1'], resting: ['r1'] }), job('active', { fields: laneFields() }));
    await expectChange(tables, sound, check(), ['', '1', told()], {});
    for (const state of [
      'waiting',
      'prioritized',
      'delayed',
      'expired',
      'waiting-children',
      'paused',
    ] as const) {
      const other = given(lane({ out: ['1'], resting: ['r1'] }), job(state, { fields: laneFields() }));
      await expectChange(tables, other, check(), ['', '1', told()], {});
    }
  });

  it('a job that ended elsewhere, or has no record, is out no more', async () => {
    for (const state of ['completed', 'failed', 'missing'] as const) {
      const ended = given(lane({ out: ['1'], resting: ['r1'] }), job(state, { fields: laneFields() }));
      const word = state === 'missing' ? 'gone' : 'finished';
      await expectChange(tables, ended, check(), ['', '1', told('a', '1', word)], goesOn);
      await expectChange(tables, ended, check({ heals: false }), ['', '1', told('a', '1', word)], {});
    }
  });

  it('a job that lies nowhere takes its place again', async () => {
    const [store] = job('waiting', { fields: laneFields() });
    await expectChange(
      tables,
      given(lane({ out: ['1'], resting: ['r1'] }), [store!]),
      check(),
      ['', '1', told('a', '1', 'lost')],
      {
        'q:wait': list('1'),
        'q:marker': scored('0', 0),
      },
    );
  });

  it('a resting job without a record is forgotten, and a lane without any job', async () => {
    await expectChange(
      tables,
      given(lane({ own: 'p', resting: ['r1', 'r2'] }), [['DEL', 'bull:q:r1']]),
      check(),
      ['', '1', told('a', 'r1', 'gone')],
      { 'q:meta:lane:a': without('0000000000000002r1'), 'q:de': without('r1') },
    );
    await expectChange(tables, given(lane({})), check(), ['', '1', told()], { 'q:meta:lanes': gone });
  });

  it('a lane that forgot to go on goes on', async () => {
    const stuck = given(lane({ resting: ['r1'] }));
    await expectChange(tables, stuck, check({ heals: false }), ['', '1', told('a', '', 'stuck')], {});
    await expectChange(tables, stuck, check(), ['', '1', told('a', '', 'stuck')], goesOn);
  });

  it('says where to go on', async () => {
    const three = given(...['a', 'b', 'c'].map((name) => lane({ name, own: 'p' })));
    await expectChange(tables, three, check({ most: 2 }), ['b', '2', told()], {});
    await expectChange(tables, three, check({ most: 2, after: 'b' }), ['', '1', told()], {});
  });

  describe('a call is bounded', () => {
    // A few for each of the jobs that a call may look at or let out.
    const MOST_COMMANDS = 10_000;
    const names = Array.from({ length: 12 }, (_, i) => `lane-${String(i).padStart(2, '0')}`);
    const deep = (concurrency: string): Command[] => [
      ...usedQueue(),
      ...names.flatMap((name) => {
        const resting = Array.from({ length: 1000 }, (_, i) => `${name}-${i}`);
        return lane({ name, resting, rules: { concurrency } });
      }),
    ];

    /** All calls that it takes; how many lanes each has checked. */
    async function walk(change: object): Promise<number[]> {
      const counts: number[] = [];
      for (let after = ''; ; ) {
        const run = await runShim(tables.admin, check({ most: 1000, ...change, after }));
        expect(run.error).toBeUndefined();
        expect(commandsOf(run).length).toBeLessThan(MOST_COMMANDS);
        const [following, count] = run.reply![2] as string[];
        counts.push(Number(count));
        if (following === '') return counts;
        expect(following).toBe(names[counts.reduce((sum, one) => sum + one) - 1]);
        after = following!;
      }
    }

    it('by the resting jobs that it looks at', async () => {
      await tables.given(deep('1'));
      const counts = await walk({ mostResting: 1000, heals: false });
      expect(counts).toEqual([3, 3, 3, 3]);
    });

    it('by the jobs that it lets out', async () => {
      await tables.given(deep('1000'));
      const counts = await walk({ mostResting: 1, heals: true });
      expect(counts).toEqual([3, 3, 3, 3]);
      expect(await tables.admin.llen(`${ROOT}:wait`)).toBe(12_000);
    });

    it('by the entries without a job that it passes over', async () => {
      await tables.given(deep('1'));
      const records = names.flatMap((name) => Array.from({ length: 1000 }, (_, i) => `${ROOT}:${name}-${i}`));
      await tables.admin.del(...records);
      const counts = await walk({ mostResting: 1, heals: true });
      expect(Math.max(...counts)).toBeLessThan(4);
    });

    it('by the jobs that are out', async () => {
      const lanes = names.flatMap((name) =>
        lane({
          name,
          out: Array.from({ length: 1000 }, (_, i) => `${name}-${i}`),
          rules: { concurrency: '1000' },
        }),
      );
      await tables.given(given(lanes));
      const counts = await walk({ mostResting: 1, heals: true });
      expect(counts).toEqual([3, 3, 3, 3]);
      expect(await tables.admin.exists(`${ROOT}:meta:lanes`, `${ROOT}:meta:lane-out`)).toBe(0);
    });
  });

  it('tells of more than Lua can unpack', async () => {
    const out = Array.from({ length: 1000 }, (_, i) => `x${i}`);
    const many = ['a', 'b', 'c'].flatMap((name) => lane({ name, out, rules: { concurrency: '1000' } }));
    await tables.given(given(many));
    const [following, count, found] = await tables.run(check({ heals: false }));
    expect([following, count]).toEqual(['', '3']);
    expect(JSON.parse(found as string)).toHaveLength(9000);
  });
});
