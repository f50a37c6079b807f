// What is generated from lua/ is what is committed.

import { join } from 'node:path';
import { emitTypeScript } from '../lua/emit-typescript.mjs';
import { readTree } from '../lua/read-tree.mjs';
import { textOf } from './files.mjs';

export const title = 'generated files are fresh';

export function check(root) {
  const path = 'src/store/generated/engine.ts';
  const isFresh = textOf(root, path) === emitTypeScript(readTree(join(root, 'lua')));
  return isFresh ? [] : [`${path} is stale: run \`npm run build:lua\` and commit the result`];
}
