// Whoever follows the README types `npm ci`. npm asks about every package that wants to run a script then, unless
// package.json says yes or no for it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { projectRoot } from './house.ts';

const read = (file: string) => JSON.parse(readFileSync(join(projectRoot, file), 'utf8'));

it('package.json decides about every package that has an install script', () => {
  const packages = read('package-lock.json').packages as Record<string, { hasInstallScript?: true }>;
  const wanting = Object.keys(packages)
    .filter((path) => packages[path]?.hasInstallScript)
    .map((path) => path.replace(/^.*node_modules\//, ''));
  expect(wanting).toContain('msgpackr-extract');
  expect(Object.keys(read('package.json').allowScripts ?? {})).toEqual([...new Set(wanting)].sort());
});
