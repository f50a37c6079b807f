// What a plain job costs the server, in commands. A job that is tied to nothing pays for no bond: neither groups nor
// lanes nor flows may add to these lists. Whoever shortens one changes it here.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addManyCall, exchangeCall, pushAdd, pushComplete } from '../../src/store/generated/engine.ts';
import { type Command, job, usedQueue } from '../support/given.ts';
import { givenGroup } from '../support/given-group.ts';
import { startLegServer, type TestServer } from '../support/leg.ts';
import { addition, completingOne, completion, noFetch, seen } from './edges.ts';
import { commandsOf, runShim } from './shim.ts';
import { type Request, seed } from './tables.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startLegServer();
});
afterAll(() => server?.stop());

async function commands(given: readonly Command[], request: Request): Promise<string[]> {
  await seed(server.admin, given);
  const run = await runShim(server.admin, request);
  expect(run.error).toBeUndefined();
  return commandsOf(run).map(({ command }) => command);
}

const ids = (count: number) => Array.from({ length: count }, (_, i) => `j${i}`);

function adds(count: number): Request {
  const argv: string[] = [];
  for (const _ of ids(count)) pushAdd(argv, { ...addition, jobId: '' });
  return { call: addManyCall, argv: addManyCall.encode(argv) };
}

/** A worker hands in as many as it fetches. Of what is tied to something it does not say that it has seen it. */
function exchange(finished: number, fetchCount: number, what: Partial<typeof seen> = seen): Request {
  const argv: string[] = [];
  for (const jobId of ids(finished)) pushComplete(argv, { ...completion, jobId, ...what });
  return {
    call: exchangeCall,
    argv: exchangeCall.encode({ ...noFetch, fetchCount, token: 'mine:2', afterFinish: finished > 0 }, argv),
  };
}

const busy = (active: number, waiting: number, fields: Record<string, string> = {}): Command[] => [
  ...usedQueue(),
  ...ids(active).flatMap((id) => job('active', { id, fields })),
  ...Array.from({ length: waiting }, (_, i) => job('waiting', { id: `w${i}`, fields })).flat(),
];

/** The commands of one more in a batch: what `more` has beyond `fewer`, in any order. */
function beyond(more: string[], fewer: string[]): string[] {
  const rest = [...more];
  for (const command of fewer) {
    const at = rest.indexOf(command);
    expect(at, `${command} is not in ${more}`).toBeGreaterThanOrEqual(0);
    rest.splice(at, 1);
  }
  return rest.sort();
}

/** How many commands a single one costs with all around it, and how many each further one in a batch. */
async function cost(of: (count: number) => [readonly Command[], Request]): Promise<[number, number]> {
  const one = await commands(...of(1));
  const two = await commands(...of(2));
  const three = await commands(...of(3));
  return [one.length, beyond(three, two).length];
}

describe('a plain job costs no more commands than before there were groups', () => {
  it('to be added', async () => {
    expect(await cost((count) => [usedQueue(), adds(count)])).toEqual([11, 3]);
  });

  it('to be fetched', async () => {
    expect(await cost((count) => [busy(0, 50), exchange(0, count)])).toEqual([11, 4]);
  });

  it('to be completed by itself', async () => {
    const told: Command = ['XADD', 'bull:q:events', '*', 'event', 'active'];
    const all = await commands(
      [...busy(4, 50), told],
      completingOne({ ...seen, jobId: 'j0', holdsOthers: true }),
    );
    // A library has read the settings with an earlier call; here every call is the first.
    expect(all.join(' ')).toBe('GET EXISTS GET HLEN XADD ZADD LREM DEL HSET SET');
  });

  it('to be completed, with the next one fetched', async () => {
    expect(await cost((count) => [busy(4, 50), exchange(count, count)])).toEqual([19, 7]);
  });
});

// One is tried in vain of those that have their values in another order: once in 64 jobs, or in a call where nothing is kept.
const GUESS = 1;

it('costs one command more with data of a size at which the server keeps records another way', async () => {
  const fields = { data: JSON.stringify({ text: 'x'.repeat(100) }) };
  expect(await cost((count) => [busy(4, 50, fields), exchange(count, count)])).toEqual([19 + GUESS, 8]);
  // Of those ahead every one is taken that is taken of small ones.
  await seed(server.admin, busy(0, 50, fields));
  const ahead = { ...noFetch, fetchCount: 1, aheadCount: 9, token: 'mine:2' };
  const { reply } = await runShim(server.admin, { call: exchangeCall, argv: exchangeCall.encode(ahead, []) });
  expect(reply?.[2][1]).toHaveLength(20);
});

describe('a member of a group', () => {
  const members = (status: 'active' | 'pending'): Command[] => [
    ...busy(0, status === 'active' ? 50 : 0),
    ...givenGroup({ members: ids(9).map((id) => ({ id, status })) }),
  ];

  it('costs a look at its status more to be fetched, and a word', async () => {
    expect(await cost((count) => [members('pending'), exchange(0, count)])).toEqual([13 + GUESS, 6]);
  });

  it('costs a few commands more to be completed, however many members there are', async () => {
    const [first, further] = await cost((count) => [busy(9, 50), exchange(count, 0, {})]);
    expect(await cost((count) => [members('active'), exchange(count, 0, {})])).toEqual([
      first + 6,
      further + 5,
    ]);
  });
});
