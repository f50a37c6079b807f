// What has to be equal: the keyspace under a prefix, with the prefix itself taken out of every name and value.

import type { Redis } from 'ioredis';
import { type KeyspaceValue, snapshot } from '../support/keyspace.ts';

export interface ComparedKey {
  type: KeyspaceValue['type'];
  value: any;
  hasTtl: boolean;
}

export type Space = Record<string, ComparedKey>;

// Fields that hold JSON. Encoders differ in key order and in how they escape, so their values are compared.
const jsonFields = ['opts', 'parent', 'pd'];

export async function readSpace(redis: Redis, prefix: string): Promise<Space> {
  const space: Space = {};
  for (const [suffix, key] of Object.entries(await snapshot(redis, `${prefix}:`))) {
    space[suffix] = anonymous({ ...key }, prefix);
  }
  return space;
}

function anonymous(key: ComparedKey, prefix: string): ComparedKey {
  const text = JSON.stringify(key.value).replaceAll(prefix, 'PREFIX');
  const plain: ComparedKey = { ...key, value: JSON.parse(text) };
  if (plain.type === 'zset')
    plain.value = plain.value.map(([member, score]: [string, string]) => [member, Number(score)]);
  if (plain.type === 'hash')
    for (const field of jsonFields) if (field in plain.value) plain.value[field] = parsed(plain.value[field]);
  return plain;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** For batches: the state of every job, whatever the order in which jobs got there. */
export function withoutOrder(space: Space): Space {
  const sorted: Space = {};
  for (const [suffix, key] of Object.entries(space)) {
    const value = key.type === 'list' || key.type === 'stream' ? [...key.value].sort(byText) : key.value;
    sorted[suffix] = { ...key, value };
  }
  return sorted;
}

function byText(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}
