// Plain jobs take a short way through `add` and `complete`, several at once, and a lane whose only job ends one of its
// own. Whatever a batch is made of, what comes of it is the same as on the long way, and the same as job by job.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeFinishes, failing } from '../../src/core/finishing.ts';
import { newJobRuns, pushNewJob } from '../../src/store/add-batch.ts';
import { addManyCall, exchangeCall, pushAdd } from '../../src/store/generated/engine.ts';
import {
  type Command,
  hset,
  job,
  lane,
  laneFields,
  laneRules,
  NOW,
  ROOT,
  usedQueue,
} from '../support/given.ts';
import {
  addition,
  completingOne,
  completion,
  items as itemsOf,
  keepAll,
  noFetch,
  seen,
  seenInLane,
} from './edges.ts';
import { useTables } from './tables.ts';

const tables = useTables();

const kinds = [
  'plain',
  'plain',
  'plain',
  'in a lane',
  'in a lane',
  'in a lane that is stopped',
  'beside another in its lane',
  'a child',
  'of another worker',
  'without a lease',
  'not active',
  'missing',
] as const;
type Kind = (typeof kinds)[number];

interface Item {
  readonly kind: Kind;
  /** How many rest in its lane. */
  readonly resting: number;
}

const laneOf = (id: string) => `lane ${id}`;
const hasLane = (kind: Kind) => kind.includes('lane');

function given({ kind, resting }: Item, id: string): Command[] {
  const others = Array.from({ length: resting }, (_, i) => `${id}r${i}`);
  const name = laneOf(id);
  const inLane = { id, fields: laneFields('5', '1', name) };
  switch (kind) {
    case 'plain':
      return job('active', { id });
    case 'in a lane':
      return [...lane({ name, out: [id], resting: others }), ...job('active', inLane)];
    case 'in a lane that is stopped':
      return [...lane({ name, out: [id], resting: others, own: 'p' }), ...job('active', inLane)];
    case 'beside another in its lane':
      return [
        ...lane({ name, out: [`${id}b`, id], resting: others }),
        ...job('foreign', { id: `${id}b`, fields: laneFields('4', '0', name) }),
        ...job('active', inLane),
      ];
    case 'a child': {
      const parent = `${id}p`;
      const parentKey = `${ROOT}:${parent}`;
      return [
        ...job('waiting-children', { id: parent, at: NOW - 5, dependencies: [`${ROOT}:${id}`] }),
        ...job('active', {
          id,
          fields: { parentKey, parent: JSON.stringify({ id: parent, queueKey: ROOT }) },
        }),
      ];
    }
    case 'of another worker':
      return job('foreign', { id });
    case 'without a lease':
      return job('expired', { id });
    case 'not active':
      return job('waiting', { id });
    case 'missing':
      return [];
  }
}

const batches = fc.record({
  items: fc.array(fc.record({ kind: fc.constantFrom(...kinds), resting: fc.integer({ min: 0, max: 2 }) }), {
    minLength: 1,
    maxLength: 6,
  }),
  /** Which of them are handed in, in which order; some perhaps twice. */
  order: fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 7 }),
  inOrder: fc.boolean(),
  keepCount: fc.constantFrom('', '', '0', '2'),
  laneConcurrency: fc.constantFrom('1', '1', '2'),
});

/** A lane that is handed over; behind the child, which ends the short way, lanes that are opened. */
const mixed: Item[] = (['in a lane', 'a child', 'in a lane', 'in a lane', 'plain'] as const).map((kind) => ({
  kind,
  resting: 1,
}));
const inMixedOrder = { items: mixed, order: [0], inOrder: true, keepCount: '', laneConcurrency: '1' };

describe('complete', () => {
  it('is the same on the short way, on the long way, job by job, and by the call for one', async () => {
    const taken = { short: 0 };
    await fc.assert(
      fc.asyncProperty(batches, async ({ items, order, inOrder, keepCount, laneConcurrency }) => {
        const ids = items.map((_, i) => `j${i}`);
        const start = [...usedQueue(), ...items.flatMap((item, i) => given(item, ids[i]!))];
        const usesOwn = items.some(({ kind }) => kind === 'in a lane that is stopped');
        if (items.some(({ kind }) => hasLane(kind)))
          start.push(
            hset(
              `${ROOT}:meta`,
              laneRules({ concurrency: laneConcurrency, ...(usesOwn ? { used: 'o' } : {}) }),
            ),
          );
        const handedIn = inOrder ? ids.map((_, i) => i) : order.filter((i) => i < ids.length);
        if (handedIn.length === 0) return;
        // As a worker sends them: each as short as those before it allow.
        const itemOf = (isSeen: boolean, i: number) => {
          const inLane = { ...seenInLane, lane: laneOf(ids[i]!) };
          const what = isSeen ? (hasLane(items[i]!.kind) ? inLane : seen) : {};
          return { ...completion, lane: '', jobId: ids[i]!, keepCount, ...what };
        };
        const completing = (isSeen: boolean, ...of: number[]) => {
          const finishes = of.map((i) => ({
            item: itemOf(isSeen, i),
            of: { jobId: ids[i]!, command: 'moveToFinished', state: 'active' },
          }));
          return { call: exchangeCall, argv: exchangeCall.encode(noFetch, encodeFinishes(finishes)) };
        };

        await tables.given(start);
        const short = await tables.run(completing(true, ...handedIn));
        const shortSpace = await tables.keyspace();
        await tables.given(start);
        const long = await tables.run(completing(false, ...handedIn));
        expect(short).toEqual(long);
        expect(shortSpace).toEqual(await tables.keyspace());

        await tables.given(start);
        const refusals = [];
        for (const one of handedIn) {
          const [refused] = (await tables.run(completing(true, one))) as [string[]];
          refusals.push(refused.slice(1));
        }
        const oneByOne = await tables.keyspace();
        const { 'q:events': _one, ...apart } = oneByOne;
        const { 'q:events': _all, ...together } = shortSpace;
        expect(together).toEqual(apart);

        for (const isSeen of [true, false]) {
          await tables.given(start);
          const told = [];
          for (const one of handedIn) told.push(await tables.run(completingOne(itemOf(isSeen, one))));
          expect(told).toEqual(refusals);
          expect(await tables.keyspace()).toEqual(oneByOne);
        }
        taken.short += inOrder ? 1 : 0;
      }),
      { numRuns: 150, examples: [[inMixedOrder]] },
    );
    expect(taken.short).toBeGreaterThan(20);
  });

  it('a lane whose job failed goes on before one that is handed over behind it', async () => {
    const ids = ['j0', 'j1'];
    const inLane: Item = { kind: 'in a lane', resting: 1 };
    const start = [
      ...usedQueue(),
      ...ids.flatMap((id) => given(inLane, id)),
      hset(`${ROOT}:meta`, laneRules({ concurrency: '1' })),
    ];
    const failed = failing(
      'j0',
      completion.token,
      { reason: 'broke', stacktrace: '["at x"]' },
      { attempts: 1, ...keepAll },
    );
    const item = { ...completion, ...seenInLane, jobId: 'j1', lane: laneOf('j1') };
    const completed = { item, of: { jobId: 'j1', command: 'moveToFinished', state: 'active' } };
    const waiting = async (...calls: (typeof failed)[][]) => {
      await tables.given(start);
      for (const finishes of calls)
        await tables.run({
          call: exchangeCall,
          argv: exchangeCall.encode(noFetch, encodeFinishes(finishes)),
        });
      return (await tables.keyspace())['q:wait'];
    };
    const together = await waiting([failed, completed]);
    expect(together).toMatchObject({ value: ['j1r0', 'j0r0'] });
    expect(together).toEqual(await waiting([failed], [completed]));
  });
});

describe('add', () => {
  const additions = fc.array(
    fc.record({
      jobId: fc.constantFrom('', '', '', '', 'mine'),
      name: fc.constantFrom('mail', 'mail', 'mail', 'bill'),
      data: fc.constantFrom('1', '2', '3'),
      delay: fc.constantFrom('0', '0', '0', '0', '500'),
      priority: fc.constantFrom('0', '0', '0', '0', '3'),
      isNext: fc.constantFrom(false, false, false, true),
      timestamp: fc.constantFrom('', '', '', '77'),
    }),
    { minLength: 1, maxLength: 8 },
  );
  const adding = (...args: (typeof addition)[]) => ({
    call: addManyCall,
    argv: addManyCall.encode(itemsOf(pushAdd, ...args)),
  });

  /** `numbered, first, how many` as one word and value for each. */
  function oneByOne(told: readonly string[]): string[] {
    const each: string[] = [];
    for (let i = 0; i < told.length; ) {
      const [word, value] = [told[i++]!, told[i++]!];
      if (word !== 'numbered') each.push(word, value);
      else
        for (let k = 0, count = Number(told[i++]); k < count; k++) each.push(word, String(Number(value) + k));
    }
    return each;
  }

  it('is the same together and job by job', async () => {
    await fc.assert(
      fc.asyncProperty(additions, async (args) => {
        const all = args.map((arg) => ({ ...addition, ...arg }));
        await tables.given(usedQueue());
        const together = oneByOne((await tables.run(adding(...all))) as string[]);
        const space = await tables.keyspace();
        await tables.given(usedQueue());
        const alone: string[] = [];
        for (const one of all) alone.push(...oneByOne((await tables.run(adding(one))) as string[]));
        expect(together).toEqual(alone);
        expect(space).toEqual(await tables.keyspace());
      }),
      { numRuns: 150 },
    );
  });

  const newJobs = fc.array(
    fc.record({
      jobId: fc.constantFrom('', '', '', '', '', 'mine'),
      name: fc.constantFrom('mail', 'mail', 'mail', 'bill'),
      data: fc.constantFrom('1', '2', '3'),
      delay: fc.constantFrom('0', '0', '0', '0', '0', '500'),
      priority: fc.constantFrom('0', '0', '0', '0', '0', '3'),
      timestamp: fc.constantFrom('', '', '', '77'),
      // Of one nobody is out yet, one holds no lane, and some jobs have none.
      lane: fc.constantFrom('a', 'a', 'b', 'b', 'new', 'broken', undefined),
      order: fc.constantFrom('', '', '', '', '', '5'),
    }),
    { minLength: 1, maxLength: 12 },
  );

  it('is the same together and job by job in lanes', async () => {
    let short = 0;
    const usual = {
      jobId: '',
      name: 'mail',
      data: '1',
      delay: '0',
      priority: '0',
      timestamp: '',
      order: '',
    } as const;
    // The first goes out at once, before the one without a lane.
    const outFirst = (['new', undefined] as const).map((lane) => ({ ...usual, lane }));
    await fc.assert(
      fc.asyncProperty(newJobs, fc.constantFrom('1', '1', '1', '2'), async (args, concurrency) => {
        const start: Command[] = [
          ...usedQueue(),
          ...['a', 'b', 'broken'].flatMap((name) => lane({ name, out: [`${name}0`] })),
          hset(`${ROOT}:meta`, laneRules({ concurrency })),
          ['DEL', `${ROOT}:meta:lane:broken`],
          ['SET', `${ROOT}:meta:lane:broken`, 'x'],
        ];
        const all = args.map((arg) => ({ ...addition, opts: `{"lane":"${arg.lane}"}`, ...arg }));
        const run = async (...some: typeof all) => {
          const argv: string[] = [];
          const runs = newJobRuns();
          for (const one of some) pushNewJob(argv, one, runs);
          short += argv.filter((word) => word === 'add_in_lane+').length;
          const told = oneByOne(
            (await tables.run({ call: addManyCall, argv: addManyCall.encode(argv) })) as string[],
          );
          return told.map((word, i) => (told[i - 1] === 'error' ? 'refused' : word));
        };
        await tables.given(start);
        const together = await run(...all);
        const space = await tables.keyspace();
        await tables.given(start);
        const alone: string[] = [];
        for (const one of all) alone.push(...(await run(one)));
        const isNumbered = (word: string) => (word === 'numbered' ? 'added' : word);
        expect(together.map(isNumbered)).toEqual(alone.map(isNumbered));
        expect(space).toEqual(await tables.keyspace());
      }),
      { numRuns: 300, examples: [[outFirst, '1']] },
    );
    expect(short).toBeGreaterThan(40);
  });
});
