// Every example runs as it stands and prints what its reader expects.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Program, projectRoot } from '../support/programs.ts';

vi.setConfig({ testTimeout: 120_000 });

/** Lines in the order in which they come; those of an inner list come by different connections, in either order. */
const printed: Record<string, (string | string[])[]> = {
  'bulk.mjs': [
    'before: { prioritized: 1000, delayed: 1, completed: 0 }',
    'ran 1000 rows, the first 100 of priority 1',
    'completed: 100 }',
  ],
  'custom-backoff.mjs': [
    'busy: too many requests, again in 40 ms',
    'busy: answered at attempt 2',
    'gone: gone, given up',
  ],
  'events.mjs': [
    'added 1',
    'progress 1 50',
    'progress 1 { frames: 240 }',
    'completed 1 holiday.mp4',
    'waited for: holiday.mp4',
  ],
  'first-job.mjs': ['added job 1', 'job 1 says: Hello, Ada!'],
  'group.mjs': [
    'order 1: mail sent',
    'order 1 ended as COMPLETED: completed, completed, completed',
    ['order 2 is undone: no lamp left', 'refunded 30 of tx-2'],
    'order 2 ended as FAILED: completed, failed, cancelled',
    'COMPLETED: 1',
    'FAILED: 1',
  ],
  'lanes.mjs': [
    'waiting: 12 in 3 lanes',
    'ada: 1 2 3 4',
    'ben: 1 2 3 4',
    'cleo: 1 2 3 4',
    'lanes at work together: true lanes left: 0',
  ],
  'retries.mjs': [
    'welcome: attempt 1 of 3: mail server busy, next attempt in 50 ms',
    'welcome: attempt 2 of 3: mail server busy, next attempt in 100 ms',
    'welcome: sent at attempt 3',
    'invoice: attempt 1 of 3: no such address, failed for good',
    'invoice: sent at attempt 2',
  ],
  'testing.mjs': [
    'every order is shipped',
    'a job whose worker died runs again elsewhere',
    'pass 2',
    'fail 0',
  ],
};

let dataDir: string;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'yoke-examples-'));
  const { buildDist } = await import(new URL('../../scripts/build-dist.mjs', import.meta.url).href);
  expect(buildDist({ ifStale: true })).toBe('');
}, 120_000);

afterAll(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 }));

it('all examples are known here', () => {
  const found = readdirSync(join(projectRoot, 'examples')).filter((file) => file.endsWith('.mjs'));
  expect(found.sort()).toEqual(Object.keys(printed));
});

for (const [file, lines] of Object.entries(printed)) {
  it(`${file} ends by itself and prints what it promises, in order`, async () => {
    const { code, stdout, stderr } = await new Program([join('examples', file)], { YOKE_DATA_DIR: dataDir })
      .finished;
    expect({ code, stderr: stderr.replace(/^yoke: .*\n/, '') }).toEqual({ code: 0, stderr: '' });
    let from = 0;
    for (const step of lines) {
      const ends = [step].flat().map((line) => {
        const at = stdout.indexOf(line, from);
        expect(at, `${line}\nin:\n${stdout}`).toBeGreaterThanOrEqual(from);
        return at + line.length;
      });
      from = Math.max(...ends);
    }
  });
}
