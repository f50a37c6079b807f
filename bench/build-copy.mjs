// A run takes an hour; a rebuild in the meantime must not change what is measured. So the build is copied first,
// to a place from which its dependencies are found.

import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

export function copyBuild() {
  const cache = join(root, 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  const dir = mkdtempSync(join(cache, 'yoke-bench-'));
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  cpSync(join(root, 'dist'), dir, { recursive: true });
  return {
    dir,
    index: pathToFileURL(join(dir, 'index.js')).href,
    testing: pathToFileURL(join(dir, 'testing.js')).href,
  };
}
