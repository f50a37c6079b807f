// What the documents tell people to type exists, and what they point at is there.

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { filesBelow, textOf } from './files.mjs';

export const title = 'commands and links of the documents exist';

const NPM_SCRIPT = /\bnpm (?:run (?:--silent )?([\w:-]+)|(test)\b)/g;
const NODE_FILE = /\bnode ((?:scripts|examples|bench)\/[\w./-]+\.mjs)/g;
const LINK = /\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)/g;

export function check(root) {
  const { scripts = {} } = JSON.parse(textOf(root, 'package.json') || '{}');
  const complaints = [];
  const files = [...filesBelow(root, 'docs'), 'README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'];
  for (const path of files.filter((file) => file.endsWith('.md'))) {
    const text = textOf(root, path);
    if (text === '') complaints.push(`${path} is missing`);
    for (const [, named, test] of text.matchAll(NPM_SCRIPT)) {
      const script = named ?? test;
      if (!(script in scripts)) complaints.push(`${path}: package.json has no script "${script}"`);
    }
    for (const [, file] of text.matchAll(NODE_FILE)) {
      if (!existsSync(join(root, file))) complaints.push(`${path}: there is no ${file}`);
    }
    for (const [, target] of text.matchAll(LINK)) {
      if (!existsSync(join(root, dirname(path), target)))
        complaints.push(`${path}: the link to ${target} leads nowhere`);
    }
  }
  return complaints;
}
