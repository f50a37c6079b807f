// The whole keyspace under a prefix as plain values, so that a forgotten key is a failing test.

import type { Redis } from 'ioredis';

export type KeyspaceValue =
  | { type: 'string'; value: string; hasTtl: boolean }
  | { type: 'list' | 'set'; value: string[]; hasTtl: boolean }
  | { type: 'zset'; value: [string, string][]; hasTtl: boolean }
  | { type: 'hash'; value: Record<string, string>; hasTtl: boolean }
  | { type: 'stream'; value: string[][]; hasTtl: boolean };

export type Keyspace = Record<string, KeyspaceValue>;

export interface SnapshotOptions {
  /** Key names (without the prefix) to leave out. By default the memory of past calls, which is not state. */
  ignore?: (suffix: string) => boolean;
}

const isReplayMemory = (suffix: string) => suffix.includes('meta:replay:');

/** Keys are given without the prefix, sorted; set members are sorted; stream entries without their ids. */
export async function snapshot(client: Redis, prefix: string, { ignore = isReplayMemory }: SnapshotOptions = {}): Promise<Keyspace> {
  const keys: string[] = [];
  let cursor = '0';
  do {
    const [next, page] = await client.scan(cursor, 'MATCH', `${prefix.replace(/[*?[\]\\]/g, '\\$&')}*`, 'COUNT', 1000);
    cursor = next;
    keys.push(...page);
  } while (cursor !== '0');
  const space: Keyspace = {};
  for (const key of [...new Set(keys)].sort()) {
    const suffix = key.slice(prefix.length);
    if (!ignore(suffix)) space[suffix] = await readKey(client, key);
  }
  return space;
}

async function readKey(client: Redis, key: string): Promise<KeyspaceValue> {
  const type = await client.type(key);
  const hasTtl = (await client.pttl(key)) >= 0;
  switch (type) {
    case 'string':
      return { type, value: (await client.get(key)) ?? '', hasTtl };
    case 'list':
      return { type, value: await client.lrange(key, 0, -1), hasTtl };
    case 'set':
      return { type, value: (await client.smembers(key)).sort(), hasTtl };
    case 'zset': {
      const flat = (await client.call('ZRANGE', key, '0', '-1', 'WITHSCORES')) as (string | [string, string])[];
      const rows: [string, string][] = [];
      // RESP3 answers in pairs, RESP2 flat.
      if (Array.isArray(flat[0])) for (const [member, score] of flat as [string, string][]) rows.push([member, String(score)]);
      else for (let i = 0; i < flat.length; i += 2) rows.push([flat[i] as string, flat[i + 1] as string]);
      return { type, value: rows, hasTtl };
    }
    case 'hash':
      return { type, value: await client.hgetall(key), hasTtl };
    case 'stream':
      return { type, value: (await client.xrange(key, '-', '+')).map(([, fields]) => fields), hasTtl };
    default:
      throw new Error(`unexpected type ${type} of ${key}`);
  }
}
