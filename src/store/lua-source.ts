// Composes the engine from its modules: one function library, or one script per call for servers and users
// without functions.

import { createHash } from 'node:crypto';
import { allCalls, luaModules } from './generated/engine.ts';

export interface EngineCall {
  readonly name: string;
  /** Reads only; may run on a replica and needs no replay. */
  readonly isQuery: boolean;
  /** Refused by a server that is out of memory; everything else drains and must go on. */
  readonly refusesWhenFull: boolean;
  readonly needs: readonly string[];
  readonly entry: string;
}

const textOf = new Map(luaModules.map((module) => [module.path, module.text]));

const libraryBody = [
  'local call',
  ...luaModules.map((module) => module.text),
  ...allCalls.map((call) => call.entry),
].join('\n');

// The digest keeps two versions of the library apart on one server during a rolling deploy.
const digest = createHash('sha256').update(libraryBody).digest('hex').slice(0, 8);

export const libraryName = `yoke_${digest}`;

export function functionName(call: EngineCall): string {
  return `${libraryName}_${call.name}`;
}

function registration(call: EngineCall): string {
  const flag = call.isQuery ? 'no-writes' : call.refusesWhenFull ? undefined : 'allow-oom';
  const flags = flag ? `, flags = { '${flag}' }` : '';
  return `redis.register_function{ function_name = '${functionName(call)}', callback = run_${call.name}${flags} }`;
}

export const librarySource = [
  `#!lua name=${libraryName}`,
  libraryBody,
  ...allCalls.map(registration),
  '',
].join('\n');

export interface LuaScript {
  readonly source: string;
  readonly sha: string;
}

/** `opening` replaces the line that binds `call`; tests wrap it to watch or to fail single commands. */
export function scriptSource(call: EngineCall, opening = 'local call = redis.call'): string {
  const modules = call.needs.map((path) => textOf.get(path) ?? '');
  const entry = call.entry.replace('\ncall = redis.call', '');
  return [opening, ...modules, entry, `return run_${call.name}(KEYS, ARGV)`].join('\n');
}

const scripts = new Map<string, LuaScript>();

/** `withFlags` lets draining go on when the server is out of memory; servers before 7 do not know the line. */
export function scriptFor(call: EngineCall, withFlags: boolean): LuaScript {
  const key = `${call.name}/${withFlags}`;
  let script = scripts.get(key);
  if (!script) {
    // Without the line a full or read-only server would let the script begin and refuse one write after another.
    const flags = call.refusesWhenFull ? '#!lua\n' : '#!lua flags=allow-oom\n';
    const source = (withFlags && !call.isQuery ? flags : '') + scriptSource(call);
    script = { source, sha: createHash('sha1').update(source).digest('hex') };
    scripts.set(key, script);
  }
  return script;
}
