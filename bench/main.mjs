// npm run bench: measures Yoke next to its peers and says so on the terminal and, after a whole run, in
// docs/benchmarks.md.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readArguments, USAGE } from './arguments.mjs';
import { copyBuild } from './build-copy.mjs';
import { runWorkload } from './campaign.mjs';
import { renderChart } from './chart.mjs';
import { compare, ratiosOf, readExpected, renderComparison, storeExpected } from './check.mjs';
import { describeMachine } from './machine.mjs';
import { identify, Notebook } from './notebook.mjs';
import { Progress } from './progress.mjs';
import { renderReport } from './report.mjs';
import { Servers } from './servers.mjs';
import { renderSummary } from './summary.mjs';
import { CHECKED, selectWorkloads } from './workloads.mjs';

async function main() {
  const wanted = readArguments(process.argv.slice(2));
  if (wanted.isHelp) return void process.stdout.write(USAGE);
  // Said before two minutes are spent.
  const expected = wanted.isCheck && !wanted.isUpdate ? readExpected() : undefined;
  const workloads = selectWorkloads(wanted.isCheck ? (wanted.only ?? CHECKED) : wanted.only);
  const run = await measure(wanted, workloads);

  if (wanted.isCheck) return check(run, wanted, expected);
  if (wanted.out) write(run, wanted.out);
  process.stdout.write(wanted.isJson ? `${JSON.stringify(run, null, 2)}\n` : renderSummary(run));
  if (run.workloads.some(({ results }) => results.yoke?.error)) process.exitCode = 1;
}

async function measure(wanted, workloads) {
  const build = copyBuild();
  const { startServer } = await import(build.testing);
  const servers = new Servers(startServer);
  const progress = new Progress(workloads.length);
  const setup = {
    servers,
    rounds: wanted.rounds,
    attempts: wanted.attempts,
    isQuick: wanted.isQuick,
    libraries: wanted.libraries ?? (wanted.isCheck ? ['yoke', 'bullmq'] : undefined),
    env: { BENCH_YOKE: build.index },
    onProgress: progress.onProgress,
  };
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  try {
    const machine = describeMachine(await servers.version());
    // A quick look leaves nothing behind: it would take the place of a run that somebody wants to go on with.
    const notebook = wanted.isQuick ? undefined : new Notebook(identify(build.dir, setup, machine), wanted);
    const done = [];
    for (const workload of workloads) {
      const known = notebook?.outcomeOf(workload.id);
      const outcome = known ?? (await runWorkload(workload, setup));
      if (workload.depths) await servers.stopDeep();
      progress.finished(workload, outcome);
      done.push(known ?? notebook?.note(outcome) ?? outcome);
    }
    return {
      machine,
      command: wanted.command,
      rounds: wanted.rounds,
      isQuick: wanted.isQuick,
      sittings: notebook?.sittings ?? 1,
      workloads: done,
    };
  } finally {
    await servers.stop();
  }
}

function check(run, { isUpdate, only }, stored) {
  if (isUpdate) {
    const shaky = run.workloads.find((workload) => workload.void);
    if (shaky)
      throw new Error(
        `nothing is stored: ${shaky.id} is void (${shaky.void}); run it again on a quiet machine`,
      );
    return storeExpected(run);
  }
  const expected = Object.fromEntries(
    Object.entries(stored).filter(
      ([id]) => only === undefined || run.workloads.some((workload) => workload.id === id),
    ),
  );
  const rows = compare(ratiosOf(run), expected);
  if (rows.length === 0)
    throw new Error(`no ratio is stored of these workloads; there are ${Object.keys(stored).join(', ')}`);
  process.stdout.write(renderComparison(rows));
  if (!rows.every(({ isKept }) => isKept)) process.exitCode = 1;
}

function write(run, dir) {
  mkdirSync(dir, { recursive: true });
  const chart = renderChart(run);
  if (chart) writeFileSync(join(dir, 'benchmarks.svg'), chart);
  writeFileSync(join(dir, 'benchmarks.md'), renderReport(run, { chart: chart && 'benchmarks.svg' }));
}

main().then(
  () => process.exit(),
  (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  },
);
