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
export async function snapshot(
  client: Redis,
  prefix: string,
  { ignore = isReplayMemory }: SnapshotOptions = {},
): Promise<Keyspace> {
  const keys: string[] = [];
  let cursor = '0';
  do {
    const [next, page] = await client.scan(
      cursor,
      'MATCH',
      `${prefix.replace(/[*?[\]\\]/g, '\\$&')}*`,
      'COUNT',
      1000,
    );
    cursor = next;
    keys.push(...page);
  } while (cursor !== '0');
  const space: Keyspace = {};
  const read = [...new Set(keys)].sort().filter((key) => !ignore(key.slice(prefix.length)));
  const kinds = await pipelined<string | number>(
    client,
    read.flatMap((key) => [
      ['type', key],
      ['pttl', key],
    ]),
  );
  const values = await pipelined<unknown>(
    client,
    read.map((key, i) => readCommand(kinds[2 * i] as string, key)),
  );
  for (const [i, key] of read.entries()) {
    space[key.slice(prefix.length)] = keyspaceValue(
      kinds[2 * i] as string,
      values[i],
      (kinds[2 * i + 1] as number) >= 0,
    );
  }
  return space;
}

// One round trip for all keys: suites take thousands of snapshots.
async function pipelined<T>(client: Redis, commands: string[][]): Promise<T[]> {
  const replies = (await client.pipeline(commands).exec()) ?? [];
  return replies.map(([error, reply]) => {
    if (error) throw error;
    return reply as T;
  });
}

function readCommand(type: string, key: string): string[] {
  switch (type) {
    case 'string':
      return ['get', key];
    case 'list':
      return ['lrange', key, '0', '-1'];
    case 'set':
      return ['smembers', key];
    case 'zset':
      return ['zrange', key, '0', '-1', 'WITHSCORES'];
    case 'hash':
      return ['hgetall', key];
    case 'stream':
      return ['xrange', key, '-', '+'];
    default:
      throw new Error(`unexpected type ${type} of ${key}`);
  }
}

function keyspaceValue(type: string, value: unknown, hasTtl: boolean): KeyspaceValue {
  switch (type) {
    case 'string':
      return { type, value: value as string, hasTtl };
    case 'list':
      return { type, value: value as string[], hasTtl };
    case 'set':
      return { type, value: (value as string[]).sort(), hasTtl };
    case 'zset':
      return { type, value: scoredPairs(value as (string | [string, string])[]), hasTtl };
    case 'hash':
      return { type, value: value as Record<string, string>, hasTtl };
    default:
      return { type: 'stream', value: (value as [string, string[]][]).map(([, fields]) => fields), hasTtl };
  }
}

// RESP3 answers in pairs, RESP2 flat.
function scoredPairs(flat: (string | [string, string])[]): [string, string][] {
  if (Array.isArray(flat[0]))
    return (flat as [string, string][]).map(([member, score]) => [member, String(score)]);
  const rows: [string, string][] = [];
  for (let i = 0; i < flat.length; i += 2) rows.push([flat[i] as string, flat[i + 1] as string]);
  return rows;
}
