// Reads lua/: the modules with their requires, and the declarations in their headers.

import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const ROOMS = ['lib', 'transitions', 'calls', 'queries'];
const ARG_TYPES = ['string', 'bytes', 'int', 'flag'];

/** Every module by its dotted name, and what is registered, in a stable order. */
export function readTree(folder) {
  const modules = new Map();
  for (const room of ROOMS) {
    for (const file of readdirSync(join(folder, room))
      .filter((name) => name.endsWith('.lua'))
      .sort()) {
      const name = `${room}.${basename(file, '.lua')}`;
      modules.set(name, readModule(name, room, readFileSync(join(folder, room, file), 'utf8')));
    }
  }
  for (const module of modules.values()) {
    for (const required of module.requires) {
      if (!modules.has(required))
        throw new Error(`${module.name} requires ${required}, which does not exist`);
    }
  }
  return { modules, calls: [...modules.values()].filter((module) => module.isRegistered) };
}

function readModule(name, room, source) {
  const header =
    source
      .match(/^(---.*\n)+/)?.[0]
      .split('\n')
      .filter(Boolean) ?? [];
  const module = {
    name: name.split('.')[1],
    path: name,
    room,
    source,
    requires: [...source.matchAll(/require\("([^"]+)"\)/g)].map((match) => match[1]),
    summary: header[0]?.replace(/^--- /, '') ?? '',
    notes: [],
    args: [],
    items: [],
    shapes: new Map(),
    words: [],
    reply: '',
    hasRest: false,
    isRegistered: room === 'calls' || room === 'queries',
    refusesWhenFull: false,
  };
  for (const line of header.slice(1)) readDeclaration(module, line.replace(/^--- ?/, ''));
  if (room !== 'lib' && header.length === 0) throw new Error(`${name} has no header`);
  return module;
}

function readDeclaration(module, line) {
  const tag = line.match(/^@(\w+)\s*(.*)$/);
  if (!tag) {
    module.notes.push(line);
    return;
  }
  const [, word, rest] = tag;
  if (word === 'arg') {
    // `string=0`: what it is mostly. Items whose last arguments are all that are sent without them.
    const [, name, type, usual, note] = rest.match(/^(\w+)\s+(\w+)(?:=(\w*))?\s*(.*)$/) ?? [];
    if (!ARG_TYPES.includes(type))
      throw new Error(`${module.path}: @arg ${rest}: the type is one of ${ARG_TYPES}`);
    module.args.push({ name, type, note, usual });
  } else if (word === 'again') {
    // The arguments, mostly one and always the first, in which an item mostly differs from the one before it.
    module.again = rest.trim().split(/\s+/);
  } else if (word === 'items') {
    module.items.push(...rest.split('|').map((item) => item.trim()));
  } else if (word === 'item') {
    // An item that is no transition: a part of what its call puts together.
    const [, name, fields] = rest.match(/^(\w+)\s+(.+)$/) ?? [];
    const args = fields.split(',').map((field) => field.trim().split(/\s+/));
    module.items.push(name);
    module.shapes.set(
      name,
      args.map(([arg, declared]) => {
        const [type, usual] = declared.split('=');
        if (!ARG_TYPES.includes(type))
          throw new Error(`${module.path}: @item ${name}: ${arg}: the type is one of ${ARG_TYPES}`);
        return { name: arg, type, note: '', usual };
      }),
    );
  } else if (word === 'reply') {
    module.reply = rest;
    if (module.room === 'transitions') module.words = rest.split('|').map((item) => item.trim());
  } else if (word === 'rest') {
    module.hasRest = true;
  } else if (word === 'call') {
    module.isRegistered = true;
    module.refusesWhenFull = rest.includes('refuses-when-full');
  } else if (word === 'flags') {
    module.refusesWhenFull = rest.includes('refuses-when-full');
  } else {
    throw new Error(`${module.path}: unknown tag @${word}`);
  }
}

/** The arguments of an item that it can be sent without: those at its end that say what they mostly are. */
export function usualArgs(args) {
  const first = args.findLastIndex(({ usual }) => usual === undefined) + 1;
  return args.slice(first);
}

/** The word that stands for an item without its usual arguments. */
export const shortVerb = (name) => `${name}-`;

/** The word for a run of those that differ from the one before them only in what `@again` names. */
export const againVerb = (name) => `${name}+`;

/** The modules that `paths` need, each after what it requires. */
export function inOrder(tree, paths) {
  const ordered = [];
  const visiting = new Set();
  const visit = (path) => {
    const module = tree.modules.get(path);
    if (ordered.includes(module)) return;
    if (visiting.has(path))
      throw new Error(`lua modules require each other in a ring: ${[...visiting, path].join(' -> ')}`);
    visiting.add(path);
    for (const required of module.requires) visit(required);
    visiting.delete(path);
    ordered.push(module);
  };
  for (const path of paths) visit(path);
  return ordered;
}
