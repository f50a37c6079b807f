// Builds the Lua tree: its modules as texts, from which src/store/lua-source.ts composes one function library
// and one script per call, and the typed TypeScript binding of every call. Headers are declarations: neither side ever counts positions.
//
//   node scripts/build-lua.mjs            writes src/store/generated
//   node scripts/build-lua.mjs --check    fails if what is written is stale
//   node scripts/build-lua.mjs --sizes    prints the size of each module

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { emitModules } from './lua/emit-lua.mjs';
import { emitTypeScript } from './lua/emit-typescript.mjs';
import { readTree } from './lua/read-tree.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const tree = readTree(`${root}lua`);
const target = `${root}src/store/generated/engine.ts`;
const text = emitTypeScript(tree);

if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== text) {
    console.error('src/store/generated is stale: run `npm run build:lua` and commit the result');
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}
if (process.argv.includes('--sizes')) {
  for (const module of emitModules(tree))
    console.log(`${String(module.text.length).padStart(7)}  ${module.path}`);
}
