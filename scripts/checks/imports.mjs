// The rooms of src/ and who may enter which: arrows point at what is imported, never back, never in a ring.
//
//   model <- server <- store <- core <- {queue, worker, maintenance, events, …} <- {testing, cli} <- index

import { builtinModules } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { filesBelow, textOf } from './files.mjs';

const ORDER = [
  ['model'],
  ['server'],
  ['store'],
  ['core'],
  ['queue', 'worker', 'maintenance', 'events', 'flow', 'group', 'lane', 'metrics'],
  ['testing', 'cli'],
  ['index'],
];

// A worker starts the services that look after its queue.
const NEIGHBOURS = new Set(['worker -> maintenance']);

const TYPES_OF_MODEL = new Set(['@standard-schema/spec']);

const IMPORT =
  /(?:^|[;\n])\s*(?:import|export)\s+(type\s)?[^'";]*?from\s*['"]([^'"]+)['"]|(?:^|[;\n])\s*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g;

/** The imports of one source text: what, and whether only its types are meant. */
export function importsOf(source) {
  const found = [];
  for (const [, type, from, bare, dynamic] of source.matchAll(IMPORT)) {
    found.push({ target: from ?? bare ?? dynamic, isType: type !== undefined });
  }
  return found;
}

const roomOf = (path) =>
  path.split('/').length === 2 ? path.split('/')[1].replace(/\.\w+$/, '') : path.split('/')[1];
const rankOf = (room) => ORDER.findIndex((rooms) => rooms.includes(room));
const isBuiltin = (name) => name.startsWith('node:') || builtinModules.includes(name);

function complaintAboutPackage(path, { target, isType }) {
  const room = roomOf(path);
  if (isBuiltin(target)) return undefined;
  if (room === 'model' && !(isType && TYPES_OF_MODEL.has(target)))
    return `${path} imports ${target}: src/model imports nothing outside itself`;
  if (/^ioredis(\/|$)/.test(target) && room !== 'store')
    return `${path} imports ioredis: only src/store speaks to the server`;
  return undefined;
}

function complaintAboutRoom(path, target) {
  const from = roomOf(path);
  const to = roomOf(target);
  if (to === 'index') return `${path} imports src/index.ts: nothing inside src does`;
  if (rankOf(from) === -1) return `${path} lies in a room that is not on the plan: ${from}`;
  if (from === to || rankOf(to) < rankOf(from) || NEIGHBOURS.has(`${from} -> ${to}`)) return undefined;
  if (rankOf(to) === rankOf(from))
    return `${path} imports ${target}: ${from} and ${to} do not know each other`;
  return `${path} imports ${target}: ${from} comes before ${to}`;
}

function findRing(graph) {
  const done = new Set();
  const path = [];
  function visit(file) {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    path.push(file);
    for (const next of graph.get(file) ?? []) {
      const ring = visit(next);
      if (ring) return ring;
    }
    path.pop();
    done.add(file);
    return undefined;
  }
  for (const file of graph.keys()) {
    const ring = visit(file);
    if (ring) return ring;
  }
  return undefined;
}

export const title = 'imports point one way';

export function check(root) {
  const complaints = [];
  const graph = new Map();
  for (const path of filesBelow(root, 'src', (file) => /\.(ts|mjs)$/.test(file))) {
    const targets = [];
    for (const entry of importsOf(textOf(root, path))) {
      if (!entry.target.startsWith('.')) {
        complaints.push(complaintAboutPackage(path, entry));
        continue;
      }
      const target = normalize(join(dirname(path), entry.target)).replaceAll('\\', '/');
      if (!target.startsWith('src/')) complaints.push(`${path} imports ${target}, which is outside src`);
      else complaints.push(complaintAboutRoom(path, target));
      // Types are gone when the program runs, so they cannot make modules wait for each other.
      if (!entry.isType) targets.push(target);
    }
    graph.set(path, targets);
  }
  const ring = findRing(graph);
  if (ring) complaints.push(`imports go round in a ring: ${ring.join(' -> ')}`);
  return complaints.filter(Boolean);
}
