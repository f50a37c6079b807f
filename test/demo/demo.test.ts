// The demo as a newcomer runs it: to its end, stopped in the middle and started again, and killed outright.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cannotRun } from '../support/native.ts';
import { type Finished, Program } from '../support/programs.ts';

const ORDERS = 14;
// Of the first fourteen: the card of 4 and 12 is declined, the mailbox of 7 does not exist.
const DOOMED = [4, 7, 12];

interface Entry {
  event: string;
  order?: number;
  state?: string;
  left?: number;
  completed?: number;
  undone?: number;
  halfDone?: number[];
  books?: Record<'charges' | 'refunds' | 'shelf' | 'mails' | 'apologies', number>;
  steps?: { ms: number; what: string }[];
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
  const program = new Program(['scripts/demo.mjs', ...args], { YOKE_DATA_DIR: dataDir, YOKE_SERVER: kind });
  programs.push(program);
  return program;
}

const startOrders = (kind: 'native' | 'wasm', ...args: string[]) =>
  startDemo(kind, '--orders', String(ORDERS), ...args);

function entriesOf({ stdout }: Pick<Finished, 'stdout'>): Entry[] {
  // What is being written may end in the middle of a line.
  return stdout
    .slice(0, stdout.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** Orders whose end was told, as often as it was told. */
const endedIn = (entries: Entry[]) =>
  entries
    .filter(({ event, state }) => event === 'group' && (state === 'COMPLETED' || state === 'FAILED'))
    .map(({ order }) => order as number);

const untilEnded = (program: Program, count: number) =>
  program.until((stdout) => endedIn(entriesOf({ stdout })).length >= count);

/** The queues say that every order has ended, and the shop's own books agree with them. */
function expectAllEnded(entries: Entry[]) {
  const done = entries.at(-1) as Required<Entry>;
  expect(done).toMatchObject({ event: 'done', halfDone: [] });
  expect(done.completed + done.undone).toBe(ORDERS);
  expect(done.undone).toBeGreaterThanOrEqual(DOOMED.length);
  expect(done.books.charges - done.books.refunds).toBe(done.completed);
  expect(done.books.shelf).toBe(done.completed);
  expect(done.books.mails - done.books.apologies).toBe(done.completed);
}

for (const kind of ['native', 'wasm'] as const) {
  describe.skipIf(cannotRun(kind))(`the demo on a ${kind} server`, () => {
    it('stopped with Ctrl-C and started again, ends every order once and leaves none half done', async () => {
      const first = startOrders(kind, '--json');
      await untilEnded(first, 4);
      first.signal('SIGINT');
      const stopped = await first.finished;
      expect(stopped).toMatchObject({ code: 0, signal: null });
      const before = entriesOf(stopped);
      const { left } = before.at(-1) as Entry;
      expect(before.at(-1)).toMatchObject({ event: 'stopped' });
      expect(left).toBeGreaterThan(0);

      const finished = await startOrders(kind, '--json').finished;
      expect(finished).toMatchObject({ code: 0, signal: null });
      const after = entriesOf(finished);
      expect(after[0]).toMatchObject({ event: 'continued', left });
      expectAllEnded(after);

      const ended = [...endedIn(before), ...endedIn(after)].sort((a, b) => a - b);
      expect(ended).toEqual(Array.from({ length: ORDERS }, (_, i) => i + 1));
      expect(existsSync(join(dataDir, 'server.lock'))).toBe(false);
    });

    it('says in plain words what it did, where its data is and what to try next', async () => {
      const { code, stdout, stderr } = await startOrders(kind).finished;
      expect(code).toBe(0);
      expect(stderr).toMatch(/^yoke: started .* data in .*\n$/);
      expect(stdout).not.toContain('\x1b');
      expect(stdout).toMatch(/^ +1 +✓ charged +✓ reserved +✓ mailed +completed$/m);
      expect(stdout).toMatch(/^ +4 +✗ failed .*being undone: the card was declined$/m);
      expect(stdout).toMatch(/order 3: mail is tried again: the mail server is busy/);
      expect(stdout).toMatch(/^ +7 +! refund failed .*needs a person: there is no such mailbox$/m);
      expect(stdout).toMatch(/^ +7 +↩ refunded .*undone: there is no such mailbox$/m);
      expect(stdout).toContain('How order 7 went');
      expect(stdout).toMatch(/ms {2}the group is FAILED_COMPENSATION\n[\s\S]* ms {2}refund completes\n/);
      expect(stdout).toMatch(/half done +no order/);
      expect(stdout).toContain(`the queues are in ${dataDir}`);
      expect(stdout).toContain('What to try next');
    });
  });
}

describe.skipIf(cannotRun('native'))('the demo on a native server', () => {
  it('killed outright and started again, leaves no order half done', async () => {
    const first = startOrders('native', '--json');
    await untilEnded(first, 3);
    first.signal('SIGKILL');
    await first.finished;

    const finished = await startOrders('native', '--json').finished;
    expect(finished).toMatchObject({ code: 0, signal: null });
    const after = entriesOf(finished);
    expect(after[0]).toMatchObject({ event: 'continued' });
    expectAllEnded(after);
  });
});

it('refuses what it does not know, before it starts anything', async () => {
  for (const [args, complaint] of [
    [['--orders', '0'], /--orders: expected a whole number from 1 to 500, got 0/],
    [['--photos', '3'], /--photos/],
    [['opera'], /expected one of orders.*, got opera/],
  ] as const) {
    const { code, stdout, stderr } = await startDemo('native', ...args).finished;
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(complaint);
  }
  expect(existsSync(join(dataDir, 'server.lock'))).toBe(false);
});

describe.skipIf(cannotRun('native'))('npm run demo -- lanes', () => {
  it('every account goes on in order, though a worker is killed', async () => {
    const { code, stdout } = await startDemo('native', 'lanes', '--steps', '8', '--json').finished;
    expect(code).toBe(0);
    const entries = entriesOf({ stdout }) as (Entry & Record<string, unknown>)[];
    expect(entries.map(({ event }) => event)).toContain('killed');
    expect(entries.at(-1)).toMatchObject({
      event: 'done',
      completed: 64,
      outOfOrder: 0,
      overlaps: 0,
      kills: 1,
      lanesLeft: 0,
    });
  });
});
