// The package as a user's project sees it: only what is packed, only its own dependencies, a strict compiler that
// checks our declarations too.

import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

// Two compilers run here; on a busy machine each takes its time.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const root = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
let project: string;

function run(args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'yoke-user-'));
  const modules = join(project, 'node_modules');
  const installed = join(modules, 'yokemq');
  mkdirSync(installed, { recursive: true });
  mkdirSync(join(modules, '@types'));
  // The user has our dependencies and none of our tools.
  for (const name of [...Object.keys(manifest.dependencies), '@types/node', 'undici-types']) {
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  copyFileSync(join(root, 'package.json'), join(installed, 'package.json'));
  const tsdown = join(createRequire(import.meta.url).resolve('tsdown/package.json'), '../dist/run.mjs');
  const built = spawnSync(
    process.execPath,
    [tsdown, '--logLevel', 'error', '--out-dir', join(installed, 'dist')],
    { cwd: root, encoding: 'utf8' },
  );
  expect(built.status, built.stdout + built.stderr).toBe(0);
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

it('is imported and required', () => {
  const uses = 'if (typeof Queue !== "function" || typeof startServer !== "function") process.exit(1);';
  writeFileSync(
    join(project, 'esm.mjs'),
    `import { Queue } from 'yokemq';\nimport { startServer } from 'yokemq/testing';\n${uses}\n`,
  );
  writeFileSync(
    join(project, 'cjs.cjs'),
    `const { Queue } = require('yokemq');\nconst { startServer } = require('yokemq/testing');\n${uses}\n`,
  );
  expect(run(['esm.mjs'])).toMatchObject({ status: 0 });
  expect(run(['--no-warnings', 'cjs.cjs'])).toEqual({ status: 0, output: '' });
});

it('has declarations that compile without our tools, from both kinds of modules', () => {
  const program = `
    import { Queue, Worker, QueueEvents, type StandardSchemaV1, type JobsOptions } from 'yokemq';
    import { startServer, whenIdle } from 'yokemq/testing';
    declare const schema: StandardSchemaV1<unknown, { to: string }>;
    export async function main(opts: JobsOptions): Promise<string> {
      const queue = new Queue<{ to: string }, number, 'mail'>('q', { schema });
      const worker = new Worker<{ to: string }, number>('q', async (job) => job.data.to.length);
      worker.on('completed', (_job, result) => result.toFixed());
      const job = await queue.add('mail', { to: 'a' }, opts);
      await whenIdle(queue);
      const result: number = await job.waitUntilFinished(new QueueEvents('q'));
      return String(result) + typeof startServer;
    }`;
  writeFileSync(join(project, 'user.mts'), program);
  writeFileSync(join(project, 'user.cts'), program);
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const options = [
    '--strict',
    '--noEmit',
    '--skipLibCheck',
    'false',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--types',
    'node',
  ];
  expect(run([tsc, ...options, 'user.mts', 'user.cts'])).toEqual({ status: 0, output: '' });
});

it('names no dependency that it does not have', () => {
  const { dependencies, optionalDependencies } = manifest;
  const known = new Set(Object.keys({ ...dependencies, ...optionalDependencies }));
  const text = readFileSync(join(project, 'node_modules/yokemq/dist/index.js'), 'utf8');
  const named = [...text.matchAll(/^import .* from "([^"]+)";$/gm)].map(([, name]) => name!);
  expect(
    named.filter((name) => !name.startsWith('node:') && !name.startsWith('.') && !known.has(name)),
  ).toEqual([]);
  expect(named).toContain('ioredis');
});
