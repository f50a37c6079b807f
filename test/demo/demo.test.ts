// The demo as a newcomer runs it: to its end, and stopped in the middle and started again.

import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cannotRun } from '../support/native.ts';
import { type Finished, Program } from '../support/programs.ts';

const PHOTOS = 45;
// Number 42 is cut off and fails for good.
const IMPORTED = PHOTOS - 1;

interface Entry {
  event: string;
  photo?: string;
  left?: number;
  imported?: number;
  failed?: number;
}

// Real work on a machine that others use too.
vi.setConfig({ testTimeout: 180_000 });

let dataDir: string;
const programs: Program[] = [];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'yoke-demo-'));
});

afterEach(async () => {
  for (const program of programs.splice(0)) {
    program.signal('SIGKILL');
    await program.finished;
  }
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
});

function startDemo(kind: 'native' | 'wasm', ...args: string[]): Program {
  const program = new Program(['scripts/demo.mjs', '--photos', String(PHOTOS), ...args], {
    YOKE_DATA_DIR: dataDir,
    YOKE_SERVER: kind,
  });
  programs.push(program);
  return program;
}

function entriesOf({ stdout }: Pick<Finished, 'stdout'>): Entry[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

const photosOf = (entries: Entry[], event: string) =>
  entries.filter((entry) => entry.event === event).map(({ photo }) => photo as string);

for (const kind of ['native', 'wasm'] as const) {
  describe.skipIf(cannotRun(kind))(`the demo on a ${kind} server`, () => {
    it('stopped with Ctrl-C and started again, imports every photo once', async () => {
      const first = startDemo(kind, '--json');
      await first.until(
        (stdout) =>
          photosOf(entriesOf({ stdout: stdout.slice(0, stdout.lastIndexOf('\n') + 1) }), 'imported').length >=
          10,
      );
      first.signal('SIGINT');
      const stopped = await first.finished;
      expect(stopped).toMatchObject({ code: 0, signal: null });
      const before = entriesOf(stopped);
      const { left } = before.at(-1) as Entry;
      expect(before.at(-1)).toMatchObject({ event: 'stopped' });
      expect(left).toBeGreaterThan(0);

      const finished = await startDemo(kind, '--json').finished;
      expect(finished).toMatchObject({ code: 0, signal: null });
      const after = entriesOf(finished);
      expect(after[0]).toMatchObject({ event: 'continued', left });
      expect(after.at(-1)).toMatchObject({ event: 'done', imported: IMPORTED, failed: 1 });

      const imported = [...photosOf(before, 'imported'), ...photosOf(after, 'imported')];
      expect(imported).toHaveLength(IMPORTED);
      expect(new Set(imported).size).toBe(IMPORTED);
      // A picture and its thumbnail each; of what was on the card only the broken photo is left.
      expect(readdirSync(join(dataDir, 'demo/library'))).toHaveLength(2 * IMPORTED);
      expect(readdirSync(join(dataDir, 'demo/card'))).toEqual(['photo-042.bmp']);
      expect(existsSync(join(dataDir, 'server.lock'))).toBe(false);
    });

    it('says in plain words what it did, where its data is and what to try next', async () => {
      const { code, stdout, stderr } = await startDemo(kind).finished;
      expect(code).toBe(0);
      expect(stderr).toMatch(/^yoke: started .* data in .*\n$/);
      expect(stdout).not.toContain('\x1b');
      expect(stdout).toMatch(/again {3}photo-009: the card did not answer/);
      expect(stdout).toMatch(/failed {2}photo-042: the file is cut off/);
      expect(stdout).toContain(`${IMPORTED} photos imported, 1 failed for good`);
      expect(stdout).toContain(`the queue is in   ${dataDir}`);
      expect(stdout).toContain('What to try next');
    });
  });
}
