import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { change, copyOf, loadCheck, write } from './house.ts';

const generated = await loadCheck('generated');
const states = await loadCheck('states');
const keys = await loadCheck('keys');

const newTransition =
  '--- vanish: active -> nothing\n--- @arg   job_id   string\n--- @reply ok | not_found\nreturn function() return "ok" end\n';

it('a change in lua without a build is found', () => {
  const root = copyOf('lua', 'scripts');
  mkdirSync(join(root, 'src/store/generated'), { recursive: true });
  execFileSync(process.execPath, ['scripts/build-lua.mjs'], { cwd: root });
  expect(generated(root)).toEqual([]);
  change(root, 'lua/transitions/complete.lua', 'return "ok"', 'return "okay"');
  expect(generated(root)).toEqual([expect.stringContaining('src/store/generated/engine.ts is stale')]);
});

it('the states of this project are documented', () => {
  expect(states(copyOf('lua', 'docs/states.md'))).toEqual([]);
});

it('a transition without a row and without an arrow is found', () => {
  const root = copyOf('lua', 'docs/states.md');
  write(root, 'lua/transitions/vanish.lua', newTransition);
  expect(states(root)).toEqual([
    'docs/states.md has no row for lua/transitions/vanish.lua',
    'docs/states.md: the diagram lacks active -> nothing: vanish',
  ]);
});

it('a row without a transition is found', () => {
  const root = copyOf('lua', 'docs/states.md');
  change(root, 'docs/states.md', '| `update_data` |', '| `update_date` |');
  expect(states(root)).toEqual([
    'docs/states.md has no row for lua/transitions/update_data.lua',
    'docs/states.md has a row for update_date, but there is no lua/transitions/update_date.lua',
  ]);
});

it('an edge, a reply or an event that differs from the file is found', () => {
  const root = copyOf('lua', 'docs/states.md');
  change(root, 'docs/states.md', 'active -> completed |', 'active -> failed |');
  change(root, 'docs/states.md', '| `ok` `lease_missing` `lease_lost` |', '| `ok` `lease_missing` |');
  change(root, 'lua/transitions/update_progress.lua', '"progress", "jobId"', '"progressed", "jobId"');
  expect(states(root)).toEqual([
    'docs/states.md: complete: the edge is "active -> failed", its header says "active -> completed"',
    'docs/states.md: extend: the replies are ok, lease_missing, its header says ok, lease_missing, lease_lost',
    'docs/states.md: update_progress: the event progressed is not in its row',
  ]);
});

it('a row with an empty cell is found', () => {
  const root = copyOf('lua', 'docs/states.md');
  change(root, 'docs/states.md', '| stores the data | none |', '| | none |');
  expect(states(root)).toEqual(['docs/states.md: update_data: the column "effects" is empty']);
});

it('an arrow that no header declares is found', () => {
  const root = copyOf('lua', 'docs/states.md');
  change(
    root,
    'docs/states.md',
    'active --> failed: fail',
    'active --> failed: fail\n  waiting --> failed: fail',
  );
  expect(states(root)).toEqual([
    'docs/states.md: the diagram has waiting -> failed: fail, which no header declares',
  ]);
});

it('a call that is not named, and one that is but does not exist, are found', () => {
  const root = copyOf('lua', 'docs/states.md');
  change(root, 'docs/states.md', '| `maintain` |', '| `uphold` |');
  expect(states(root)).toEqual([
    'docs/states.md does not name lua/calls/maintain.lua',
    'docs/states.md names the call uphold, but there is no lua/calls/uphold.lua',
  ]);
});

it('the keys of this project are documented', () => {
  expect(keys(copyOf('lua', 'docs/keys.md'))).toEqual([]);
});

it('a suffix, a tail and a composed key without a row are found', () => {
  const root = copyOf('lua', 'docs/keys.md');
  change(root, 'lua/lib/keys.lua', 'wait = "wait",', 'wait = "wait",\n  ladders = "ladders",');
  change(root, 'lua/lib/keys.lua', 'lock = ":lock",', 'lock = ":lock",\n  steps = ":steps",');
  change(
    root,
    'lua/lib/keys.lua',
    'return keys\n',
    'function keys.ladder(q, id)\n  return q.root .. ":meta:ladder:" .. id\nend\n\nreturn keys\n',
  );
  expect(keys(root)).toEqual([
    'docs/keys.md has no row for ladders',
    'docs/keys.md has no row for <id>:steps',
    'docs/keys.md has no row for meta:ladder:<…>',
  ]);
});

it('a row for a key that nobody spells, a wrong type and a missing remover are found', () => {
  const root = copyOf('lua', 'docs/keys.md');
  change(root, 'docs/keys.md', '| `active` | list |', '| `activ` | List |');
  change(root, 'docs/keys.md', /(\| `<id>:logs` \|.*\| `add_log` \|).*\|/, '$1 |');
  expect(keys(root)).toEqual([
    'docs/keys.md has a row for activ, which lua/lib/keys.lua does not spell',
    expect.stringContaining('docs/keys.md: activ: the type is "List"'),
    'docs/keys.md: <id>:logs: the column "remover" is empty',
    'docs/keys.md has no row for active',
  ]);
});

it('a missing document is found', () => {
  const root = copyOf('lua');
  expect(states(root)).toEqual(['docs/states.md is missing']);
  expect(keys(root)).toEqual(['docs/keys.md is missing']);
});
