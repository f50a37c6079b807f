// Finds records of jobs by their keys alone, for the sweep of those that no collection holds.

import { mastersOf } from './client.ts';
import { keySuffix } from './generated/engine.ts';
import type { Session } from './session.ts';

const tails = new Set(['logs', 'dependencies', 'processed', 'failed', 'unsuccessful', 'lock']);
const reserved = new Set<string>([
  ...Object.values(keySuffix),
  'groups',
  'compensation',
  'delay',
  'priority',
  'meta',
]);

/** The ids of all jobs that have a key; `count` keys are looked at per step. */
export async function jobIdsByKeys(session: Session, count: number): Promise<string[]> {
  const ids = new Set<string>();
  const prefix = `${session.root}:`;
  for (const node of mastersOf(await session.ready())) {
    let cursor = '0';
    do {
      const [next, keys] = (await node.call('SCAN', [
        cursor,
        'MATCH',
        `${escapeGlob(prefix)}*`,
        'COUNT',
        count,
      ])) as [string, string[]];
      cursor = next;
      for (const key of keys) {
        const id = idOf(key.slice(prefix.length));
        if (id !== undefined) ids.add(id);
      }
    } while (cursor !== '0');
  }
  return [...ids];
}

// Ids with colons of their own are left alone: of a longer key nobody can tell where the id ends. Those of scheduler
// iterations begin with a reserved word besides.
function idOf(rest: string): string | undefined {
  const colon = rest.indexOf(':');
  const first = colon < 0 ? rest : rest.slice(0, colon);
  if (first === '' || reserved.has(first)) return undefined;
  return colon < 0 || tails.has(rest.slice(colon + 1)) ? first : undefined;
}

function escapeGlob(text: string): string {
  return text.replace(/[*?[\]\\]/g, '\\$&');
}
