// `npm run check`: what the house promises about itself. Each check is a module in scripts/checks with a title and a
// function from the project's folder to a list of complaints; test/checks shows that each can fail.

import { fileURLToPath } from 'node:url';
import * as documents from './checks/documents.mjs';
import * as generated from './checks/generated.mjs';
import * as imports from './checks/imports.mjs';
import * as keys from './checks/keys.mjs';
import * as neutral from './checks/neutral.mjs';
import * as states from './checks/states.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
let failed = 0;

for (const { title, check } of [imports, generated, states, keys, documents, neutral]) {
  const complaints = check(root);
  if (complaints.length === 0) {
    console.log(`ok      ${title}`);
    continue;
  }
  failed++;
  console.log(`failed  ${title}`);
  for (const complaint of complaints) console.log(`        ${complaint}`);
}
process.exitCode = failed > 0 ? 1 : 0;
