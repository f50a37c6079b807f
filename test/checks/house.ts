// A small house to break: a temporary folder with a few files, or a copy of the real lua/ and docs/.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';

export const projectRoot = fileURLToPath(new URL('../..', import.meta.url));

export type Check = (root: string) => string[];

export async function loadCheck(name: string): Promise<Check> {
  const module = await import(new URL(`../../scripts/checks/${name}.mjs`, import.meta.url).href);
  return module.check as Check;
}

const made: string[] = [];

afterEach(() => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
});

/** A folder with these files. */
export function houseWith(files: Record<string, string>): string {
  const dir = mkdtempSync(join(tmpdir(), 'yoke-house-'));
  made.push(dir);
  for (const [path, text] of Object.entries(files)) write(dir, path, text);
  return dir;
}

/** A folder with a copy of these paths of the project, to change one thing in. */
export function copyOf(...paths: string[]): string {
  const dir = houseWith({});
  for (const path of paths) cpSync(join(projectRoot, path), join(dir, path), { recursive: true });
  return dir;
}

export function write(dir: string, path: string, text: string): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
}

/** Replaces the first match; throws if there is none, so that a test cannot pass by changing nothing. */
export function change(dir: string, path: string, from: string | RegExp, to: string): void {
  const before = readFileSync(join(dir, path), 'utf8');
  const after = before.replace(from, to);
  if (after === before) throw new Error(`${path} has no ${from}`);
  writeFileSync(join(dir, path), after);
}
