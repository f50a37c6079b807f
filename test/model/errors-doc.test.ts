// docs/errors.md is written by hand; this keeps it and the catalogue equal, in both directions and to the letter.

import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type ErrorKey, errorCatalogue } from '../../src/model/errors.ts';

const placeholders = new Proxy({}, { get: (_, name) => `<${String(name)}>` });

function rowFor(key: ErrorKey): string {
  const { family, code, exact, message, hint } = errorCatalogue[key];
  // A table cell is one line, and | would end it.
  const shape = message(placeholders)
    .replace(/\s*\n\s*/g, ' ⏎ ')
    .replaceAll('|', '\\|');
  const cells = [
    `\`${key}\``,
    code === undefined ? '' : `${code}`,
    family,
    `\`${shape}\`${exact ? ' ¹' : ''}`,
    hint,
  ];
  return `| ${cells.join(' | ')} |`;
}

function documentedRows(): Map<string, string> {
  const text = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');
  // Keys are in capitals; other tables of the page begin their rows with other things.
  return new Map([...text.matchAll(/^\| `([A-Z_]+)` .*$/gm)].map(([row, key]) => [key as string, row]));
}

const keys = Object.keys(errorCatalogue) as ErrorKey[];
const documented = documentedRows();

const src = new URL('../../src/', import.meta.url);
const sources = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && file !== 'model/error-policy.ts')
  .map((file) => readFileSync(new URL(file, src), 'utf8'));

it.each(keys)('%s is documented as it is', (key) => {
  expect(documented.get(key)).toBe(rowFor(key));
});

it('nothing is documented that does not exist', () => {
  expect([...documented.keys()].filter((key) => !Object.hasOwn(errorCatalogue, key))).toEqual([]);
});

// The numbers of BullMQ's scripts have names here whether or not a script of ours says them.
it.each(keys.filter((key) => errorCatalogue[key].code === undefined))('%s is thrown by something', (key) => {
  expect(sources.some((text) => text.includes(`'${key}'`))).toBe(true);
});
