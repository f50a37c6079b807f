// `npm run test:mutants`: plants one bug after another in a copy of the project and runs the tests that must catch it.
// A mutant is a patch of lua/ in test/mutants, with two lines above the diff:
//
//   # what is wrong with it, in one sentence
//   # caught by: test/invariants/lanes.test.ts -t 'part of a title'
//
// A mutant that no test catches, one that does not apply any more, and a test that fails without any bug are failures.
//
//   npm run test:mutants                 all of them
//   npm run test:mutants -- lanes        those whose name contains one of these words

import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'test/mutants');
const copied = ['lua', 'scripts', 'src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts'];

function readMutant(file) {
  const text = readFileSync(join(folder, file), 'utf8');
  const [, sentence] = text.match(/^# (.+)\n/) ?? [];
  const [, test, title] = text.match(/^# caught by: (\S+)(?: -t '(.+)')?$/m) ?? [];
  if (!sentence || !test)
    throw new Error(`test/mutants/${file}: the first two lines say what is wrong and which test catches it`);
  return { name: basename(file, '.patch'), file: join(folder, file), sentence, test, title };
}

function copyOfProject() {
  const dir = mkdtempSync(join(tmpdir(), 'yoke-mutant-'));
  for (const name of copied) cpSync(join(root, name), join(dir, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  return dir;
}

function run(dir, command, args) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: dir,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', GIT_CEILING_DIRECTORIES: tmpdir() },
  });
  return { isOk: status === 0, output: `${stdout}${stderr}` };
}

const runTest = (dir, { test, title }) =>
  run(dir, process.execPath, [
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    test,
    ...(title ? ['-t', title] : []),
  ]);

/** The trouble with one mutant; nothing if it was caught. */
function troubleWith(mutant) {
  const dir = copyOfProject();
  try {
    const applied = run(dir, 'git', ['apply', '--recount', '-C1', mutant.file]);
    if (!applied.isOk) return `does not apply any more:\n${applied.output}`;
    const built = run(dir, process.execPath, ['scripts/build-lua.mjs']);
    if (!built.isOk) return `does not build:\n${built.output}`;
    const { isOk, output } = runTest(dir, mutant);
    if (isOk) return `is not caught by ${mutant.test}`;
    // A test that does not start fails as well, and has caught nothing.
    return /Tests .*failed/.test(output)
      ? undefined
      : `stops ${mutant.test} from running:\n${output.slice(-2000)}`;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Tests that fail on the sound code, by what they print. */
function failingAnyway(mutants) {
  const dir = copyOfProject();
  try {
    const tests = new Map(mutants.map((mutant) => [`${mutant.test} ${mutant.title ?? ''}`.trim(), mutant]));
    return [...tests].flatMap(([name, mutant]) => {
      const { isOk, output } = runTest(dir, mutant);
      return isOk ? [] : [`${name} fails without any bug:\n${output.slice(-2000)}`];
    });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const words = process.argv.slice(2);
const mutants = readdirSync(folder)
  .filter((file) => file.endsWith('.patch'))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort()
  .map(readMutant);

let failed = 0;
for (const complaint of failingAnyway(mutants)) {
  console.log(`failed  ${complaint}`);
  failed++;
}
for (const mutant of failed > 0 ? [] : mutants) {
  const trouble = troubleWith(mutant);
  console.log(`${trouble ? 'failed' : 'caught'}  ${mutant.name}: ${trouble ?? mutant.sentence}`);
  if (trouble) failed++;
}
console.log(`${mutants.length - Math.min(failed, mutants.length)} of ${mutants.length} mutants caught`);
process.exitCode = failed > 0 || mutants.length === 0 ? 1 : 0;
