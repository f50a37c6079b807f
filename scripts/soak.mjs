// npm run test:soak: the long runs of test/soak, with their numbers written to docs/soak.md. YOKE_SOAK_SECONDS sets
// how long the mixed faults go on (60), YOKE_SOAK_GROUPS how many random groups there are (2000), YOKE_SOAK_KILLS how
// many workers are killed on their finish (200); YOKE_TEST_SEED repeats a schedule.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'yoke-soak-'));
const numbers = join(dir, 'report.jsonl');

function run(command, args, env = {}) {
  console.log(`> ${[command, ...args].join(' ')}`);
  return (
    spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } }).status ?? 1
  );
}

function versionOf(name) {
  return JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version;
}

function serverVersion() {
  const { stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  return /v=(\S+)/.exec(stdout ?? '')?.[1] ?? 'not found';
}

function page(sections, isPassed) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const lines = [
    '# The last soak run',
    '',
    'Written by `npm run test:soak`; not edited by hand.',
    '',
    `- Date: ${new Date().toISOString().slice(0, 10)}`,
    `- Outcome: ${isPassed ? 'passed' : '**failed**'}`,
    `- yokemq ${version}, ioredis ${versionOf('ioredis')}, redis-server ${serverVersion()}, Node ${process.version}`,
    `- ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, ${process.platform}`,
    '',
  ];
  for (const { title, row } of sections) {
    lines.push(`## ${title}`, '', '| what | value |', '|---|---|');
    for (const [name, value] of Object.entries(row)) lines.push(`| ${name} | ${value} |`);
    lines.push('');
  }
  lines.push(
    '## What was checked',
    '',
    'The sentences at the top of `test/support/checker.ts`, over the histories that the processes wrote and over the',
    'whole keyspace of the queue; for groups those of `test/groups/checker.ts`, over what the public API says and what',
    'the handlers wrote. After each kill on a finish, before anybody else is at work, every open group and its jobs have',
    'to agree. A seed fixes the order of faults and not what the operating system does between them.',
    '',
    '## What was not tested',
    '',
    '- Power loss, torn append-only files and full disks; the server was killed, its machine was not.',
    '- Failover by Sentinel, Redis Cluster, resharding, split brain.',
    '- TLS links, more than one machine, clocks that jump while a process runs.',
    '- Memory growth over hours.',
    '',
  );
  return lines.join('\n');
}

// The child processes of the tests run a bundle that the tests make of the sources, as a package would have it.
const status = run('npx', ['vitest', 'run', '--config', 'vitest.soak.config.ts', ...process.argv.slice(2)], {
  YOKE_SOAK_REPORT: numbers,
});
const sections = existsSync(numbers)
  ? readFileSync(numbers, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  : [];
if (sections.length > 0) {
  writeFileSync(join(root, 'docs/soak.md'), page(sections, status === 0));
  console.log(`docs/soak.md: ${sections.length} sections, ${status === 0 ? 'passed' : 'failed'}`);
}
rmSync(dir, { recursive: true, force: true });
process.exit(status);
