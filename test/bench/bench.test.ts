// The benchmark's own arithmetic and pages, from fixed figures: nothing here measures anything.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

const load = (file: string): Promise<any> => import(new URL(`../../bench/${file}`, import.meta.url).href);

const { median, percentile, ratio, roundOf, spread, summarise, voidReason } = await load('statistics.mjs');
const { findLosses, renderReport } = await load('report.mjs');
const { renderChart } = await load('chart.mjs');
const { judge } = await load('acceptance.mjs');
const { compare, ratiosOf } = await load('check.mjs');
const { readArguments } = await load('arguments.mjs');
const { countsOf } = await load('campaign.mjs');
const { selectWorkloads, WORKLOADS, CHECKED } = await load('workloads.mjs');
const { renderSummary } = await load('summary.mjs');
const { identify, Notebook } = await load('notebook.mjs');
const { readTicks, stolenShare } = await load('stolen.mjs');

type Rounds = Record<string, number>[];

const result = (...rounds: Rounds) => ({ summary: summarise(rounds) });

const run = {
  machine: {
    date: '2001-02-03',
    cores: 2,
    processor: 'some',
    memoryGb: 8,
    platform: 'linux x64',
    node: 'v20.0.0',
    server: 'redis-server 7.0.0',
    load: 0.1,
    versions: { yoke: '1.2.3', bullmq: '6.7.0' },
  },
  command: 'npm run bench',
  rounds: 3,
  workloads: [
    {
      id: 'process-100',
      attempts: 1,
      stolen: { kept: [0.001, 0.012, 0.3], repeats: 4 },
      results: {
        yoke: result(
          { rate: 36_000, nodeCpuUs: 20 },
          { rate: 30_000, nodeCpuUs: 21 },
          { rate: 33_000, nodeCpuUs: 22 },
        ),
        bullmq: result(
          { rate: 11_000, nodeCpuUs: 60 },
          { rate: 10_000, nodeCpuUs: 61 },
          { rate: 12_000, nodeCpuUs: 62 },
        ),
        'bee-queue': result({ rate: 44_000, nodeCpuUs: 30 }),
        groupmq: { error: 'a reason <of its own>' },
        bare: result({ rate: 40_000 }),
      },
    },
    {
      id: 'idle',
      attempts: 3,
      void: 'yoke: p50 spread 1.70',
      results: { yoke: result({ p50: 0.4, p99: 2 }), bullmq: result({ p50: 0.5, p99: 1 }) },
    },
    {
      id: 'depth',
      attempts: 1,
      results: {
        yoke: result({
          add1000: 10,
          add100000: 11,
          add1000000: 12,
          process1000: 20,
          process100000: 28,
          process1000000: 30,
        }),
      },
    },
  ],
};

describe('statistics', () => {
  it('takes the middle of an odd number of rounds and the mean of the two middle ones of an even number', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([9, 1, 5, 7])).toBe(6);
    expect(median([])).toBeUndefined();
  });

  it('says how far rounds lie apart', () => {
    expect(spread([10, 15, 12])).toBe(1.5);
  });

  it('gives percentiles that were measured', () => {
    const values = Array.from({ length: 200 }, (_, i) => 200 - i);
    expect(percentile(values, 0.5)).toBe(100);
    expect(percentile(values, 0.99)).toBe(198);
    expect(percentile([7], 0.99)).toBe(7);
  });

  it('reads a ratio above one as better, for rates and for latencies', () => {
    expect(ratio(30, 10, 'higher')).toBe(3);
    expect(ratio(10, 30, 'lower')).toBe(3);
    expect(ratio(10, undefined, 'lower')).toBeUndefined();
  });

  it('takes several turns for one round: of a rate all jobs in all the time', () => {
    // 300 jobs at 100 a second and 300 at 300 a second are 600 in four seconds.
    expect(
      roundOf([
        { rate: 100, nodeCpuUs: 20 },
        { rate: 300, nodeCpuUs: 40 },
      ]),
    ).toEqual({
      rate: 150,
      nodeCpuUs: 30,
    });
    expect(roundOf([{ rate: 100 }])).toEqual({ rate: 100 });
    // The second slowest of all, not the mean of two that were the slowest of their turn.
    const even = Array.from({ length: 100 }, () => 1);
    expect(roundOf([{ latencies: even }, { latencies: [...even.slice(2), 5, 9] }])).toEqual({
      p50: 1,
      p99: 1,
    });
    expect(roundOf([{ latencies: even }, { latencies: [...even.slice(3), 5, 5, 9] }])).toEqual({
      p50: 1,
      p99: 5,
    });
    expect(roundOf([{ latencies: [2] }])).toEqual({ p50: 2, p99: 2 });
    expect(roundOf([{ rate: 1 }, { rate: 1, redisCpuUs: 4 }])).toEqual({ rate: 1, redisCpuUs: 4 });
  });
});

describe('the rule that makes a workload void', () => {
  const steady = result({ rate: 100 }, { rate: 150 });
  const shaky = result({ rate: 100 }, { rate: 151 });

  it('lets rounds pass that lie no further apart than 1.5', () => {
    expect(voidReason({ yoke: steady, bullmq: steady }, ['rate'])).toBeUndefined();
  });

  it('names the library and the figure that did not hold still', () => {
    expect(voidReason({ yoke: steady, bullmq: shaky }, ['rate'])).toBe('bullmq: rate spread 1.51');
  });

  it('asks only the two that the ratio is about, and only about the figures that must hold still', () => {
    expect(voidReason({ yoke: steady, bullmq: steady, groupmq: shaky }, ['rate'])).toBeUndefined();
    expect(voidReason({ yoke: steady, groupmq: shaky }, ['rate'])).toBe('groupmq: rate spread 1.51');
    expect(voidReason({ yoke: shaky, bullmq: steady }, ['p50'])).toBeUndefined();
    expect(voidReason({ yoke: { error: 'failed' }, bullmq: steady }, ['rate'])).toBeUndefined();
  });
});

describe('processor time that the host took', () => {
  const at = (worked: number, stolen: number) =>
    readTicks(() => `cpu  ${worked - 4} 1 1 500 7 1 1 ${stolen} 0 0\ncpu0 1 2 3\n`);

  it('is told as a share of what was wanted, whatever was idle', () => {
    expect(stolenShare(at(100, 10), at(190, 20))).toBeCloseTo(0.1);
    expect(stolenShare(at(100, 10), at(100, 10))).toBe(0);
  });

  it('is nothing where the system does not tell', () => {
    const unreadable = readTicks(() => {
      throw new Error('no such file');
    });
    expect(stolenShare(unreadable, unreadable)).toBe(0);
  });
});

describe('the report', () => {
  const page: string = renderReport(run);

  it('shows medians with their spread and the ratio to BullMQ', () => {
    expect(page).toContain(
      '| process, concurrency 100 | 33,000/s (1.20) | 11,000/s (1.20) | failed | 44,000/s (1.00) | 3.00 × |',
    );
  });

  it('says what failed, what is void, and what the machine was', () => {
    expect(page).toContain('GroupMQ failed in process, concurrency 100: a reason <of its own>');
    expect(page).toContain('idle latency is void: yoke: p50 spread 1.70, after 3 runs.');
    const again = { attempts: 2, turns: 2 };
    const second = { ...run, workloads: run.workloads.map((workload) => ({ ...workload, ...again })) };
    expect(renderReport(second)).toContain(
      'process, concurrency 100 was void once before; each round is 2 turns of every library.',
    );
    expect(page).not.toContain('was void once');
    expect(page).toContain('2 cores');
    expect(page).toContain('BullMQ 6.7.0');
  });

  it('says what the host took', () => {
    expect(page).toContain(
      'more than\n15 % of its processor time that way is taken again, whatever it says; so were 4',
    );
    expect(page).toContain(
      '3 that count, the median lost 1.2 % and the worst 30 %; 1 lost too much every time',
    );
  });

  it('lists every figure in which another library was better, worst first', () => {
    const losses = findLosses(run).map(({ workload, peer, name, measured }: never) => [
      (workload as { id: string }).id,
      peer,
      name,
      measured,
    ]);
    expect(losses).toEqual([
      ['idle', 'bullmq', 'p99', 0.5],
      ['process-100', 'bee-queue', 'rate', 0.75],
    ]);
    expect(page).toContain('| process, concurrency 100 | Bee-Queue | 44,000/s | 33,000/s | 0.75 × |');
  });

  it('puts required and measured ratios side by side', () => {
    expect(page).toContain('| process, concurrency 100 | BullMQ | ≥ 3 | 3.00 × | 3.64 × | yes |');
    expect(page).toContain('| process, concurrency 100 | bare scripts | ≥ 0.85 | 0.82 × | – | **no** |');
    expect(page).toContain('| idle latency: p50 | BullMQ | ≥ 1 | 1.25 × | – | void |');
    expect(page).toContain('| add, 1 in flight | BullMQ | ≥ 1 | – | – | not measured |');
  });

  it('holds the cost at every depth against that at the smallest', () => {
    const rows = judge(run).filter((row: { workload: string }) => row.workload === 'depth');
    expect(
      rows.map(({ measured, isMet }: { measured: number; isMet: boolean }) => [measured, isMet]),
    ).toEqual([
      [1.1, true],
      [1.2, true],
      [1.4, false],
      [1.5, false],
    ]);
  });

  it('fits the terminal too', () => {
    expect(renderSummary(run)).toMatch(/process, concurrency 100 +33,000\/s \(1\.20\)/);
  });
});

describe('the chart', () => {
  it('draws a bar for every library with a rate, as long as its ratio to BullMQ', () => {
    const chart: string = renderChart(run);
    const widthOf = (library: string) =>
      Number(new RegExp(`class="${library}" x="280" y="\\d+" width="([\\d.]+)"`).exec(chart)?.[1]);
    expect(widthOf('yoke') / widthOf('bullmq')).toBeCloseTo(3, 1);
    expect(widthOf('bee-queue') / widthOf('bullmq')).toBeCloseTo(4, 1);
    expect(widthOf('groupmq')).toBeNaN();
    expect(chart).toContain('prefers-color-scheme: dark');
  });

  it('is left out where nobody ran beside Yoke', () => {
    expect(
      renderChart({ workloads: [{ id: 'add-1', results: { yoke: result({ rate: 1 }) } }] }),
    ).toBeUndefined();
  });
});

describe('the guard', () => {
  it('notices a loss of more than a third, and a workload that did not finish', () => {
    const rows = compare(
      { 'add-100': 2, 'process-1': 1.9 },
      { 'add-100': 3, 'process-1': 3, 'process-10': 3 },
    );
    expect(rows.map(({ isKept }: { isKept: boolean }) => isKept)).toEqual([true, false, false]);
  });

  it('takes its ratios from the medians of both libraries', () => {
    expect(ratiosOf(run)).toEqual({ 'process-100': 3 });
  });

  it('runs workloads that exist', () => {
    expect(selectWorkloads(CHECKED).map(({ id }: { id: string }) => id)).toEqual(CHECKED);
  });
});

describe('how many jobs a measurement has', () => {
  const workload = { count: 600, quickCount: 50, warmUpCount: 90 };

  it('is that of a round for the warm-up where nothing else is said, and half of it for a quick look', () => {
    const { warmUpCount: _, ...plain } = workload;
    expect(countsOf(workload, { isQuick: false })).toEqual({ count: 600, warmUpCount: 90 });
    expect(countsOf(plain, { isQuick: false })).toEqual({ count: 600, warmUpCount: 600 });
    expect(countsOf({ ...plain, turns: 3 }, { isQuick: false })).toEqual({ count: 600, warmUpCount: 1800 });
    expect(countsOf(plain, { isQuick: true })).toEqual({ count: 50, warmUpCount: 25 });
    expect(countsOf({ ...workload, warmUpCount: 5 }, { isQuick: true }).warmUpCount).toBe(5);
  });
});

describe('what the user asks for', () => {
  it('writes the page only after a whole run, unless told where', () => {
    expect(readArguments([])).toMatchObject({ rounds: 7, out: 'docs', attempts: 3, isQuick: false });
    expect(readArguments(['--quick'])).toMatchObject({ out: undefined, attempts: 1, isQuick: true });
    expect(readArguments(['--only', 'add, idle']).only).toEqual(['add', 'idle']);
    expect(readArguments(['--only', 'add', '--out', 'here']).out).toBe('here');
  });

  it('refuses rounds that are no number, and libraries and workloads that do not exist', () => {
    expect(() => readArguments(['--rounds', 'many'])).toThrow('--rounds');
    expect(() => selectWorkloads(['nothing'])).toThrow('no workload is called nothing');
    expect(() => readArguments(['--libraries', 'yoke,bull'])).toThrow(
      'no library is called bull; there are yoke',
    );
  });

  it('takes the beginning of a name for all that follow', () => {
    expect(selectWorkloads(['add']).map(({ id }: { id: string }) => id)).toEqual([
      'add-1',
      'add-100',
      'add-bulk',
    ]);
    expect(selectWorkloads(undefined)).toBe(WORKLOADS);
  });
});

describe('a run that was broken off', () => {
  const dir = mkdtempSync(join(tmpdir(), 'yoke-notebook-'));
  const build = join(dir, 'build');
  const file = join(dir, 'cache', 'run.json');
  mkdirSync(build);
  writeFileSync(join(build, 'index.js'), 'one');
  afterAll(() => rmSync(dir, { recursive: true }));

  const setup = { rounds: 7, isQuick: false, libraries: undefined };
  const identity = (load: number) => identify(build, setup, { ...run.machine, load });
  const [measured] = run.workloads;

  it('has nothing to go on with before anything was measured', () => {
    new Notebook(identity(0.1), { file });
    expect(() => new Notebook(identity(0.1), { file, isResumed: true })).toThrow('there is no run');
  });

  it('goes on with what was measured, on another day and under another load', () => {
    new Notebook(identity(0.1), { file }).note(measured);
    const notebook = new Notebook(identity(2), { file, isResumed: true });
    expect(notebook.outcomeOf('process-100')).toEqual(JSON.parse(JSON.stringify(measured)));
    expect(notebook.outcomeOf('idle')).toBeUndefined();
    expect(notebook.sittings).toBe(2);
  });

  it('measures again what was void, and nothing else', () => {
    const first = new Notebook(identity(0.1), { file });
    first.note(measured);
    first.note({ ...measured, id: 'idle', attempts: 3, void: 'yoke: p50 spread 1.8' });
    expect(first.outcomeOf('idle')).toMatchObject({ attempts: 3 });
    const second = new Notebook(identity(0.1), { file, isResumed: true });
    expect(second.outcomeOf('process-100')).toBeDefined();
    expect(second.outcomeOf('idle')).toBeUndefined();
    // Broken off before it was measured again, it is still void.
    const third = new Notebook(identity(0.1), { file, isResumed: true });
    const valid = third.note({ ...measured, id: 'idle', attempts: 2 });
    expect(valid).toMatchObject({ id: 'idle', attempts: 5 });
    expect(new Notebook(identity(0.1), { file, isResumed: true }).outcomeOf('idle')).toEqual(
      JSON.parse(JSON.stringify(valid)),
    );
    new Notebook(identity(0.1), { file }).note(measured);
  });

  it('is none of a quick look, which leaves nothing behind', () => {
    expect(() => readArguments(['--quick', '--resume'])).toThrow('nothing to go on with');
    expect(() => readArguments(['--check', '--resume'])).toThrow('nothing to go on with');
    expect(readArguments(['--resume']).isResumed).toBe(true);
  });

  it('begins again without being told to go on', () => {
    expect(new Notebook(identity(0.1), { file }).outcomeOf('process-100')).toBeUndefined();
  });

  it('does not go on with another build, other rounds or another machine', () => {
    const resume = (other: unknown) => new Notebook(other, { file, isResumed: true });
    expect(() => resume(identify(build, { ...setup, rounds: 5 }, run.machine))).toThrow('differs in rounds');
    expect(() => resume(identify(build, setup, { ...run.machine, cores: 4 }))).toThrow('differs in machine');
    writeFileSync(join(build, 'index.js'), 'two');
    expect(() => resume(identity(0.1))).toThrow('differs in the build');
  });

  it('says on the page that it was', () => {
    expect(renderReport({ ...run, sittings: 3 })).toContain('measured in 3 sittings');
    expect(renderReport(run)).not.toContain('sittings');
  });
});
