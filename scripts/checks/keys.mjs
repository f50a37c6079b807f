// docs/keys.md names every key that lua/lib/keys.lua can spell, with its type, who writes it and who removes it.

import { quoted, tableRows, textOf } from './files.mjs';

const DOC = 'docs/keys.md';
const TYPES = ['hash', 'list', 'set', 'stream', 'string', 'zset', 'none'];

export const title = 'docs/keys.md equals lua/lib/keys.lua';

/** The key patterns that the module spells, as the document writes them: `wait`, `<id>:lock`, `de:<…>`. */
export function keysSpelled(source) {
  const table = (name) => source.match(new RegExp(`keys\\.${name} = \\{([^}]*)\\}`))?.[1] ?? '';
  const values = (text) => [...text.matchAll(/"([^"]+)"/g)].map((match) => match[1]);
  const composed = [...source.matchAll(/return (?:q\.)?root \.\. ":([\w-]+(?::[\w-]+)*:)" \.\. \w+/g)].map(
    (match) => `${match[1]}<…>`,
  );
  const whole = [...source.matchAll(/return (?:q\.)?root \.\. ":([\w-]+(?::[\w-]+)*)"$/gm)].map(
    (match) => match[1],
  );
  return [
    '<id>',
    ...values(table('suffix')),
    ...values(table('tail')).map((tail) => `<id>${tail}`),
    ...values(table('obsolete')),
    ...composed,
    ...whole,
    ...values(table('group_tail')).map((tail) => `groups:<…>${tail}`),
  ];
}

export function check(root) {
  const markdown = textOf(root, DOC);
  if (markdown === '') return [`${DOC} is missing`];
  const complaints = [];
  const spelled = new Set(keysSpelled(textOf(root, 'lua/lib/keys.lua')));
  const documented = new Set();
  for (const row of tableRows(markdown, 'key')) {
    const [key = row.key] = quoted(row.key);
    // What a placeholder is called is up to the document, but for the job's own id.
    const pattern = key.startsWith('<id>') ? key : key.replace(/<[^>]*>/, '<…>');
    documented.add(pattern);
    if (!spelled.has(pattern))
      complaints.push(`${DOC} has a row for ${key}, which lua/lib/keys.lua does not spell`);
    if (!TYPES.includes(row.type))
      complaints.push(`${DOC}: ${key}: the type is "${row.type}", expected one of ${TYPES.join(', ')}`);
    for (const column of ['writer', 'remover'])
      if (!row[column]) complaints.push(`${DOC}: ${key}: the column "${column}" is empty`);
  }
  for (const key of spelled) if (!documented.has(key)) complaints.push(`${DOC} has no row for ${key}`);
  return complaints;
}
