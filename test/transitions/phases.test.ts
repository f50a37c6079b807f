// Check, write, settle: a script does not roll back, so everything that can refuse comes before the first write.
//  - a refusal has written nothing;
//  - nothing is written while checking;
//  - after an item's first write it never checks again, and its answer is a success.

import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allCalls } from '../../src/store/generated/engine.ts';
import { states } from '../support/given.ts';
import { startLegServer, type TestServer } from '../support/leg.ts';
import { edges } from './edges.ts';
import { groupRequests } from './group-requests.ts';
import { queueRequests } from './requests.ts';
import { commandsOf, type Run, runShim } from './shim.ts';
import { keyspaceOf, seed, startOf } from './tables.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startLegServer();
});
afterAll(() => server?.stop());

// `ghost` takes an id out that stands for nothing, `ended` one that has ended; `turned_back` moves a job into its lane; `duplicate` uses up a
// number and says so; `withheld` puts a member where its outcome says, `failed` and `cancelled` end one instead of
// letting it wait again.
const SUCCESSES = [
  'ok',
  'added',
  'numbered',
  'duplicate',
  'claimed',
  'ghost',
  'ended',
  'turned_back',
  'withheld',
  'failed',
  'cancelled',
];

/** What breaks the rules, in words; nothing if all is well. */
function violations(run: Run): string[] {
  const found: string[] = [];
  const written = new Set<number>();
  for (const { item, phase, command, isEffective } of run.steps) {
    const where = item === 0 ? 'the call' : `${run.items[item - 1]!.name} (item ${item})`;
    if (command === 'phase' && phase === 'check' && written.has(item))
      found.push(`${where} checks after a write`);
    if (isEffective && phase === 'check') found.push(`${where} writes while checking: ${command}`);
    if (isEffective && item > 0 && phase === 'none')
      found.push(`${where} writes before any phase: ${command}`);
    if (isEffective) written.add(item);
  }
  for (const [index, { name, word }] of run.items.entries()) {
    if (written.has(index + 1) && !SUCCESSES.includes(word))
      found.push(`${name} answers ${word} after a write`);
  }
  return found;
}

describe('check, write, settle', () => {
  for (const edge of edges) {
    it(`${edge.transition}, ${edge.title}: from every state`, async () => {
      for (const state of states) {
        await seed(server.admin, startOf(edge, state));
        const run = await runShim(server.admin, edge);
        expect(run.error, `${state}: ${run.error}`).toBeUndefined();
        expect(violations(run), state).toEqual([]);
        expect(edge.word(run.reply![2]), state).toBe(edge.replies[state]);
        const mine = run.items.filter(({ name }) => name === edge.transition);
        if (edge.successes.includes(edge.replies[state]) && edge.transition !== 'reclaim') {
          expect(
            mine.map(({ word }) => word),
            state,
          ).toContain(edge.replies[state]);
        }
      }
    });
  }

  for (const request of queueRequests) {
    it(`the call ${request.title}`, async () => {
      await seed(server.admin, request.given);
      const before = await keyspaceOf(server.admin);
      const run = await runShim(server.admin, request);
      expect(run.error).toBeUndefined();
      expect(violations(run)).toEqual([]);
      if (request.refusals.length > 0) {
        expect(request.refusals).toContain(run.reply![2][0]);
        expect(await keyspaceOf(server.admin)).toEqual(before);
      } else {
        expect(commandsOf(run).some((step) => step.isEffective)).toBe(true);
      }
    });
  }

  for (const request of groupRequests) {
    it(`with a group: ${request.title}`, async () => {
      await seed(server.admin, request.given);
      const before = await keyspaceOf(server.admin);
      const run = await runShim(server.admin, request);
      expect(run.error).toBeUndefined();
      expect(violations(run)).toEqual([]);
      expect(request.word(run.reply![2])).toBe(request.answer);
      if (request.refusals.length > 0) expect(await keyspaceOf(server.admin)).toEqual(before);
      else expect(commandsOf(run).some((step) => step.isEffective)).toBe(true);
    });
  }

  it('a rule that is broken is seen', () => {
    const step = (phase: 'check' | 'write', command: string, isEffective: boolean) => ({
      item: 1,
      phase,
      command,
      isEffective,
    });
    const run = (word: string, ...steps: ReturnType<typeof step>[]): Run => ({
      reply: ['ok', '', []],
      error: undefined,
      steps,
      items: [{ name: 'bad', word }],
    });
    expect(violations(run('ok', step('check', 'DEL', true)))).toHaveLength(1);
    expect(violations(run('not_found', step('write', 'SET', true)))).toHaveLength(1);
    expect(violations(run('ok', step('write', 'SET', true), step('check', 'phase', false)))).toHaveLength(1);
    expect(violations(run('not_in_state', step('write', 'LREM', false)))).toEqual([]);
  });

  it('no transition and no call that writes is left out', () => {
    const files = readdirSync(new URL('../../lua/transitions', import.meta.url)).map((file) =>
      file.replace('.lua', ''),
    );
    expect(files.filter((name) => !edges.some((edge) => edge.transition === name))).toEqual([]);
    const tried = new Set([...edges, ...queueRequests, ...groupRequests].map(({ call }) => call.name));
    expect(allCalls.filter((call) => !call.isQuery && !tried.has(call.name)).map(({ name }) => name)).toEqual(
      [],
    );
  });

  it('every transition and every call has a table of its own', () => {
    const tables = readdirSync(new URL('.', import.meta.url));
    // Batches are in the tables of their items.
    const inTables: Record<string, string> = {
      add_groups: 'add_group',
      add_many: 'add',
      exchange: 'claim',
      extend_many: 'extend',
      maintain: 'reclaim',
    };
    const names = ['transitions', 'calls'].flatMap((room) =>
      readdirSync(new URL(`../../lua/${room}`, import.meta.url)),
    );
    const missing = names
      .map((file) => file.replace('.lua', ''))
      .filter((name) => !tables.includes(`${inTables[name] ?? name}.test.ts`));
    expect(missing).toEqual([]);
  });
});
