// Rules of the Lua tree that can be read off its text.

import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allCalls, keySuffix } from '../../src/store/generated/engine.ts';
import { librarySource, scriptSource } from '../../src/store/lua-source.ts';
import { leg, startLegServer, type TestServer } from '../support/leg.ts';
import { knownCommands } from './shim.ts';

interface LuaFile {
  readonly path: string;
  /** Without comments; line numbers are kept. */
  readonly code: string;
}

const root = new URL('../../lua/', import.meta.url);
const files: LuaFile[] = readdirSync(root).flatMap((room) =>
  readdirSync(new URL(`${room}/`, root)).map((name) => ({
    path: `${room}/${name}`,
    code: readFileSync(new URL(`${room}/${name}`, root), 'utf8').replace(/--.*$/gm, ''),
  })),
);

/** `path:line text` of every line that matches. */
function linesWith(pattern: RegExp, of: readonly LuaFile[] = files): string[] {
  return of.flatMap(({ path, code }) =>
    code.split('\n').flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1} ${line.trim()}`] : [])),
  );
}

describe('the Lua tree', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startLegServer();
  });
  afterAll(() => server?.stop());

  it('compiles, as one library and call by call', async () => {
    for (const call of allCalls) await server.admin.call('SCRIPT', 'LOAD', scriptSource(call));
    if (leg === 'functions') await server.admin.call('FUNCTION', 'LOAD', librarySource);
  });

  it('speaks to the server through `call` alone', () => {
    expect(linesWith(/\bredis\s*[.[]/)).toEqual([]);
    expect(linesWith(/\b(loadstring|dofile|setfenv|print)\s*\(/)).toEqual([]);
  });

  it('uses no command that blocks, lists all keys or changes the server, and none newer than Redis 6.2', () => {
    const used = new Set<string>();
    for (const { code } of files) {
      for (const [, command] of code.matchAll(/\b(?:call|read)\(\s*"([A-Z]+)"/g)) used.add(command!);
      for (const [, command] of code.matchAll(/(?:and|or) "([A-Z]{3,})"/g)) used.add(command!);
    }
    expect(used.size).toBeGreaterThan(25);
    // The list of the shim is the list of what we mean to use; every command in it was there in 6.2.
    expect([...used].filter((command) => !knownCommands.has(command))).toEqual([]);
    const newerOrForbidden =
      /^(KEYS|SCAN|FLUSH\w*|CONFIG|SCRIPT|FUNCTION|EVAL\w*|WAIT|B[LRZ]\w+|LMPOP|ZMPOP|SINTERCARD|EXPIRETIME|PEXPIRETIME|SORT_RO)$/;
    expect([...knownCommands].filter((command) => newerOrForbidden.test(command))).toEqual([]);
  });

  it('names every command where it is called, so that it can be read off', () => {
    const computed = linesWith(/\bcall\(\s*[^")\s]/).filter(
      (line) => !/call\(\w+ and "[A-Z]+" or "[A-Z]+",/.test(line),
    );
    // Reading a record is the one place that passes a command on.
    expect(computed).toEqual([]);
  });

  it('unpacks only what is bounded', () => {
    // Lua refuses to unpack some 8,000 values. Each place and the reason why it never comes near.
    const bounded: Record<string, string> = {
      'calls/maintain.lua unpack(active, first': 'in steps of 7,000',
      'calls/resume.lua unpack(call("LRANGE", q.paused, 0, BATCH - 1))': 'at most 7,000',
      'calls/publish.lua unpack(fields)':
        "a user's own event; refused by the server, before anything is written",
      'calls/obliterate.lua unpack(shapes.places)': 'a fixed list',
      'calls/remove_groups.lua unpack(ids)': 'as many as the caller allows, at most 1,000',
      'lib/compensation.lua unpack(names)': 'at most 1,000 members',
      'lib/compensation.lua unpack(shapes.places)': 'a fixed list',
      'lib/group_record.lua unpack(names)': 'at most 1,000 members',
      'lib/jobs.lua unpack(KNOWN)': 'a fixed list',
      'lib/jobs.lua unpack(ties)': 'a handful of fields',
      'lib/jobs.lua unpack(others)': 'five keys each of at most 500 jobs',
      'lib/jobs.lua unpack(records)': 'at most 500',
      'lib/batch_adds.lua unpack(':
        'as many as a call promotes or adds, of members of one group at most 1,000',
      'lib/batch_claims.lua unpack(': 'as many as a call fetches',
      'lib/batch_ends.lua unpack(': 'as many as a call has items, at most twice',
      'lib/removal.lua unpack(shapes.places)': 'a fixed list',
      'lib/retention.lua unpack(ids)': 'at most 1,000',
      'queries/group.lua unpack(FIELDS)': 'a fixed list',
      'transitions/add_group.lua unpack(statuses)': 'at most 1,000 members, two values each',
      'transitions/add_group.lua unpack(plan)': 'at most 1,000 members and mappings, two values each',
      'transitions/reprocess.lua unpack(forgotten)': 'at most five',
      'lib/lane_out.lua unpack(names, first, last)': 'as many as a call has items',
      'lib/lane_followers.lua unpack(records, 1, count)': 'as many as a call has items',
      'lib/lane_writing.lua unpack(ids, from': 'in steps of 1,000',
      'lib/lane_writing.lua unpack(values, first': 'in steps of 1,000',
      'lib/lane_upkeep.lua unpack(lane_state.out(lane))': 'at most a thousand are out',
      'queries/lanes.lua unpack(lane_state.out(lane))': 'at most a thousand are out',
    };
    const found = linesWith(/\bunpack\(/).filter((line) => !line.includes('cmsgpack.unpack'));
    const unexplained = found.filter(
      (line) =>
        !Object.keys(bounded).some(
          (row) => line.startsWith(row.split(' ')[0]!) && line.includes(row.slice(row.indexOf(' ') + 1)),
        ),
    );
    expect(unexplained).toEqual([]);
    const unused = Object.keys(bounded).filter(
      (row) =>
        !found.some(
          (line) => line.startsWith(row.split(' ')[0]!) && line.includes(row.slice(row.indexOf(' ') + 1)),
        ),
    );
    expect(unused).toEqual([]);
  });

  it('spells keys in lib/keys.lua only', () => {
    const elsewhere = files.filter(({ path }) => path !== 'lib/keys.lua');
    // Nobody glues a key together: neither from the root nor with a tail.
    expect(
      linesWith(
        /\.root\s*\.\.|\.\.\s*"[^"]*:(wait|active|lock|logs|dependencies|processed|failed|unsuccessful)/,
        elsewhere,
      ),
    ).toEqual([]);
    const words = new Set([
      ...Object.values(keySuffix),
      'dependencies',
      'unsuccessful',
      'processed',
      'lock',
      'logs',
    ]);
    const keyArguments = elsewhere.flatMap(({ path, code }) =>
      [...code.matchAll(/\b(?:call|read)\(\s*"[A-Z]+",\s*"([^"]*)"/g)].map(([, key]) => `${path} ${key}`),
    );
    expect(keyArguments.filter((line) => words.has(line.split(' ')[1]!.replace(/^.*:/, '')))).toEqual([]);
  });

  it('keeps every variable local', () => {
    // The names that the build provides, and those of Lua.
    const assigned = linesWith(
      /^\s*(?!local\b|return\b|function\b|end\b|if\b|for\b|while\b|else)[a-z_]+(\s*,\s*[a-z_]+)*\s*=[^=]/,
    ).filter((line) => !line.endsWith(',') && !line.includes('= function('));
    const undeclared = assigned.filter((line) => {
      const [, path, names] = line.match(/^(\S+):\d+ ([^=]+?)\s*=/)!;
      const { code } = files.find((file) => file.path === path)!;
      return names!
        .split(',')
        .some(
          (name) =>
            !new RegExp(
              `(local\\s+(function\\s+)?[\\w\\s,]*\\b${name.trim()}\\b|\\([^)]*\\b${name.trim()}\\b[^)]*\\))`,
            ).test(code),
        );
    });
    expect(undeclared).toEqual([]);
  });
});
