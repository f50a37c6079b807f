// Jobs with numbers for ids that come in their order stand in a line; all others lie in a zset, as they did in queues
// without lines. Nobody can tell the difference: the same history on a queue with lines and on one without leads to the
// same replies, the same order and the same keyspace, but for where those are kept that rest.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFetched } from '../../src/store/fetched-records.ts';
import {
  addManyCall,
  checkLanesCall,
  cleanCall,
  drainCall,
  exchangeCall,
  laneJobsCall,
  lanesCall,
  maintainCall,
  pushAddInLane,
  pushCompleteInLane,
  pushDelay,
  pushFail,
  pushGiveBack,
  pushRetry,
  removeCall,
  removeLaneCall,
  setLaneCall,
} from '../../src/store/generated/engine.ts';
import { events, fields, hash, list, scored, text } from '../support/expected.ts';
import {
  type Command,
  hset,
  job,
  laneFields,
  laneRules,
  NOW,
  ROOT,
  record,
  TOKEN,
  usedQueue,
} from '../support/given.ts';
import type { Keyspace } from '../support/keyspace.ts';
import { addition, completion, ending, failure, finishing, items, noFetch, seenInLane } from './edges.ts';
import { expectChange, type Request, useTables } from './tables.ts';

const tables = useTables();
const LANES = ['a', 'b'];

const steps = fc.array(
  fc.record({
    what: fc.constantFrom(
      ...(['add', 'add', 'add', 'ordered', 'named', 'later', 'important'] as const),
      ...(['fetch', 'fetch', 'complete', 'complete', 'retry', 'backoff', 'fail', 'give back'] as const),
      ...(['remove', 'pause', 'resume', 'remove lane', 'check', 'maintain', 'clean', 'drain'] as const),
    ),
    lane: fc.nat({ max: LANES.length - 1 }),
    count: fc.integer({ min: 1, max: 4 }),
    at: fc.nat(),
    laterMs: fc.constantFrom(0, 1, 40),
  }),
  { minLength: 5, maxLength: 30 },
);
type Step = typeof steps extends fc.Arbitrary<(infer One)[]> ? One : never;

/** So much of what is rare has been used that one of the words for it was not found: a later one did not wake anybody. */
const rare = (['later', 'pause', 'important', 'drain', 'ordered', 'add', 'add', 'later'] as const).map(
  (what): Step => ({ what, lane: 0, count: 1, at: 0, laterMs: what === 'drain' ? 1 : 0 }),
);

/** One that was let out in the millisecond of its add goes back to its own place. */
const turnedBack = (['add', 'pause', 'fetch', 'resume', 'fetch'] as const).map(
  (what): Step => ({ what, lane: 0, count: what === 'add' ? 4 : 1, at: 0, laterMs: 0 }),
);

const inLane = { ...addition, jobId: '', order: '' };
const adding = (...jobs: (Partial<typeof inLane> & { lane: string })[]): Request => ({
  call: addManyCall,
  argv: addManyCall.encode(items(pushAddInLane, ...jobs.map((job) => ({ ...inLane, ...job })))),
});
const fetching = (count: number): Request => ({
  call: exchangeCall,
  argv: exchangeCall.encode({ ...noFetch, fetchCount: count, token: TOKEN }, []),
});
const finished = { token: TOKEN, reason: 'broke', stacktrace: '["at x"]', ...ending };

/** What a step asks for, given the active jobs (oldest first) and those that rest. */
function requestOf(
  { what, lane: laneAt, count, at, laterMs }: Step,
  active: { id: string; lane: string }[],
  resting: string[],
  number: number,
): Request | undefined {
  const lane = LANES[laneAt]!;
  const one = active[at % Math.max(active.length, 1)];
  switch (what) {
    case 'add':
      return adding(...Array.from({ length: count }, (_, i) => ({ lane: LANES[(laneAt + i) % 2]! })));
    case 'ordered':
      return adding({ lane, order: String(NOW + (at % 90) - 30) }, { lane });
    case 'named':
      return adding({ lane }, { lane, jobId: `named-${number}` });
    case 'later':
      return adding({ lane, delay: '50' }, { lane });
    case 'important':
      return adding({ lane, priority: '3' });
    case 'fetch':
      return fetching(count);
    case 'complete': {
      const ending = active.slice(0, count).map(({ id, lane }) => ({
        ...completion,
        ...seenInLane,
        jobId: id,
        lane,
        fieldCount: String(Number(seenInLane.fieldCount) - (id.startsWith('named') ? 0 : 1)),
      }));
      return ending.length > 0 ? finishing(pushCompleteInLane, ...ending) : undefined;
    }
    case 'retry':
      return one && finishing(pushRetry, { ...finished, jobId: one.id, isNext: false });
    case 'backoff':
      return one && finishing(pushDelay, { ...finished, jobId: one.id, delay: 30, isAttempt: true });
    case 'fail':
      return one && finishing(pushFail, { ...failure, jobId: one.id });
    case 'give back':
      return one && finishing(pushGiveBack, { jobId: one.id, token: TOKEN, isWish: false, isNew: false });
    case 'remove': {
      const id = resting[at % Math.max(resting.length, 1)];
      if (id === undefined) return undefined;
      return { call: removeCall, argv: removeCall.encode({ jobId: id, withChildren: false }) };
    }
    case 'pause':
    case 'resume': {
      const change = { lane, pauses: what === 'pause', resumes: what === 'resume', concurrency: '' };
      return { call: setLaneCall, argv: setLaneCall.encode(change) };
    }
    case 'remove lane':
      return { call: removeLaneCall, argv: removeLaneCall.encode({ lane, most: count }) };
    case 'check': {
      const all = { after: '', most: 10, mostResting: 10, heals: laterMs > 0 };
      return { call: checkLanesCall, argv: checkLanesCall.encode(all) };
    }
    case 'maintain':
      return { call: maintainCall, argv: maintainCall.encode({ maxStalls: 1, intervalMs: 600_000 }) };
    case 'clean': {
      const what = { state: 'wait', cutoff: String(NOW), limit: 0, most: count };
      return { call: cleanCall, argv: cleanCall.encode(what) };
    }
    case 'drain':
      return { call: drainCall, argv: drainCall.encode({ withDelayed: laterMs > 0, most: count }) };
  }
}

/** All that one can see of the queue: its keys, but for those in which jobs rest, and its lanes as they are told. */
async function seen(): Promise<Record<string, unknown>> {
  const space: Keyspace = await tables.keyspace();
  const meta = space['q:meta']!.value as Record<string, string>;
  const visible = Object.entries(space).filter(([key]) => !/^q:meta:(lane|line):/.test(key));
  const told: Record<string, unknown> = Object.fromEntries(visible);
  told['q:meta'] = { ...meta, 'yoke.lanes': meta['yoke.lanes']!.replace(/[ls]/g, '').replace(/ -?$/, '') };
  told.lanes = await tables.ask({ call: lanesCall, argv: lanesCall.encode({ first: 0, last: -1 }) });
  for (const lane of LANES) {
    for (const [first, last] of [
      [0, -1],
      [1, 2],
    ] as const) {
      const rows = await tables.ask({ call: laneJobsCall, argv: laneJobsCall.encode({ lane, first, last }) });
      told[`${lane} ${first}`] = rows.filter((_, i) => i % 2 === 0);
    }
  }
  return told;
}

const restingIn = (space: Keyspace) =>
  ((space['q:de']?.value as [string, string][] | undefined) ?? []).map(([id]) => id);

/** What a worker makes of the reply: a record comes in either of two forms, by what the server met before it. */
function heard(request: Request, [word, now, body]: [string, string, unknown[]]): unknown[] {
  if (request.call !== exchangeCall) return [word, now, body];
  const [refused, fetched, ...others] = body as [unknown, unknown[], ...unknown[]];
  return [word, now, [refused, decodeFetched(fetched), ...others]];
}

async function play(history: readonly Step[], used: string): Promise<unknown[]> {
  await tables.given(usedQueue(ROOT, laneRules({ used })));
  const told: unknown[] = [];
  let now = NOW;
  for (const [number, step] of history.entries()) {
    now += step.laterMs;
    const space = await tables.keyspace();
    const ids = ((space['q:active']?.value as string[] | undefined) ?? []).slice().reverse();
    const laneOf = (id: string) => (space[`q:${id}`]?.value as Record<string, string> | undefined)?.lane;
    const active = ids.flatMap((id) => (laneOf(id) ? [{ id, lane: laneOf(id)! }] : []));
    const request = requestOf(step, active, restingIn(space).sort(), number);
    if (request === undefined) continue;
    // Every tick is due.
    await tables.admin.del(`${ROOT}:stalled-check`);
    told.push(heard(request, await tables.send(request, { now })));
    told.push(await seen());
  }
  return told;
}

describe('lanes with lines', () => {
  it('are as lanes without', async () => {
    const stood = { count: 0 };
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const withLines = await play(history, 'l');
        const space = await tables.keyspace();
        if (Object.keys(space).some((key) => key.startsWith('q:meta:line:'))) stood.count++;
        expect(withLines).toEqual(await play(history, '-'));
      }),
      { numRuns: 60, examples: [[rare], [turnedBack]] },
    );
    // Or nothing was compared.
    expect(stood.count).toBeGreaterThan(5);
  });

  const used = usedQueue(ROOT, laneRules({ used: 'l' }));
  const busy: Command[] = [
    ...used,
    hset(`${ROOT}:meta:lane-out`, { a: 'x' }),
    ['ZADD', `${ROOT}:meta:lanes`, '0', 'a'],
  ];
  const told = (id: string) =>
    events(['added', { jobId: id, name: 'mail' }], ['waiting', { jobId: id, lane: 'a' }]);
  const stored = (other: Record<string, string>) =>
    hash({
      ...{ name: 'mail', data: '{"to":"a"}', opts: '{"attempts":1}', timestamp: String(NOW) },
      ...{ delay: '0', priority: '0', lane: 'a', ...other },
    });

  it('a job that comes in its order stands in the line, one with an order of its own does not', async () => {
    await expectChange(tables, busy, adding({ lane: 'a' }), ['numbered', '11', '1'], {
      'q:id': text('11'),
      'q:11': stored({ orderMs: `+${NOW}` }),
      'q:events': told('11'),
      'q:meta:line:a': list('11'),
      'q:de': scored('11', NOW),
    });
    await expectChange(tables, busy, adding({ lane: 'a', order: '7' }), ['added', '11'], {
      'q:id': text('11'),
      'q:11': stored({ orderMs: '+7' }),
      'q:events': told('11'),
      'q:meta': fields(laneRules({ used: 'ls' })),
      'q:meta:lane:a': scored('000000000000001111', 7),
      'q:de': scored('11', NOW),
    });
  });

  it('what lies in the place of either and is none refuses the job', async () => {
    const refused = ['error', expect.stringContaining('WRONGTYPE')];
    const given = (key: string): Command[] => [...busy, ['SET', `${ROOT}:meta:${key}:a`, 'x']];
    await expectChange(tables, given('lane'), adding({ lane: 'a', order: '7' }), refused, {});
    await expectChange(tables, given('line'), adding({ lane: 'a', order: '7' }), refused, {});
    await expectChange(tables, given('line'), adding({ lane: 'a' }), refused, {});
  });

  it('what is wrong with one of the two keeps nobody in the other', async () => {
    for (const [wrong, right] of [
      ['lane', ['RPUSH', `${ROOT}:meta:line:a`, '2']],
      ['line', ['ZADD', `${ROOT}:meta:lane:a`, '7', '00000000000000022']],
    ] as [string, Command][]) {
      await tables.given([
        ...usedQueue(ROOT, laneRules({ used: 'ls' })),
        ['ZADD', `${ROOT}:meta:lanes`, '0', 'a'],
        hset(`${ROOT}:meta:lane-out`, { a: '1' }),
        ...job('active', { id: '1', fields: laneFields() }),
        hset(`${ROOT}:2`, record({ ...laneFields('7', '2'), lane: 'a' })),
        ['SET', `${ROOT}:meta:${wrong}:a`, 'x'],
        right,
      ]);
      await tables.run(finishing(pushCompleteInLane, { ...completion, ...seenInLane, lane: 'a' }));
      expect((await tables.keyspace())['q:wait']?.value).toEqual(['2']);
    }
  });

  it('the next one is the first of the line or of the others', async () => {
    const standing = (id: string, orderMs: string) =>
      hset(`${ROOT}:${id}`, record({ ...laneFields(orderMs), laneSeq: id }));
    await tables.given([
      ...usedQueue(ROOT, laneRules({ used: 'ls' })),
      ['ZADD', `${ROOT}:meta:lanes`, '0', 'a'],
      ...['2', '5', '9'].map((id) => standing(id, id === '2' ? '10' : '20')),
      // Somebody has deleted the record of the first: it is passed over.
      ['RPUSH', `${ROOT}:meta:line:a`, '1', '2', '9'],
      ['ZADD', `${ROOT}:meta:lane:a`, '20', '00000000000000055'],
    ]);
    const next = async () => {
      await tables.run({
        call: checkLanesCall,
        argv: checkLanesCall.encode({ after: '', most: 10, mostResting: 0, heals: true }),
      });
      const { 'q:wait': wait, 'q:meta:lane-out': out } = await tables.keyspace();
      await tables.admin.hdel(`${ROOT}:meta:lane-out`, 'a');
      return [(wait!.value as string[])[0], out!.value];
    };
    expect(await next()).toEqual(['2', { a: '2' }]);
    expect(await next()).toEqual(['5', { a: '5' }]);
    expect(await next()).toEqual(['9', { a: '9' }]);
    const { 'q:meta:line:a': line, 'q:meta:lane:a': others } = await tables.keyspace();
    expect([line, others]).toEqual([undefined, undefined]);
  });
});
