// docs/states.md says what lua/transitions does: one row per file, the header's edge and replies, the file's events,
// and a diagram with the same edges.

import { join } from 'node:path';
import { readTree } from '../lua/read-tree.mjs';
import { quoted, tableRows, textOf } from './files.mjs';

const DOC = 'docs/states.md';
const COLUMNS = ['edge', 'guard', 'replies', 'effects', 'event'];
const STATES = [
  'nothing',
  'waiting',
  'prioritized',
  'delayed',
  'active',
  'waiting-children',
  'completed',
  'failed',
];

export const title = 'docs/states.md equals lua/transitions';

const same = (a, b) => a.length === b.length && a.every((word, i) => word === b[i]);
const listed = (words) => (words.length === 0 ? 'none' : words.join(', '));

function edgeOf(module) {
  const [, edge] = module.summary.match(/^\w+: (.*)$/) ?? [];
  return edge ?? '';
}

function eventsOf(module) {
  const names = [...module.source.matchAll(/events\.(?:append|capped)\(\w+, "([^"]+)"/g)].map(
    (match) => match[1],
  );
  return [...new Set(names)];
}

function complaintsAboutRow(module, row) {
  const complaints = [];
  const name = `${DOC}: ${module.name}`;
  for (const column of COLUMNS) if (!row[column]) complaints.push(`${name}: the column "${column}" is empty`);
  const edge = row.edge?.replaceAll('`', '').replaceAll('→', '->');
  if (edge !== edgeOf(module))
    complaints.push(`${name}: the edge is "${edge}", its header says "${edgeOf(module)}"`);
  const replies = quoted(row.replies ?? '');
  if (!same(replies, module.words))
    complaints.push(`${name}: the replies are ${listed(replies)}, its header says ${listed(module.words)}`);
  const events = quoted(row.event ?? '');
  for (const event of eventsOf(module)) {
    if (!events.includes(event)) complaints.push(`${name}: the event ${event} is not in its row`);
  }
  return complaints;
}

// `from -> to` pairs of a header; words that are no state ("any", "same") make no arrow.
function arrowsOf(module) {
  const [from = '', to = ''] = edgeOf(module)
    .split(' -> ')
    .map((side) => side.split(' | '));
  return [from]
    .flat()
    .filter((state) => STATES.includes(state))
    .flatMap((state) =>
      [to]
        .flat()
        .filter((next) => STATES.includes(next))
        .map((next) => `${state} -> ${next}: ${module.name}`),
    );
}

// Arrows of the diagram. Labels in brackets are effects of other transitions and have no file.
function arrowsDrawn(markdown) {
  const [, diagram = ''] = markdown.match(/```mermaid\n([\s\S]*?)```/) ?? [];
  const names = new Map([...diagram.matchAll(/state "([^"]+)" as (\w+)/g)].map(([, name, id]) => [id, name]));
  const arrows = [];
  for (const [, from, to, label] of diagram.matchAll(/^\s*(\S+) --> (\S+)\s*:\s*(.+)$/gm)) {
    const state = (id) => (id === '[*]' ? 'nothing' : (names.get(id) ?? id));
    for (const verb of label.split(',').map((word) => word.trim())) {
      if (!verb.startsWith('(')) arrows.push(`${state(from)} -> ${state(to)}: ${verb}`);
    }
  }
  return arrows;
}

export function check(root) {
  const markdown = textOf(root, DOC);
  if (markdown === '') return [`${DOC} is missing`];
  const modules = [...readTree(join(root, 'lua')).modules.values()];
  const transitions = modules.filter((module) => module.room === 'transitions');
  const rows = new Map(tableRows(markdown, 'verb').map((row) => [quoted(row.verb)[0] ?? row.verb, row]));
  const complaints = [];
  for (const module of transitions) {
    const row = rows.get(module.name);
    if (row) complaints.push(...complaintsAboutRow(module, row));
    else complaints.push(`${DOC} has no row for lua/transitions/${module.name}.lua`);
    rows.delete(module.name);
  }
  for (const verb of rows.keys())
    complaints.push(`${DOC} has a row for ${verb}, but there is no lua/transitions/${verb}.lua`);
  const calls = modules.filter((module) => module.room === 'calls').map((module) => module.name);
  const named = tableRows(markdown, 'call').flatMap((row) => quoted(row.call));
  for (const call of calls)
    if (!named.includes(call)) complaints.push(`${DOC} does not name lua/calls/${call}.lua`);
  for (const call of named)
    if (!calls.includes(call))
      complaints.push(`${DOC} names the call ${call}, but there is no lua/calls/${call}.lua`);

  const wanted = transitions.flatMap(arrowsOf);
  const drawn = arrowsDrawn(markdown);
  for (const arrow of wanted)
    if (!drawn.includes(arrow)) complaints.push(`${DOC}: the diagram lacks ${arrow}`);
  for (const arrow of drawn)
    if (!wanted.includes(arrow))
      complaints.push(`${DOC}: the diagram has ${arrow}, which no header declares`);
  return complaints;
}
