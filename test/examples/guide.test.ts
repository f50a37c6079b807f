// What the guide tells people to write runs: the `js` blocks of a page, one after another, as one program.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { Program, projectRoot } from '../support/programs.ts';

vi.setConfig({ testTimeout: 120_000 });

function programOf(page: string): string {
  const text = readFileSync(join(projectRoot, page), 'utf8');
  return [...text.matchAll(/^```js\n([\s\S]*?)^```/gm)].map((match) => match[1]).join('\n');
}

const pages = [
  'README.md',
  ...readdirSync(join(projectRoot, 'docs/guide')).map((file) => `docs/guide/${file}`),
].filter((page) => programOf(page) !== '');

// A page that leaves its objects open ends here, when its jobs are done.
const endings: Record<string, string> = {
  'README.md':
    'while ((await queue.getCompletedCount()) < 1) await new Promise((resolve) => setTimeout(resolve, 10)); await worker.close(); await queue.close();',
};

const printed: Record<string, RegExp[]> = {
  'README.md': [/1 \{ sent: true \}/],
  'docs/guide/connect.md': [],
  'docs/guide/enqueue.md': [/^1$/m, /SCHEMA_REJECTED/],
  'docs/guide/operate.md': [
    /true/,
    /waiting: 3/,
    /ship waiting \{ logs: \[\], count: 0 \}/,
    /isHealthy: true/,
  ],
  'docs/guide/process.md': [/encode took \d+ ms \{ minutes: 90 \}/, /\{ minutes: 90 \}/],
  'docs/guide/retry.md': [/attempts: 3/, /no such number 1 1/],
  'docs/guide/test.md': [],
};

let dataDir: string;

beforeAll(async () => {
  const { buildDist } = await import(new URL('../../scripts/build-dist.mjs', import.meta.url).href);
  expect(buildDist({ ifStale: true })).toBe('');
}, 120_000);

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'yoke-guide-'));
});

afterEach(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 }));

it('all pages with programs are known here', () => {
  expect([...pages].sort()).toEqual(Object.keys(printed).sort());
});

for (const page of pages) {
  it(`the program of ${page} runs to its end`, async () => {
    // Evaluated in the project's folder, so that 'yokemq' is this package, as it is for a user.
    const code = `${programOf(page)}\n${endings[page] ?? ''}`;
    const {
      code: exitCode,
      stdout,
      stderr,
    } = await new Program(['--input-type=module', '-e', code], { YOKE_DATA_DIR: dataDir }).finished;
    expect({ exitCode, stderr: stderr.replace(/^yoke: .*\n/gm, '') }).toEqual({ exitCode: 0, stderr: '' });
    for (const line of printed[page] ?? []) expect(stdout).toMatch(line);
  });
}
