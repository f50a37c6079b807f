// The package as users get it: packs it, then asks publint and attw about exports, types and files. Expects dist/.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'yoke-pack-'));

function run(name, command, args) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
  console.log(`${status === 0 ? 'ok    ' : 'failed'}  ${name}`);
  if (status !== 0) process.stdout.write(stdout + stderr);
  return status === 0;
}

try {
  let isFine = run('npm pack', 'npm', ['pack', '--silent', '--pack-destination', dir]);
  const [tarball] = readdirSync(dir);
  if (isFine) {
    const file = join(dir, tarball);
    const bin = (path) => join(root, 'node_modules', path);
    isFine = run('publint', process.execPath, [bin('publint/src/cli.js'), 'run', file, '--strict']) && isFine;
    // ES modules only: `require` of one works from Node 20.19 on, which attw does not know.
    const attw = [bin('@arethetypeswrong/cli/dist/index.js'), file, '--profile', 'esm-only'];
    isFine = run('attw', process.execPath, attw) && isFine;
  }
  process.exitCode = isFine ? 0 : 1;
} finally {
  rmSync(dir, { recursive: true, force: true });
}
