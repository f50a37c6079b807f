// What the guide tells people to write runs: the `js` blocks of a page, one after another, as one program. Those of the
// README are programs of their own.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { Program, projectRoot } from '../support/programs.ts';

vi.setConfig({ testTimeout: 120_000 });

function blocksOf(page: string): string[] {
  const text = readFileSync(join(projectRoot, page), 'utf8');
  return [...text.matchAll(/^```js\n([\s\S]*?)^```/gm)].map((match) => match[1] as string);
}

const pages = readdirSync(join(projectRoot, 'docs/guide')).map((file) => `docs/guide/${file}`);

// A program that leaves its objects open ends here, when its jobs are done.
const readmeEndings = [
  'for (const part of [...workers, producer, events]) await part.close();',
  'while ((await queue.getCompletedCount()) < 1) await new Promise((resolve) => setTimeout(resolve, 10)); await worker.close(); await queue.close();',
];

const programs: Record<string, string> = Object.fromEntries([
  ...blocksOf('README.md').map((block, i) => [`README.md ${i + 1}`, `${block}\n${readmeEndings[i]}`]),
  ...pages.map((page) => [page, blocksOf(page).join('\n')]).filter(([, program]) => program !== ''),
]);

const printed: Record<string, RegExp[]> = {
  'README.md 1': [/^FAILED no lamp left$/m],
  'README.md 2': [/1 \{ sent: 'ada@example.org' \}/],
  'docs/guide/connect.md': [],
  'docs/guide/enqueue.md': [/^1$/m, /SCHEMA_REJECTED/],
  'docs/guide/groups.md': [
    /^COMPLETED\nFAILED no lamp left false\n1 completed$/m,
    /COMPENSATING: 0/,
    /^FAILED_COMPENSATION\n1\nFAILED$/m,
    /groups: 0, findings: \[\]/,
  ],
  'docs/guide/lanes.md': [
    /lane: 'user:42'/,
    /user:42 deposit\nuser:42 correct\nuser:42 withdraw/,
    /\{ checked: 0, findings: \[\] \}/,
  ],
  'docs/guide/migrating-from-groupmq.md': [/^Processing: user:42 \{ amount: 999 \}\ntrue$/m],
  'docs/guide/operate.md': [
    /true/,
    /waiting: 3/,
    /ship waiting \{ logs: \[\], count: 0 \}/,
    /isHealthy: true/,
  ],
  'docs/guide/process.md': [/^called 112$/m, /encode took \d+ ms \{ minutes: 90 \}/, /\{ minutes: 90 \}/],
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

it('all programs are known here', () => {
  expect(Object.keys(programs).sort()).toEqual(Object.keys(printed).sort());
});

for (const [name, program] of Object.entries(programs)) {
  it(`the program of ${name} runs to its end`, async () => {
    // Evaluated in the project's folder, so that 'yokemq' is this package, as it is for a user.
    const { code, stdout, stderr } = await new Program(['--input-type=module', '-e', program], {
      YOKE_DATA_DIR: dataDir,
    }).finished;
    expect({ code, stderr: stderr.replace(/^yoke: .*\n/gm, '') }).toEqual({ code: 0, stderr: '' });
    for (const line of printed[name] ?? []) expect(stdout).toMatch(line);
  });
}
