// Emits Lua. Each module is wrapped in its own function, so its locals stay private and the limit of 200
// locals per function is never near. `call` is the one name that modules share: it is redis.call, set when a
// call begins (a function library has no redis.call while it loads), and what tests replace.

import { againVerb, inOrder, shortVerb, usualArgs } from './read-tree.mjs';

const variable = (path) => path.replace('.', '_');

// Phase marks are comments in the source; a build for tests can turn them into calls.
function body(source, { marksPhases }) {
  const lines = [];
  for (const line of source.split('\n')) {
    const mark = line.match(/^\s*-- (check|write|settle)\b/);
    if (mark && marksPhases) lines.push(`phase("${mark[1]}")`);
    else if (!/^\s*--/.test(line) && line.trim() !== '')
      lines.push(line.replace(/^ +/, (space) => ' '.repeat(space.length / 2)));
  }
  return lines.join('\n').replace(/require\("([^"]+)"\)/g, (_, path) => variable(path));
}

function moduleText(module, options) {
  return `local ${variable(module.path)} = (function()\n${body(module.source, options)}\nend)()`;
}

const reader = {
  string: (position) => `argv[${position}]`,
  bytes: (position) => `argv[${position}]`,
  int: (position) => `lib_clock.number(argv[${position}])`,
  flag: (position) => `argv[${position}] == "1"`,
};

function readArgs(args, offset) {
  return `{ ${args.map((arg, i) => `${arg.name} = ${reader[arg.type](offset(i))}`).join(', ')} }`;
}

// Turns KEYS and ARGV into `q`, `arg` and the items, and hands them to the call.
function entryText(tree, call) {
  const lines = [`local function run_${call.name}(keys, argv)`, 'call = redis.call'];
  if (call.room === 'queries') {
    lines.push('local q = lib_queue.open(keys[1], lib_clock.now(argv[1]))');
    const rest = call.hasRest ? `, { unpack(argv, ${call.args.length + 2}) }` : '';
    lines.push(
      `return { "ok", q.now_text, ${variable(call.path)}(q, ${readArgs(call.args, (i) => i + 2)}${rest}) }`,
      'end',
    );
    return lines.join('\n');
  }
  const first = 5;
  const own = `arg_of_${call.name}`;
  for (const [i, arg] of call.args.entries())
    lines.push(`${own}.${arg.name} = ${reader[arg.type](first + i)}`);
  if (call.items.length > 0) lines.push(`batch_of_${call.name}.argv = argv`);
  const last =
    call.items.length > 0
      ? `, batch_of_${call.name}`
      : call.hasRest
        ? `, { unpack(argv, ${first + call.args.length}) }`
        : '';
  const handler = call.room === 'transitions' ? `single_${call.name}` : variable(call.path);
  lines.push(
    `return lib_replay.run(keys[1], argv[1], argv[2], argv[3], argv[4], ${handler}, ${own}${last})`,
    'end',
  );
  const setup =
    call.room === 'transitions' ? `local ${handler} = lib_items.single(${variable(call.path)})\n` : '';
  const parts = [setup + readersText(tree, call, first + call.args.length) + lines.join('\n')];
  // One table for the arguments of one call after the other: to fill it costs less than to make it.
  parts.unshift(`local run_${call.name} = (function()`, `local ${own} = {}`);
  parts.push(`return run_${call.name}`, 'end)()');
  return parts.join('\n');
}

// What a call knows of its items: where they begin, how long each is, and for each verb a function that reads one item
// into its transition's table and says where the next one begins; a short form also says which verb it stands for. The
// shortest leaves in the table what the one before it had; `again` says which one may follow a verb so. Many of those share
// one verb (lua/lib/items.lua), so each is as long as its arguments are many.
function readersText(tree, call, first) {
  if (call.items.length === 0) return '';
  const given = (arg, i) => `arg.${arg.name} = ${reader[arg.type](`at + ${i + 1}`)}`;
  const asUsual = (arg) => `arg.${arg.name} = ${usualText(arg)}`;
  const setups = [];
  const readers = [];
  const lengths = [];
  const following = [];
  for (const verb of call.items) {
    const module = call.shapes.has(verb) ? undefined : tree.modules.get(`transitions.${verb}`);
    const args = call.shapes.get(verb) ?? module.args;
    const own = `readers_of_${verb}_in_${call.name}`;
    const forms = [];
    const add = (form, fields, count, length = count + 1) => {
      const stands = form === verb ? '' : `, "${verb}"`;
      forms.push(`function(argv, at) ${fields.join(' ')} return arg, at + ${count + 1}${stands} end`);
      readers.push(`["${form}"] = ${own}[${forms.length}]`);
      lengths.push(`["${form}"] = ${length}`);
      if (module?.again !== undefined) following.push(`["${form}"] = "${againVerb(verb)}"`);
    };
    add(verb, args.map(given), args.length);
    const usual = usualArgs(args);
    if (usual.length > 0) {
      const sent = args.slice(0, args.length - usual.length);
      add(shortVerb(verb), [...sent.map(given), ...usual.map(asUsual)], sent.length);
    }
    if (module?.again !== undefined) {
      const differing = args.filter(({ name }) => module.again.includes(name));
      add(againVerb(verb), differing.map(given), differing.length, differing.length);
    }
    setups.push(`local ${own} = (function() local arg = {} return { ${forms.join(',\n')} } end)()\n`);
  }
  return `${setups.join('')}local batch_of_${call.name} = { first = ${first}, readers = { ${readers.join(',\n')} },\nlengths = { ${lengths.join(', ')} }, again = { ${following.join(', ')} }, argv = false }\n`;
}

/** The transitions among a call's items; the others are shapes of its own. */
export function transitionsOf(call) {
  return call.items.filter((verb) => !call.shapes.has(verb)).map((verb) => `transitions.${verb}`);
}

function usualText({ type, usual }) {
  if (type === 'flag') return String(usual === '1');
  return type === 'int' ? usual : `"${usual}"`;
}

function needs(call) {
  if (call.room === 'queries') return ['lib.queue', 'lib.clock', call.path];
  return ['lib.clock', 'lib.replay', 'lib.items', ...transitionsOf(call), call.path];
}

/** The modules' texts in an order in which each stands after what it requires. */
export function emitModules(tree, options = {}) {
  return inOrder(tree, tree.calls.flatMap(needs)).map((module) => ({
    path: module.path,
    text: moduleText(module, options),
  }));
}

/** One call: the modules it needs, in order, and the function that reads its arguments. */
export function emitCall(tree, call) {
  return { needs: inOrder(tree, needs(call)).map((module) => module.path), entry: entryText(tree, call) };
}
