// Key names for TypeScript, from the table that Lua's keys are generated from.

import { keySuffix } from './generated/engine.ts';

/**
 * The root of a queue's keys. On a cluster all keys of a queue must share a slot, so the base name becomes the
 * hash tag unless the user has chosen one; a compensation queue shares its queue's.
 */
export function qualifiedName(prefix: string, name: string, onCluster: boolean): string {
  if (!onCluster || /\{[^}]+\}/.test(`${prefix}:${name}`)) return `${prefix}:${name}`;
  const [base, ...rest] = name.split(':');
  return [prefix, `{${base}}`, ...rest].join(':');
}

/** What decides the slot of a queue's keys on a cluster. */
export function hashTagOf(root: string): string {
  return root.match(/\{([^}]+)\}/)?.[1] ?? root;
}

/** Suffix -> full key for the reserved suffixes, and '' for the prefix of job keys. */
export function keyTable(root: string): Record<string, string> {
  const table: Record<string, string> = { '': `${root}:` };
  for (const suffix of Object.values(keySuffix)) table[suffix] = `${root}:${suffix}`;
  return table;
}

/** A worker's or reader's name on the server, by which others find it. */
export function clientNameOf(prefix: string, queueName: string, suffix: string): string {
  return `${prefix}:${Buffer.from(queueName).toString('base64')}${suffix}`;
}
