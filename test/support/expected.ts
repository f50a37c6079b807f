// How the keyspace should look afterwards, said as changes to how it looked before: whatever is not named must be
// as it was.

import type { Keyspace, KeyspaceValue } from './keyspace.ts';

type Value = KeyspaceValue | undefined;
/** What becomes of one key; `undefined` means that it is gone. */
export type Change = (before: Value) => Value;
export type Changes = Readonly<Record<string, Change | readonly Change[]>>;

/** The keyspace with these changes. */
export function changed(before: Keyspace, changes: Changes): Keyspace {
  const after: Keyspace = { ...before };
  for (const [key, steps] of Object.entries(changes)) {
    let value: Value = before[key];
    for (const step of Array.isArray(steps) ? steps : [steps]) value = (step as Change)(value);
    if (value === undefined) delete after[key];
    else after[key] = value;
  }
  return after;
}

const lasting = false;
const isEmpty = (value: KeyspaceValue) => Object.keys(value.value).length === 0;
const orGone = (value: KeyspaceValue): Value => (isEmpty(value) ? undefined : value);

export const gone: Change = () => undefined;
export const becomes =
  (value: KeyspaceValue): Change =>
  () =>
    value;

export const text = (value: string, hasTtl = lasting): Change => becomes({ type: 'string', value, hasTtl });
export const list = (...value: string[]): Change => becomes({ type: 'list', value, hasTtl: lasting });
export const members = (...value: string[]): Change =>
  becomes({ type: 'set', value: value.sort(), hasTtl: lasting });
export const zset = (...value: [string, string][]): Change =>
  becomes({ type: 'zset', value, hasTtl: lasting });
export const hash = (value: Record<string, string>): Change =>
  becomes({ type: 'hash', value, hasTtl: lasting });

/** The member leaves a list, a set or a zset; the last one takes the key along. */
export const without =
  (...ids: string[]): Change =>
  (before) => {
    if (before?.type === 'zset')
      return orGone({ ...before, value: before.value.filter(([member]) => !ids.includes(member)) });
    if (before?.type === 'list' || before?.type === 'set') {
      return orGone({ ...before, value: before.value.filter((member) => !ids.includes(member)) });
    }
    throw new Error(`${ids} cannot leave ${JSON.stringify(before)}`);
  };

const listOf = (before: Value): string[] => {
  if (before && before.type !== 'list') throw new Error(`${JSON.stringify(before)} is no list`);
  return before?.value ?? [];
};

/** At the head: behind all that waits. */
export const pushedLeft =
  (id: string): Change =>
  (before) => ({ type: 'list', value: [id, ...listOf(before)], hasTtl: lasting });

/** At the tail: runs next. */
export const pushedRight =
  (id: string): Change =>
  (before) => ({ type: 'list', value: [...listOf(before), id], hasTtl: lasting });

export const scored =
  (member: string, score: string | number): Change =>
  (before) => {
    if (before && before.type !== 'zset') throw new Error(`${JSON.stringify(before)} is no zset`);
    const rows = (before?.value ?? []).filter(([other]) => other !== member);
    const value: [string, string][] = [...rows, [member, String(score)]];
    value.sort((a, b) => Number(a[1]) - Number(b[1]) || (a[0] < b[0] ? -1 : 1));
    return { type: 'zset', value, hasTtl: lasting };
  };

export const joined =
  (...ids: string[]): Change =>
  (before) => {
    if (before && before.type !== 'set') throw new Error(`${JSON.stringify(before)} is no set`);
    return { type: 'set', value: [...(before?.value ?? []), ...ids].sort(), hasTtl: lasting };
  };

/** Fields of a hash; `undefined` deletes one. */
export const fields =
  (values: Readonly<Record<string, string | undefined>>): Change =>
  (before) => {
    if (before && before.type !== 'hash') throw new Error(`${JSON.stringify(before)} is no hash`);
    const value = { ...before?.value };
    for (const [name, field] of Object.entries(values)) {
      if (field === undefined) delete value[name];
      else value[name] = field;
    }
    return orGone({ type: 'hash', value, hasTtl: lasting });
  };

/** Events in order: the name, then the fields in the order in which the wire has them. */
export const events =
  (...added: [string, Record<string, string>?][]): Change =>
  (before) => {
    if (before && before.type !== 'stream') throw new Error(`${JSON.stringify(before)} is no stream`);
    const rows = added.map(([name, body = {}]) => ['event', name, ...Object.entries(body).flat()]);
    return { type: 'stream', value: [...(before?.value ?? []), ...rows], hasTtl: lasting };
  };
