// A key of the queue holds something of another type. Whoever meets it is refused before its first write, or does
// without it as if it were not there; nobody is left half done.

import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { drainCall, maintainCall } from '../../src/store/generated/engine.ts';
import { type Command, ROOT, type State, states } from '../support/given.ts';
import type { Keyspace } from '../support/keyspace.ts';
import { startLegServer, type TestServer } from '../support/leg.ts';
import { type Edge, edges } from './edges.ts';
import { type GroupRequest, groupRequests, OTHER, UNDO } from './group-requests.ts';
import { queueRequests } from './requests.ts';
import { type Run, runShim } from './shim.ts';
import { keyspaceOf, type Request, seed, startOf } from './tables.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startLegServer();
});
afterAll(() => server?.stop());

// Every key of a queue that has a type, and those of the job itself.
const strings = ['id', 'pc', 'stalled-check', 'de:once'];
const others = [
  'wait',
  'paused',
  'active',
  'prioritized',
  'delayed',
  'waiting-children',
  'completed',
  'failed',
  'events',
  'meta',
  'marker',
  'stalled',
  'repeat',
  'repeat:tick',
  'dn:once',
  '1',
  '1:dependencies',
  '1:processed',
  '1:failed',
  '1:unsuccessful',
  '1:logs',
  'de',
  'meta:lanes',
  'meta:lane-out',
  'meta:lane-settings',
  'meta:lane-delayed',
  'meta:lane-held',
  'meta:lane:a',
  'r1',
];
const suffixes = [...strings, ...others];

// Those of a group, of another queue that has a member of it, and of the queue that undoes it.
const ofGroups = [
  'groups',
  'groups:g',
  'groups:g:jobs',
  'groups:g:plan',
  'groups:g:undo',
  'meta:homes',
  ...['open', 'marked', 'COMPENSATING', 'COMPLETED', 'FAILED', 'FAILED_COMPENSATION'].map(
    (word) => `meta:groups:${word}`,
  ),
];
const ofQueues = [
  'wait',
  'paused',
  'active',
  'prioritized',
  'delayed',
  'completed',
  'failed',
  'events',
  'meta',
  'meta:homes',
  'id',
];

function poison(suffix: string): Command[] {
  return poisonKey(`${ROOT}:${suffix}`);
}

function poisonKey(key: string): Command[] {
  const suffix = key.slice(key.lastIndexOf(':') + 1);
  return [
    ['DEL', key],
    strings.includes(suffix) || key.endsWith(':de:once') ? ['RPUSH', key, 'poison'] : ['SET', key, 'poison'],
  ];
}

// Where a call goes on and leaves something else than on a sound queue, each with its reason. What it leaves is
// said exactly in the table of the transition. A row that is not met any more fails.
const tolerated: Record<string, string> = {
  'add, 1': 'the id is taken, by whatever lies there: a duplicate',
  'add_in_lane, 1': 'the same',
  'remove, 1': 'what lies in the place of the record is removed, and that is told',
  'claim, 1': 'an id that stands for no job is taken out, so that it never blocks those behind it',
  'claim, meta:lane:a':
    'a job whose lane cannot be read waits beside it for its time, so that it never blocks those behind it',
  'reclaim, 1': 'the same for an id in active',
  'the call maintain, 1': 'the same',
  'the call check_lanes, r1': 'a resting job without a record is forgotten',
  'the call check_lanes, meta:lane:a':
    'a lane that cannot be read is told, and keeps nobody from being healed',
  'the call free_lanes, r1': 'a resting job without a record is forgotten',
  'the call remove_lane, r1': 'the same, and what lies in its place is left',
  'the call free_lanes, meta:lane:a': 'a lane that cannot be read has nobody resting in it',
  'complete, meta:lane:a': 'the same: whoever ends a job must not fail for it',
  'complete_in_lane, meta:lane:a': 'as complete',
  'fail, meta:lane:a': 'the same',
  'complete, r1': 'a lane passes over an id that stands for no job',
  'fail, r1': 'the same',
  'retry, r1': 'the same',
  'delay, r1': 'the same',
  'remove, r1': 'the same',
  'the call set_lane, r1': 'the same',
  'delay, meta:lane-held': 'a marker is a hint, as below',
  'the call signal, delayed':
    'a marker is a hint: the other one is written though this one cannot be computed',
};
for (const status of ['completed', 'failed', 'cancelled'])
  tolerated[`a ${status} member is not fetched, q:groups:g:jobs`] =
    'a group that cannot be read costs itself, never the queue: the job runs';
const met = new Set<string>();

function isTolerated(row: string): boolean {
  if (row in tolerated) met.add(row);
  return row in tolerated;
}

/** Nothing may differ but the poisoned key, and what is said about it. */
function without(space: Keyspace, suffix: string): Keyspace {
  const rest = { ...space };
  delete rest[`q:${suffix}`];
  return rest;
}

async function outcome(given: readonly Command[], request: Request) {
  await seed(server.admin, given);
  const before = await keyspaceOf(server.admin);
  const run = await runShim(server.admin, request);
  return { before, run, after: await keyspaceOf(server.admin) };
}

/** Which keys a transition touches hardly depends on where the job was: a few states are enough, the rare first. */
function fewOf(edge: Edge, legal: readonly State[]): State[] {
  const rarity = (state: State) =>
    legal.filter((other) => edge.replies[other] === edge.replies[state]).length;
  return [...legal].sort((a, b) => rarity(a) - rarity(b)).slice(0, 3);
}

describe('a key of a wrong type', () => {
  for (const edge of edges) {
    it(`${edge.transition}, ${edge.title}`, async () => {
      const legal = states.filter((state) => edge.successes.includes(edge.replies[state]));
      for (const state of fewOf(edge, legal)) {
        const given = startOf(edge, state);
        const sound = await outcome(given, edge);
        for (const suffix of suffixes) {
          // What a job that is gone left behind is not poisoned, it is left behind.
          if (state === 'missing' && suffix.startsWith('1:')) continue;
          const title = `${edge.transition} from ${state}, ${suffix}`;
          const { before, run, after } = await outcome([...given, ...poison(suffix)], edge);
          const word = run.reply ? edge.word(run.reply[2]) : 'error';
          const isRefused = run.error !== undefined || !edge.successes.includes(word);
          const expected = isRefused ? before : without(sound.after, suffix);
          const found = isRefused ? after : without(after, suffix);
          if (!isDeepStrictEqual(found, expected) && isTolerated(`${edge.transition}, ${suffix}`)) continue;
          expect(found, `${title}: ${word} ${run.error}`).toEqual(expected);
        }
      }
    });
  }

  // Batches are the sum of their items; what becomes of a fetch beside a finish is below.
  const batches = ['add_many', 'exchange'];
  for (const request of queueRequests.filter(
    ({ title, refusals }) => refusals.length === 0 && !batches.includes(title),
  )) {
    it(`the call ${request.title}`, async () => {
      const sound = await outcome(request.given, request);
      for (const suffix of suffixes) {
        const { before, run, after } = await outcome([...request.given, ...poison(suffix)], request);
        const title = `${request.title}, ${suffix}: ${run.error ?? JSON.stringify(run.reply)}`;
        if (run.error === undefined && isTolerated(`the call ${request.title}, ${suffix}`)) continue;
        if (run.error !== undefined) expect(after, title).toEqual(before);
        else expect(without(after, suffix), title).toEqual(without(sound.after, suffix));
      }
    });
  }

  const keysAround = [
    ...ofGroups.map((suffix) => `${ROOT}:${suffix}`),
    ...[ROOT, OTHER, UNDO].flatMap((root) => ofQueues.map((suffix) => `${root}:${suffix}`)),
  ];
  const isRefusal = (request: GroupRequest, run: Run) =>
    run.error !== undefined || request.word(run.reply![2]) !== request.answer;
  // That a queue is empty is said beside a finish, as far as that can be found out.
  const withoutDrained = (space: Keyspace): Keyspace =>
    Object.fromEntries(
      Object.entries(space).map(([key, value]) => [
        key,
        value.type === 'stream'
          ? { ...value, value: value.value.filter(([, name]) => name !== 'drained') }
          : value,
      ]),
    );
  const leftOut = (space: Keyspace, ...keys: string[]) =>
    withoutDrained(Object.fromEntries(Object.entries(space).filter(([key]) => !keys.includes(key))));
  /** A tick leaves alone a group that it cannot bring up to date, and comes back to it later. */
  const ofTheTick = ['q:stalled', 'q:stalled-check', 'q:meta:homes', 'q:meta:groups:open'];

  const groupPart = (space: Keyspace) =>
    Object.fromEntries(
      Object.entries(space).filter(([key]) => /^(p:|q:m2$|q:groups|q:meta:groups|q:compensation)/.test(key)),
    );

  for (const request of groupRequests.filter(({ refusals }) => refusals.length === 0)) {
    it(`with a group: ${request.title}`, async () => {
      const sound = await outcome(request.given, request);
      for (const key of keysAround) {
        await seed(server.admin, [...request.given, ...poisonKey(key)]);
        const run = await runShim(server.admin, request);
        const after = await keyspaceOf(server.admin);
        const name = key.replace(/^bull:/, '');
        const title = `${name}: ${run.error ?? JSON.stringify(run.reply)}`;
        // Done as a whole, whatever trouble there was beside it.
        if (isDeepStrictEqual(leftOut(after, name), leftOut(sound.after, name))) continue;
        if (isTolerated(`${request.title}, ${name}`)) continue;
        expect(JSON.stringify(after[name]), title).toContain('poison');
        if (request.call === drainCall) {
          // Jobs go one by one; those before the member are gone.
          expect(run.error, title).toContain('WRONGTYPE');
          expect(groupPart(leftOut(after, name)), title).toEqual(groupPart(leftOut(sound.before, name)));
        } else if (request.call === maintainCall || isRefusal(request, run)) {
          const left = request.call === maintainCall ? [name, ...ofTheTick] : [name];
          expect(leftOut(after, ...left), title).toEqual(leftOut(sound.before, ...left));
        } else expect(leftOut(after, name), title).toEqual(leftOut(sound.after, name));
      }
    });
  }

  for (const suffix of ['wait', 'prioritized', 'delayed', 'pc']) {
    it(`${suffix}: a finish is accepted, and the fetch beside it is refused or does without the key`, async () => {
      const { given, call, argv } = queueRequests.find(({ title }) => title === 'exchange')!;
      const { run, after } = await outcome([...given, ...poison(suffix)], { call, argv });
      const [refused, fetched, , , , , trouble] = run.reply![2] as [
        string[],
        unknown[],
        unknown,
        unknown,
        unknown,
        unknown,
        string,
      ];
      expect(refused).toEqual([]);
      expect((after['q:completed']!.value as [string, string][]).map(([id]) => id)).toContain('1');
      if (suffix !== 'pc') expect(trouble).toContain('WRONGTYPE');
      for (let i = 0; i < fetched.length; i += 2) expect(after['q:active']!.value).toContain(fetched[i]);
    });
  }

  it('every tolerated row is met', () => {
    expect(Object.keys(tolerated).filter((row) => !met.has(row))).toEqual([]);
  });
});
