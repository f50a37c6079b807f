// `npm test`: everything that has to hold before a change lands, on whatever this machine has. Without redis-server
// (or valkey-server) the suites that need one are not run, and the summary says so; YOKE_TEST_REQUIRE_NATIVE=1 makes
// that a failure. The last line is `N passed, N failed`, with `, N skipped` where tests were left out.
//
//   npm test                                  all steps, all legs
//   npm test -- --only wasm                   one step or leg (--leg is the same)
//   npm test -- test/behaviour retries        only test files whose path contains one of these
//   npm test -- -t 'a lost lease'             options of vitest go after the rest

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildDist } from './build-dist.mjs';
import { filesBelow } from './checks/files.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const bin = (path) => join(root, 'node_modules', path);

// What talks to a server of the current leg. The other folders either need no server or choose theirs themselves.
const ON_EVERY_SERVER = ['behaviour', 'conformance', 'transitions'];
const ON_EVERY_ENGINE = [...ON_EVERY_SERVER, 'differential', 'faults', 'interop', 'testing'];
const WITHOUT_NATIVE = ['checks', 'demo', 'examples', 'model', 'server', 'testing', 'types'];

const LEGS = {
  functions: { needsNative: true, folders: undefined },
  scripts: { needsNative: true, folders: ON_EVERY_ENGINE },
  wasm: { needsNative: false, folders: ON_EVERY_SERVER },
};

// Settings of this shell that would send tests elsewhere than to the servers they start.
const FOREIGN = [
  'FORCE_COLOR',
  'REDIS_URL',
  'NODE_ENV',
  'YOKE_SERVER',
  'YOKE_ENGINE',
  'YOKE_DATA_DIR',
  'YOKE_TEST_LEG',
];

const isColoured = process.stdout.isTTY && !process.env.NO_COLOR;

function parse(argv) {
  const wish = { only: undefined, filters: [], forVitest: [] };
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i];
    if (word === '--only' || word === '--leg') wish.only = argv[++i];
    else if (word.startsWith('-')) {
      wish.forVitest = argv.slice(i);
      break;
    } else wish.filters.push(word);
  }
  return wish;
}

function run(args, env = {}) {
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !FOREIGN.includes(name)));
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...clean, ...(isColoured ? {} : { NO_COLOR: '1' }), ...env },
      stdio: 'inherit',
    });
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

function testFiles({ folders }, filters) {
  return filesBelow(root, 'test', (path) => path.endsWith('.test.ts') && !path.startsWith('test/soak/'))
    .filter((path) => folders === undefined || folders.includes(path.split('/')[1]))
    .filter((path) => filters.length === 0 || filters.some((filter) => path.includes(filter)));
}

/** Counts of one vitest run. One that ended badly without a failed test is a failure all the same. */
function countsOf(file, exitCode) {
  const none = { passed: 0, failed: 0, skipped: 0 };
  const counts = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : none;
  return { ...counts, failed: exitCode === 0 ? counts.failed : Math.max(counts.failed, 1) };
}

async function runLeg(name, files, forVitest) {
  const dir = mkdtempSync(join(tmpdir(), 'yoke-test-'));
  const counts = join(dir, 'counts.json');
  const quiet = ['--silent=passed-only', '--slowTestThreshold=10000'];
  const reporters = ['--reporter=default', '--reporter=./scripts/count-reporter.mjs'];
  const code = await run([bin('vitest/vitest.mjs'), 'run', ...reporters, ...quiet, ...forVitest, ...files], {
    YOKE_TEST_LEG: name,
    YOKE_TEST_COUNTS: counts,
  });
  const result = countsOf(counts, code);
  rmSync(dir, { recursive: true, force: true });
  return result;
}

const paint = (code, text) => (isColoured ? `\x1b[${code}m${text}\x1b[0m` : text);
const rows = [];

async function step(name, work) {
  console.log(paint(1, `\n── ${name} ${'─'.repeat(Math.max(0, 60 - name.length))}`));
  const startedAt = performance.now();
  const result = await work();
  rows.push({ name, ...result, ms: performance.now() - startedAt });
  return result;
}

const program = (name, args) =>
  step(name, async () => ({ isStep: true, failed: (await run(args)) === 0 ? 0 : 1 }));

function resultOf({ isStep, notRun, passed, failed, skipped }) {
  if (notRun) return paint(33, `not run: ${notRun}`);
  if (isStep) return failed ? paint(31, 'failed') : paint(32, 'ok');
  const parts = [paint(passed > 0 ? 32 : 0, `${passed} passed`)];
  if (failed) parts.push(paint(31, `${failed} failed`));
  if (skipped) parts.push(paint(33, `${skipped} not run`));
  return parts.join(', ');
}

function summarise() {
  const sum = (field) => rows.reduce((total, row) => total + (row[field] ?? 0), 0);
  console.log(paint(1, `\n── summary ${'─'.repeat(53)}`));
  for (const row of rows) {
    const time = row.notRun ? '' : `${(row.ms / 1000).toFixed(1)} s`;
    console.log(`${row.name.padEnd(12)}${time.padStart(9)}   ${resultOf(row)}`);
  }
  console.log(`${'total'.padEnd(12)}${`${(sum('ms') / 1000).toFixed(1)} s`.padStart(9)}\n`);
  const skipped = sum('skipped');
  console.log(`${sum('passed')} passed, ${sum('failed')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exitCode = sum('failed') > 0 ? 1 : 0;
}

const { only, filters, forVitest } = parse(process.argv.slice(2));
const steps = ['checks', 'lint', 'types'];
if (only !== undefined && ![...steps, ...Object.keys(LEGS)].includes(only)) {
  console.error(`--only ${only}: expected one of ${[...steps, ...Object.keys(LEGS)].join(', ')}`);
  process.exit(2);
}
// People who name a test want that test.
const isWanted = (name) => (only === undefined ? filters.length === 0 || name in LEGS : only === name);

if (isWanted('checks')) await program('checks', ['scripts/check.mjs']);
if (isWanted('lint'))
  await program('lint', [bin('@biomejs/biome/bin/biome'), 'check', '.', '--diagnostic-level=error']);
if (isWanted('types')) await program('types', [bin('typescript/bin/tsc'), '-p', 'tsconfig.json', '--noEmit']);

const legs = Object.keys(LEGS).filter(isWanted);
if (legs.length > 0) {
  const build = await step('build', () => {
    const trouble = buildDist();
    if (trouble) process.stdout.write(trouble);
    return { isStep: true, failed: trouble ? 1 : 0 };
  });
  // The same search that the library does, from the build that the tests use.
  const hasNative =
    build.failed === 0 && (await import('../dist/testing.js')).nativeServerBinary() !== undefined;
  for (const name of build.failed ? [] : legs) {
    const leg = LEGS[name];
    if (leg.needsNative && !hasNative) {
      const isRequired = Boolean(process.env.YOKE_TEST_REQUIRE_NATIVE);
      rows.push({
        name,
        notRun: 'neither redis-server nor valkey-server is on the PATH',
        failed: isRequired ? 1 : 0,
        ms: 0,
      });
      continue;
    }
    const folders = leg.folders && !hasNative ? [...leg.folders, ...WITHOUT_NATIVE] : leg.folders;
    const files = testFiles({ folders }, filters);
    if (files.length > 0) await step(name, () => runLeg(name, files, forVitest));
    else rows.push({ name, notRun: 'no such test here', ms: 0 });
  }
}
summarise();
