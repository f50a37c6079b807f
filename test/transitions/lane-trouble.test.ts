// A lane that cannot be read, or a job of one, costs itself: everybody else is fetched, admitted and healed.

import { describe, expect, it } from 'vitest';
import { exchangeCall, maintainCall, pushCompleteInLane } from '../../src/store/generated/engine.ts';
import {
  type Command,
  hset,
  job,
  lane,
  laneFields,
  laneRules,
  NOW,
  ROOT,
  record,
  TOKEN,
  usedQueue,
} from '../support/given.ts';
import type { Keyspace } from '../support/keyspace.ts';
import { completion, items, noFetch, seenInLane } from './edges.ts';
import { useTables } from './tables.ts';

const tables = useTables();
const poison: Command = ['SET', `${ROOT}:meta:lane:a`, 'x'];
const rules = (orderingDelayMs = '0') => usedQueue(ROOT, laneRules({ used: 'dh', orderingDelayMs }));

/** A job whose time has come. */
const due = (id: string, laneName: string, fields: Record<string, string> = {}): Command[] => [
  hset(`${ROOT}:${id}`, record({ ...laneFields('5', '1', laneName), delay: '50', ...fields })),
  ['ZADD', `${ROOT}:meta:lane-delayed`, String(NOW - 10), id],
  ['ZADD', `${ROOT}:de`, '-1', id],
];

/** A lane whose first job was held back until now. */
const held = (name: string): Command[] => [
  ...lane({ name, resting: [`r-${name}`] }),
  ['ZADD', `${ROOT}:meta:lane-held`, String(NOW - 10), name],
];

async function fetch(now = NOW, completed: readonly (typeof completion & { lane: string })[] = []) {
  const head = { ...noFetch, fetchCount: 10, token: TOKEN };
  const ended = completed.map((one) => ({ ...seenInLane, ...one }));
  const argv = exchangeCall.encode(head, items(pushCompleteInLane, ...ended));
  const [, , body] = await tables.send({ call: exchangeCall, argv }, { now });
  const [refused, fetched, , , next, , trouble] = body as [
    unknown[],
    unknown[],
    unknown,
    unknown,
    string,
    unknown,
    string,
  ];
  return { refused, ids: fetched.filter((_, i) => i % 2 === 0), next: Number(next), trouble };
}

const content = (space: Keyspace, key: string) => space[`q:${key}`]?.value;
const dueTimes = async (key: string) =>
  Object.fromEntries((content(await tables.keyspace(), key) as [string, string][] | undefined) ?? []);

describe('a lane that cannot be read', () => {
  it('keeps no other job from being fetched when one of its own comes due', async () => {
    await tables.given(rules(), [poison], due('d1', 'a'), due('d2', 'b'), job('waiting', { id: 'plain' }));
    expect(await fetch()).toMatchObject({ ids: ['plain', 'd2'], trouble: '' });
    expect(content(await tables.keyspace(), 'meta:lane-out')).toEqual({ b: 'd2' });
    // It is not asked for again and again.
    const { d1 } = await dueTimes('meta:lane-delayed');
    expect(Number(d1)).toBeGreaterThan(NOW + 1_000);
    expect(await fetch()).toMatchObject({ ids: [], next: Number(d1), trouble: '' });
    // Still counted, and it goes on once somebody has put its lane right.
    expect(content(await tables.keyspace(), 'de')).toEqual([['d1', '-1']]);
    await tables.admin.del(poison[1]!);
    expect((await fetch(Number(d1))).ids).toEqual(['d1']);
  });

  it('keeps no other lane from going on whose first job was held back', async () => {
    await tables.given(
      held('a'),
      held('b'),
      rules('10'),
      [['DEL', poison[1]!], poison],
      job('waiting', { id: 'plain' }),
    );
    expect(await fetch()).toMatchObject({ ids: ['plain', 'r-b'], trouble: '' });
    const { a, ...others } = await dueTimes('meta:lane-held');
    expect(Number(a)).toBeGreaterThan(NOW + 1_000);
    expect(others).toEqual({});
  });

  it('keeps no other job from being fetched when one of its own lies before them', async () => {
    // Somebody who knows nothing of lanes has put it there.
    const strange = job('waiting', { id: 'd1', fields: laneFields() });
    await tables.given(rules(), [poison], strange, job('waiting', { id: 'plain' }));
    expect(await fetch()).toMatchObject({ ids: ['plain'], trouble: '' });
    const { d1 } = await dueTimes('meta:lane-delayed');
    expect(Number(d1)).toBeGreaterThan(NOW + 1_000);
    expect(await fetch()).toMatchObject({ ids: [], next: Number(d1), trouble: '' });
    await tables.admin.del(poison[1]!);
    expect((await fetch(Number(d1))).ids).toEqual(['d1']);
  });

  it('fails nobody who ends a job of it, also where its first job would be held back', async () => {
    await tables.given(
      lane({ out: ['1'] }),
      [hset(`${ROOT}:meta:lane-out`, { a: '1' }), ...rules('10'), poison],
      job('active', { fields: laneFields() }),
    );
    const ended = { ...completion, ...seenInLane, jobId: '1', lane: 'a' };
    expect(await fetch(NOW, [ended])).toMatchObject({ refused: [], trouble: '' });
    expect(content(await tables.keyspace(), 'completed')).toEqual([['1', String(NOW)]]);
  });

  it('keeps nobody from being noted down who goes on in the same call', async () => {
    const inLane = (id: string, name: string) => ({ ...completion, ...seenInLane, jobId: id, lane: name });
    const active = (id: string, name: string) => job('active', { id, fields: laneFields('5', '1', name) });
    await tables.given(
      [...lane({ out: ['1'] }), ...lane({ name: 'b', out: ['2'], resting: ['r1'] })],
      [hset(`${ROOT}:meta:lane-out`, { a: '1' }), ...rules(), poison],
      [...active('1', 'a'), ...active('2', 'b'), ...due('d1', 'a')],
    );
    expect(await fetch(NOW, [inLane('1', 'a'), inLane('2', 'b')])).toMatchObject({
      refused: [],
      trouble: '',
    });
    expect(content(await tables.keyspace(), 'meta:lane-out')).toEqual({ b: 'r1' });
  });

  it('keeps no other lane from being healed', async () => {
    const given = [...lane({ name: 'z', out: ['gone'], resting: ['r1'] }), ...rules()];
    const tick = { call: maintainCall, argv: maintainCall.encode({ maxStalls: 1, intervalMs: 30_000 }) };
    await tables.given(given, [poison], due('d1', 'a'));
    await tables.run(tick);
    const healed = await tables.keyspace();
    expect(content(healed, 'meta:lane-out')).toEqual({ z: 'r1' });
    expect(content(healed, 'wait')).toEqual(['r1']);
    // Nor does what all of them have in common.
    await tables.given(given, [['SET', `${ROOT}:meta:lane-held`, 'x']]);
    await tables.run(tick);
    expect(content(await tables.keyspace(), 'wait')).toBeUndefined();
    await tables.given(given, [['SET', `${ROOT}:meta:lane-delayed`, 'x']]);
    await tables.run(tick);
    expect(content(await tables.keyspace(), 'wait')).toEqual(['r1']);
  });
});

describe('a job whose place in its lane cannot be read', () => {
  it('keeps no other from being admitted to the same lane', async () => {
    await tables.given(rules(), due('d1', 'a', { orderMs: 'soon' }), due('d2', 'a'));
    expect(await fetch()).toMatchObject({ ids: ['d2'], trouble: '' });
    expect(Object.keys(await dueTimes('meta:lane-delayed'))).toEqual(['d1']);
  });
});
