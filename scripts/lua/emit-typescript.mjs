// Emits the typed binding: for each call a function that encodes named arguments, for each item an encoder,
// and the words each may answer.

import { emitCall, emitModules, transitionsOf } from './emit-lua.mjs';
import { againVerb, shortVerb, usualArgs } from './read-tree.mjs';

const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const pascal = (name) => camel(`_${name}`);
const tsType = { string: 'string', bytes: 'string', int: 'number', flag: 'boolean' };
const encode = {
  string: (value) => value,
  bytes: (value) => value,
  int: (value) => `String(${value})`,
  flag: (value) => `${value} ? '1' : ''`,
};

function argType(name, args) {
  const fields = args.map(
    (arg) => `${arg.note ? `  /** ${arg.note} */\n` : ''}  ${camel(arg.name)}: ${tsType[arg.type]};`,
  );
  return `export interface ${name} {\n${fields.join('\n')}\n}`;
}

const pushes = (args) => args.map((arg) => encode[arg.type](`arg.${camel(arg.name)}`)).join(', ');

// The item without its usual arguments, where they are what they mostly are.
function shortPush({ name, args }) {
  const usual = usualArgs(args);
  if (usual.length === 0) return [];
  const isUsual = usual.map((arg) => {
    const value = `arg.${camel(arg.name)}`;
    if (arg.type === 'flag') return arg.usual === '1' ? value : `!${value}`;
    return `${value} === ${arg.type === 'int' ? arg.usual : `'${arg.usual}'`}`;
  });
  const sent = args.slice(0, args.length - usual.length);
  return [
    `  if (${isUsual.join(' && ')}) {`,
    `    argv.push('${shortVerb(name)}', ${pushes(sent)});`,
    '    return;',
    '  }',
  ];
}

// Only the arguments in which it differs from the one before it, in a run of such.
function againPush({ name, args, again }) {
  if (again === undefined) return [];
  const differing = args.filter((arg) => again.includes(arg.name));
  const isSame = args
    .filter((arg) => !again.includes(arg.name))
    .map((arg) => `arg.${camel(arg.name)} === before.${camel(arg.name)}`);
  return [
    '  const before = run?.before;',
    '  if (run) run.before = arg;',
    `  if (before !== undefined && ${isSame.join(' && ')}) {`,
    `    run!.extend(argv, '${againVerb(name)}', ${differing.length});`,
    `    argv.push(${pushes(differing)});`,
    '    return;',
    '  }',
  ];
}

// An item of this kind can be sent as "the same but for this": whoever pushes several hands in the same run.
function pushHead(name, type, again) {
  const run = again === undefined ? '' : `, run?: ItemRun<${type}>`;
  return `export function push${name}(argv: string[], arg: ${type}${run}): void {`;
}

function itemText(module) {
  const type = `${pascal(module.name)}Arg`;
  return [
    `/** ${module.summary} */`,
    argType(type, module.args),
    `export type ${pascal(module.name)}Word = ${module.words.map((word) => `'${word}'`).join(' | ')};`,
    pushHead(pascal(module.name), type, module.again),
    ...againPush(module),
    ...shortPush(module),
    `  argv.push('${module.name}', ${pushes(module.args)});`,
    '}',
  ].join('\n');
}

function shapeText(call, verb) {
  const type = `${pascal(verb)}Arg`;
  const args = call.shapes.get(verb);
  return [
    `/** Part of ${camel(call.name)}. */`,
    argType(type, args),
    `export function push${pascal(verb)}(argv: string[], arg: ${type}): void {`,
    ...shortPush({ name: verb, args }),
    `  argv.push('${verb}', ${pushes(args)});`,
    '}',
  ].join('\n');
}

function callText(tree, call) {
  const { needs, entry } = emitCall(tree, call);
  const isQuery = call.room === 'queries';
  const type = `${pascal(call.name)}CallArg`;
  const parts = [];
  const parameters = [];
  if (call.args.length > 0) {
    parts.push(argType(type, call.args));
    parameters.push(`arg: ${type}`);
  }
  if (call.items.length > 0) parameters.push('items: string[]');
  if (call.hasRest) parameters.push('rest: readonly string[]');
  const list = [
    ...(call.args.length > 0 ? [pushes(call.args)] : []),
    ...(call.items.length > 0 ? ['...items'] : []),
    ...(call.hasRest ? ['...rest'] : []),
  ];
  if (call.room === 'transitions')
    parts.push(
      `export type ${pascal(call.name)}Word = ${call.words.map((word) => `'${word}'`).join(' | ')};`,
    );
  parts.push(
    `/** ${call.summary} */`,
    `export const ${camel(call.name)}Call = {`,
    `  name: '${call.name}',`,
    `  isQuery: ${isQuery},`,
    `  refusesWhenFull: ${call.refusesWhenFull},`,
    `  needs: ${JSON.stringify(needs)},`,
    `  entry: ${JSON.stringify(entry)},`,
    `  encode(${parameters.join(', ')}): string[] {`,
    `    return [${list.join(', ')}];`,
    '  },',
    '} as const;',
  );
  return parts.join('\n');
}

function keysText(tree) {
  const source = tree.modules.get('lib.keys').source;
  const suffixes = source.match(/keys\.suffix = \{([^}]*)\}/)[1];
  const rows = [...suffixes.matchAll(/(\w+) = "([^"]+)"/g)].map(
    ([, name, suffix]) => `  ${camel(name)}: '${suffix}',`,
  );
  return `/** Suffixes of a queue's keys, from lua/lib/keys.lua. */\nexport const keySuffix = {\n${rows.join('\n')}\n} as const;`;
}

/** The whole generated module. */
export function emitTypeScript(tree) {
  const modules = emitModules(tree)
    .map((module) => `  { path: '${module.path}', text: ${JSON.stringify(module.text)} },`)
    .join('\n');
  const items = new Set(tree.calls.flatMap(transitionsOf));
  return [
    '// Generated by scripts/build-lua.mjs from lua/. Do not edit.',
    "import type { ItemRun } from '../item-run.ts';",
    `/** The engine's Lua, module by module, each after what it requires. */\nexport const luaModules: readonly { path: string; text: string }[] = [\n${modules}\n];`,
    keysText(tree),
    ...[...items].sort().map((path) => itemText(tree.modules.get(path))),
    ...tree.calls.flatMap((call) => [...call.shapes.keys()].map((verb) => shapeText(call, verb))),
    ...tree.calls.map((call) => callText(tree, call)),
    `export const allCalls = [\n${tree.calls.map((call) => `  ${camel(call.name)}Call,`).join('\n')}\n] as const;`,
    '',
  ].join('\n\n');
}
