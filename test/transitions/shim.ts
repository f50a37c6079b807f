// The engine as one script in which the phase comments have become calls and every command is written down: with
// the item and the phase it belongs to, and whether it changed anything. It can be told to fail at one command.

import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';
import type { EngineCall } from '../../src/store/lua-source.ts';
import { NOW, ROOT } from '../support/given.ts';
import { partsOf, type Request } from './tables.ts';

export interface Step {
  /** 0 is the call itself; items are numbered from 1 in the order in which they ran. */
  readonly item: number;
  readonly phase: 'none' | 'check' | 'write' | 'settle';
  readonly command: string;
  readonly isEffective: boolean;
}

export interface Run {
  /** The reply of the call, or the error it ended with. */
  readonly reply: [string, string, unknown[]] | undefined;
  readonly error: string | undefined;
  readonly steps: readonly Step[];
  /** Transition and answer of each item; `error` where it threw. */
  readonly items: readonly { readonly name: string; readonly word: string }[];
}

interface LuaTools {
  readTree(folder: string): unknown;
  emitModules(tree: unknown, options: { marksPhases: boolean }): { path: string; text: string }[];
}

async function luaTools(): Promise<LuaTools> {
  const load = (path: string): Promise<object> => import(new URL(path, import.meta.url).href);
  return {
    ...(await load('../../scripts/lua/read-tree.mjs')),
    ...(await load('../../scripts/lua/emit-lua.mjs')),
  } as LuaTools;
}

// The kinds of commands. One that is in no list fails the test, so that nobody forgets to say what a new one does.
const READS =
  'TIME TYPE EXISTS GET MGET STRLEN PTTL HGET HEXISTS HMGET HGETALL HKEYS HVALS HLEN LLEN LRANGE LINDEX LPOS ZCARD ZCOUNT ZSCORE ZRANGE ZREVRANGE ZRANGEBYLEX ZRANGEBYSCORE ZREVRANGEBYSCORE ZDIFF ZINTER SCARD SISMEMBER SMEMBERS XLEN XREVRANGE';
// Change something only if they answer with more than nothing.
const CONDITIONAL = 'COPY DEL HDEL LREM LPOP RPOP SREM ZREM ZREMRANGEBYRANK ZPOPMIN XDEL XTRIM PEXPIRE';
const WRITES = 'SET INCR INCRBY DECRBY HSET HINCRBY LPUSH RPUSH LMOVE LTRIM RENAME SADD ZADD XADD';
export const knownCommands = new Set(`${READS} ${CONDITIONAL} ${WRITES}`.split(' '));

const words = (text: string) =>
  `{ ${text
    .split(' ')
    .map((word) => `${word} = true`)
    .join(', ')} }`;

const opening = `
local reads, conditional, writes = ${words(READS)}, ${words(CONDITIONAL)}, ${words(WRITES)}
local steps, items, item_now, phase_now, count = {}, {}, 0, "none", 0
local fail_at = tonumber(table.remove(ARGV))
local function phase(name)
  phase_now = name
  steps[#steps + 1] = { item_now, name, "phase", false }
end
local function call(command, ...)
  count = count + 1
  local step = { item_now, phase_now, command, false }
  steps[#steps + 1] = step
  if count == fail_at then
    error({ err = "ERR injected at " .. command })
  end
  local reply = redis.call(command, ...)
  if conditional[command] then
    step[4] = reply and reply ~= 0 and (type(reply) ~= "table" or #reply > 0)
  elseif writes[command] then
    step[4] = true
  elseif not reads[command] then
    error("nobody knows what " .. command .. " does")
  end
  return reply
end
local function item(name, run)
  return function(...)
    local outer_item, outer_phase = item_now, phase_now
    local mine = { name, "error" }
    items[#items + 1] = mine
    item_now, phase_now = #items, "none"
    local results = { pcall(run, ...) }
    item_now, phase_now = outer_item, outer_phase
    if not results[1] then
      error(results[2], 0)
    end
    mine[2] = results[2]
    return unpack(results, 2, 6)
  end
end`;

let modules: Promise<Map<string, string>> | undefined;

async function instrumented(): Promise<Map<string, string>> {
  const { readTree, emitModules } = await luaTools();
  const tree = readTree(fileURLToPath(new URL('../../lua', import.meta.url)));
  return new Map(
    emitModules(tree, { marksPhases: true }).map(({ path, text }) => [
      path,
      path.startsWith('transitions.') ? asItem(path, text) : text,
    ]),
  );
}

function asItem(path: string, text: string): string {
  const name = path.slice('transitions.'.length);
  const start = ' = (function()\n';
  if (!text.includes(start) || !text.endsWith('\nend)()'))
    throw new Error(`${path} is not emitted as it was`);
  return `${text.replace(start, ` = item("${name}", (function()\n`)})`;
}

/** The whole text of the call with all its modules. */
export async function shimSource(call: EngineCall): Promise<string> {
  modules ??= instrumented();
  const texts = await modules;
  const entry = call.entry.replace('\ncall = redis.call', '');
  return [
    opening,
    ...call.needs.map((path) => texts.get(path)),
    entry,
    `local is_done, reply = pcall(run_${call.name}, KEYS, ARGV)`,
    'local told = cjson.encode({ steps = steps, items = items })',
    'if is_done then return { "ok", reply, told } end',
    'return { "error", type(reply) == "table" and reply.err or tostring(reply), told }',
  ].join('\n');
}

const shas = new WeakMap<Redis, Map<string, string>>();
let sequence = 0;

/** Runs a call; `failAt` counts its commands from 1, 0 lets all of them be. */
export async function runShim(client: Redis, { call, argv, root = ROOT }: Request, failAt = 0): Promise<Run> {
  const known = shas.get(client) ?? new Map<string, string>();
  shas.set(client, known);
  let sha = known.get(call.name);
  if (!sha) {
    sha = (await client.call('SCRIPT', 'LOAD', await shimSource(call))) as string;
    known.set(call.name, sha);
  }
  sequence++;
  const head = ['shim', String(sequence), String(sequence - 1), String(NOW)];
  const told = await client.call('EVALSHA', sha, '1', root, ...head, ...argv, String(failAt));
  const [outcome, reply, text] = told as [string, unknown, string];
  const { steps, items } = JSON.parse(text) as {
    steps: [number, Step['phase'], string, boolean][];
    items: [string, string][];
  };
  return {
    reply: outcome === 'ok' ? partsOf(call, reply) : undefined,
    error: outcome === 'ok' ? undefined : String(reply),
    steps: steps.map(([item, phase, command, isEffective]) => ({ item, phase, command, isEffective })),
    // An empty list comes out of cjson as an object.
    items: Array.isArray(items) ? items.map(([name, word]) => ({ name, word })) : [],
  };
}

/** The commands of a run, without the phase marks. */
export const commandsOf = (run: Run): Step[] => run.steps.filter((step) => step.command !== 'phase');
