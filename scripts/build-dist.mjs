// Builds dist/ without a word, unless something is wrong. `ifStale` skips it where nothing in src is newer.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

function newest(folder) {
  const files = readdirSync(join(root, folder), { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Math.max(0, ...files.map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs));
}

function isFresh() {
  const built = join(root, 'dist/index.js');
  if (!existsSync(built) || !existsSync(join(root, 'dist/testing.js'))) return false;
  const config = statSync(join(root, 'tsdown.config.ts')).mtimeMs;
  return statSync(built).mtimeMs > Math.max(newest('src'), config);
}

/** Empty if all went well, otherwise what the compiler said. */
export function buildDist({ ifStale = false } = {}) {
  if (ifStale && isFresh()) return '';
  const tsdown = join(createRequire(import.meta.url).resolve('tsdown/package.json'), '../dist/run.mjs');
  const run = spawnSync(process.execPath, [tsdown, '--logLevel', 'error'], { cwd: root, encoding: 'utf8' });
  return run.status === 0
    ? ''
    : run.stdout + run.stderr || String(run.error ?? 'tsdown failed without a word');
}
