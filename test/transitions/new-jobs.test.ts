// Jobs that are fetched together are read in the way that costs the least: without the names of their fields, where the
// values themselves say which is which. What a worker makes of a job does not depend on it.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeRecord } from '../../src/store/codec.ts';
import { decodeFetched } from '../../src/store/fetched-records.ts';
import { exchangeCall, pushCompleteInLane } from '../../src/store/generated/engine.ts';
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
import { completion, fetching, items, noFetch, seenInLane } from './edges.ts';
import { commandsOf, runShim } from './shim.ts';
import { type Request, useTables } from './tables.ts';

const tables = useTables();

type Fields = readonly (readonly [string, string])[];

const keyOf = (id: string) => `${ROOT}:${id}`;
/** In the order in which they are given; with data that was long for a while, the server has an order of its own. */
const stored = (id: string, fields: Fields, hasBeenLong: boolean): Command[] => [
  ['HSET', keyOf(id), ...fields.flat()],
  ...(hasBeenLong
    ? [hset(keyOf(id), { data: 'x'.repeat(100) }), hset(keyOf(id), { data: new Map(fields).get('data')! })]
    : []),
];

async function decodedAsWhole(ids: readonly string[]) {
  const raw = await Promise.all(ids.map((id) => tables.admin.hgetall(keyOf(id))));
  return new Map(ids.map((id, i) => [id, decodeRecord(id, Object.entries(raw[i]!).flat())]));
}

const decodedFrom = (fetched: readonly unknown[]) =>
  new Map(decodeFetched(fetched).map((record) => [record.id, record]));

/** By a script of its own, so that nothing is guessed from what the calls before have met. */
async function fetchedBy(request: Request) {
  const { reply, error } = await runShim(tables.admin, request);
  expect(error).toBeUndefined();
  const [refused, fetched, , , , , trouble] = reply![2] as [unknown[], unknown[], ...string[]];
  expect([refused, trouble]).toEqual([[], '']);
  return decodedFrom(fetched);
}

const names = [
  'work',
  'work',
  'work',
  'work',
  'Work',
  'true',
  'null',
  '5',
  '"work"',
  '{"attempts":1}',
  '[1]',
  '',
  'écrire',
  '-1',
];
const datas = [
  '{"n":1}',
  '{"a":1}',
  '{"attempts":0}',
  '{"attempts":3}',
  'true',
  '5',
  '"work"',
  'null',
  `{"attempts":5,"text":"${'x'.repeat(70)}"}`,
  `"${'x'.repeat(62)}"`,
  `"${'x'.repeat(63)}"`,
];
const optionTexts = [
  '{"attempts":0}',
  '{"attempts":3}',
  '{"attempts":1}',
  '{}',
  '{"delay":0,"attempts":0}',
  `{"attempts":0,"jobId":"${'y'.repeat(70)}"}`,
];
const extras: Record<string, string> = {
  parentKey: 'bull:p:1',
  ats: '1',
  progress: '5',
  deid: 'work',
  stc: '0',
};

const fieldsArbitrary = fc.record({
  name: fc.constantFrom(...names),
  data: fc.constantFrom(...datas),
  opts: fc.constantFrom(...optionTexts),
  timestamp: fc.constantFrom(String(NOW), '0', '12'),
  delay: fc.constantFrom(...Array<string>(7).fill('0'), '5'),
  priority: fc.constantFrom(...Array<string>(7).fill('0'), '3'),
});
const extraArbitrary = fc.constantFrom(...Array<undefined>(15).fill(undefined), ...Object.keys(extras));
const withExtra = (fields: Record<string, string>, extra: string | undefined): [string, string][] =>
  Object.entries(extra === undefined ? fields : { ...fields, [extra]: extras[extra]! });

const shuffled = <Value>(values: readonly Value[]) =>
  fc.shuffledSubarray([...values], { minLength: values.length, maxLength: values.length });

/** Yoke begins options so. */
const beginsLikeOptions = (text: string) => text.startsWith('{"attempts":');
/** So do all who add jobs, in any place. What does not lies in the order of the wire. */
const areOptions = (text: string) => text.includes('"attempts":');

/** In the order in which they are written, with the texts in another one, or in any. */
const plainArbitrary = fc
  .tuple(fieldsArbitrary, extraArbitrary, fc.constantFrom('written', 'written', 'texts', 'texts', 'all'))
  .chain(([fields, extra, order]): fc.Arbitrary<Fields> => {
    const written = withExtra(fields, extra);
    if (order === 'written' || !areOptions(fields.opts)) return fc.constant(written);
    if (order === 'all') return shuffled(written);
    return shuffled(written.slice(0, 3)).map((texts) => [...texts, ...written.slice(3)]);
  });

/** Jobs of `wait`, or of `prioritized`, and as many again that the fetch leaves. */
async function fetchAll(records: readonly Fields[], longOnes: readonly boolean[], isPrioritized = false) {
  const ids = records.map((_, i) => `j${i}`);
  await tables.given([
    ...usedQueue(),
    ...records.flatMap((fields, i) => [
      ...stored(ids[i]!, fields, longOnes[i] === true && areOptions(new Map(fields).get('opts')!)),
      (isPrioritized
        ? ['ZADD', `${ROOT}:prioritized`, String(i), ids[i]!]
        : ['LPUSH', `${ROOT}:wait`, ids[i]!]) as Command,
    ]),
    ...records.flatMap((_, i) => job(isPrioritized ? 'prioritized' : 'waiting', { id: `left${i}` })),
  ]);
  const expected = await decodedAsWhole(ids);
  return { expected, found: await fetchedBy(fetching({ fetchCount: records.length })) };
}

describe('a job means the same however it is read', () => {
  it('without a lane, whatever its fields look like and in whatever order they lie', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(plainArbitrary, { minLength: 2, maxLength: 5 }),
        fc.array(fc.boolean(), { maxLength: 5 }),
        async (records, longOnes) => {
          const { expected, found } = await fetchAll(records, longOnes);
          for (const [id, of] of found) expect(of).toEqual(expected.get(id));
          expect(found.size).toBe(records.length);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('with a priority', async () => {
    const priorityOf = fc.constantFrom('3', '3', '3', '17', '2097151');
    const priorArbitrary = fc
      .tuple(plainArbitrary, priorityOf)
      .map(([fields, priority]) =>
        fields.map(([field, value]) => [field, field === 'priority' ? priority : value] as const),
      );
    await fc.assert(
      fc.asyncProperty(
        fc.array(priorArbitrary, { minLength: 2, maxLength: 5 }),
        fc.array(fc.boolean(), { maxLength: 5 }),
        async (records, longOnes) => {
          const { expected, found } = await fetchAll(records, longOnes, true);
          for (const [id, of] of found) expect(of).toEqual(expected.get(id));
          expect(found.size).toBe(records.length);
        },
      ),
      { numRuns: 1000 },
    );
  });

  // Under an id that stands in a line, or is out of a lane, may be another job by now, with as many fields.
  const kinds = ['lane', 'lane', 'lane', 'sequence', 'other', 'begun'] as const;
  // We have added every job of a lane ourselves.
  const laneArbitrary = fc.tuple(
    fieldsArbitrary.filter(({ opts }) => beginsLikeOptions(opts)),
    extraArbitrary,
    fc.constantFrom(...kinds, 'plain' as const),
    fc.boolean(),
  );
  type Row = typeof laneArbitrary extends fc.Arbitrary<infer Value> ? Value : never;

  const laneOf = (i: number) => `${i % 3 === 0 ? 'work' : 'lane'}${i}`;
  const fieldsOf = ([fields, extra, kind]: Row, i: number): Fields => {
    const ties: Record<string, string> = { lane: laneOf(i), orderMs: `+${NOW - 7}` };
    if (kind === 'sequence') ties.laneSeq = '9';
    if (kind === 'other') return Object.entries({ ...fields, parentKey: 'bull:p:1', parent: '{}' });
    if (kind === 'begun') return Object.entries({ ...fields, processedOn: '5', ats: '1' });
    return withExtra(kind === 'plain' ? fields : { ...fields, ...ties }, extra);
  };
  const storedIn = (id: string, row: Row, i: number) => stored(id, fieldsOf(row, i), row[3]);

  it('next in its lane', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(laneArbitrary, { minLength: 2, maxLength: 5 }), async (rows) => {
        const following = rows.map((_, i) => String(100 + i));
        await tables.given([
          ...usedQueue(),
          ...rows.flatMap((_, i) => [
            ...lane({ name: laneOf(i), out: [`a${i}`] }),
            ...job('active', { id: `a${i}`, fields: laneFields('5', '1', laneOf(i)) }),
          ]),
          ...rows.flatMap((row, i): Command[] => [
            ...storedIn(following[i]!, row, i),
            ['RPUSH', `${ROOT}:meta:line:${laneOf(i)}`, following[i]!],
            ['ZADD', `${ROOT}:de`, String(NOW - 9), following[i]!],
          ]),
          hset(`${ROOT}:meta`, laneRules({ used: 'l' })),
        ]);
        const expected = await decodedAsWhole(following);
        const argv = items(
          pushCompleteInLane,
          ...rows.map((_, i) => ({ ...completion, ...seenInLane, jobId: `a${i}`, lane: laneOf(i) })),
        );
        const fetch = { ...noFetch, fetchCount: rows.length, token: 'mine:2' };
        const found = await fetchedBy({ call: exchangeCall, argv: exchangeCall.encode(fetch, argv) });
        for (const [id, of] of found) expect(of).toEqual(expected.get(id));
        expect([...found.keys()].sort()).toEqual(following);
      }),
      { numRuns: 500 },
    );
  });

  it('ready in a queue that has lanes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(laneArbitrary, { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        async (rows, hasOwn) => {
          const ids = rows.map((_, i) => String(100 + i));
          await tables.given([
            ...usedQueue(),
            ...rows.flatMap((row, i): Command[] => [
              ...storedIn(ids[i]!, row, i),
              ['LPUSH', `${ROOT}:wait`, ids[i]!],
              ...(row[2] === 'plain' ? [] : lane({ name: laneOf(i), out: [ids[i]!] })),
            ]),
            ...rows.flatMap((_, i) => job('waiting', { id: `left${i}` })),
            hset(`${ROOT}:meta`, laneRules({ used: hasOwn ? 'lo' : 'l' })),
          ]);
          const expected = await decodedAsWhole(ids);
          const found = await fetchedBy(fetching({ fetchCount: rows.length }));
          for (const [id, of] of found) expect(of).toEqual(expected.get(id));
          expect([...found.keys()]).toEqual(ids);
        },
      ),
      { numRuns: 500 },
    );
  });
});

it('a job of another lane under an id that stands in a line does not start out of turn', async () => {
  await tables.given([
    ...usedQueue(),
    ...lane({ name: 'a', out: ['a1'] }),
    ...job('active', { id: 'a1', fields: laneFields('5', '1', 'a') }),
    ...lane({ name: 'a2', out: ['c1'] }),
    ...job('active', { id: 'c1', fields: laneFields('5', '1', 'a2') }),
    ...lane({ name: 'b', out: ['b1'] }),
    ...job('foreign', { id: 'b1', fields: laneFields('5', '1', 'b') }),
    hset(keyOf('100'), record({ lane: 'b', orderMs: `+${NOW - 7}` })),
    hset(keyOf('101'), record({ lane: 'a2', orderMs: `+${NOW - 7}` })),
    ['RPUSH', `${ROOT}:meta:line:a`, '100'],
    ['RPUSH', `${ROOT}:meta:line:a2`, '101'],
    hset(`${ROOT}:meta`, laneRules({ used: 'ls' })),
  ]);
  const argv = items(
    pushCompleteInLane,
    { ...completion, ...seenInLane, jobId: 'a1', lane: 'a' },
    { ...completion, ...seenInLane, jobId: 'c1', lane: 'a2' },
  );
  const fetch = { ...noFetch, fetchCount: 5, token: 'mine:2' };
  const [, fetched] = await tables.run({ call: exchangeCall, argv: exchangeCall.encode(fetch, argv) });
  expect([...decodedFrom(fetched as unknown[]).keys()]).toEqual(['101']);
  const { 'q:meta:lane-out': out } = await tables.keyspace();
  expect((out!.value as Record<string, string>).b).toBe('b1');
});

describe('a lock that is none', () => {
  const poisoned = (id: string): Command => ['LPUSH', `${keyOf(id)}:lock`, 'x'];

  it.each([[1], [4]])('keeps nobody from starting, of %i fetched together', async (fetchCount) => {
    const ids = ['w0', 'w1', 'w2', 'w3'].slice(0, fetchCount);
    await tables.given([
      ...usedQueue(),
      ...ids.flatMap((id) => job('waiting', { id })),
      ...ids.flatMap((id) => job('waiting', { id: `left-${id}` })),
      poisoned(ids[0]!),
      poisoned(ids.at(-1)!),
    ]);
    const [, fetched, , , , , trouble] = await tables.run(fetching({ fetchCount, token: TOKEN }));
    expect(trouble).toBe('');
    expect([...decodedFrom(fetched as unknown[]).keys()]).toEqual(ids);
    for (const id of ids) expect(await tables.admin.get(`${keyOf(id)}:lock`)).toBe(TOKEN);
    expect(await tables.admin.lrange(`${ROOT}:active`, 0, -1)).toEqual([...ids].reverse());
    const told = (await tables.admin.xrange(`${ROOT}:events`, '-', '+')).map(([, fields]) => fields[3]);
    expect(told.filter((id) => ids.includes(id!))).toEqual(ids);
  });
});

it.each(['waiting', 'prioritized'] as const)(
  'reads small new jobs that are %s with one command each',
  async (state) => {
    await tables.given([
      ...usedQueue(),
      ...Array.from({ length: 8 }, (_, i) => job(state, { id: `w${i}` })).flat(),
    ]);
    expect(record().opts).toSatisfy(beginsLikeOptions);
    const run = await runShim(tables.admin, fetching({ fetchCount: 4 }));
    const reads = commandsOf(run).map(({ command }) => command);
    expect(reads.filter((command) => command === 'HVALS')).toHaveLength(4);
    expect(reads.filter((command) => command === 'HMGET' || command === 'HLEN')).toEqual([]);
  },
);

it('tells name, options and priority once of all that follow each other with the same', async () => {
  const rows = {
    w0: record({ data: '{"n":0}' }),
    w1: record({ data: '{"n":1}' }),
    w2: record({ name: 'other' }),
    w3: record({ name: 'other', timestamp: String(NOW - 3) }),
    w4: record({ parentKey: 'bull:p:1', parent: '{}' }),
    w5: record({ name: 'other' }),
    w6: record({ name: 'other' }),
    w7: record({ name: 'other', opts: '{"attempts":7}' }),
  };
  const ids = Object.keys(rows);
  await tables.given([
    ...usedQueue(),
    ...Object.entries(rows).flatMap(([id, fields]): Command[] => [
      hset(keyOf(id), fields),
      ['LPUSH', `${ROOT}:wait`, id],
    ]),
    ...ids.flatMap((id) => job('waiting', { id: `left-${id}` })),
  ]);
  const expected = await decodedAsWhole(ids);
  const [, fetched] = await tables.run(fetching({ fetchCount: ids.length, token: TOKEN }));
  const told = (fetched as (string | (string | true)[])[]).filter((entry) => Array.isArray(entry));
  // Behind one that is tied to others the next is read by name.
  expect(told.map((values) => values[0] === true)).toEqual([
    false,
    true,
    false,
    true,
    false,
    false,
    true,
    false,
  ]);
  const found = decodedFrom(fetched as unknown[]);
  expect([...found.keys()]).toEqual(ids);
  for (const [id, of] of found) expect(of).toEqual(expected.get(id));
});
