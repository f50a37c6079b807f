// A reply can be lost after the call ran. The same client and number again get the same answer and change nothing,
// whatever happened in between; a number that nobody waits for any more is refused.

import { describe, expect, it } from 'vitest';
import { decodeFetched } from '../../src/store/fetched-records.ts';
import { exchangeCall, promoteCall, pushComplete, updateDataCall } from '../../src/store/generated/engine.ts';
import {
  type Command,
  crowd,
  job,
  lane,
  laneFields,
  NOW,
  ROOT,
  states,
  usedQueue,
} from '../support/given.ts';
import { snapshot } from '../support/keyspace.ts';
import { completingOne, completion, edges, fetching, noFetch, seen, seenInLane } from './edges.ts';
import { groupRequests } from './group-requests.ts';
import { queueRequests } from './requests.ts';
import { type Request, startOf, useTables } from './tables.ts';

const tables = useTables();

/** Everything, the memory of past calls included: a repetition may not even write there. */
const everything = () => snapshot(tables.admin, 'bull:', { ignore: () => false });
const other: Request = {
  call: updateDataCall,
  argv: updateDataCall.encode({ jobId: 'k1', data: '{"other":1}' }),
};
const secondTry = async (request: Request, sequence: number, floor: number) => {
  const first = await tables.send(request, { sequence, floor });
  // What others do meanwhile is theirs, and must not be undone or repeated.
  await tables.send(other, { clientId: 'somebody else', sequence: 1 });
  await tables.send(other, { sequence: sequence + 1, floor });
  const between = await everything();
  const again = await tables.send(request, { sequence, floor });
  return { first, again, between, after: await everything() };
};

describe('a call that is sent again', () => {
  for (const edge of edges) {
    it(`${edge.transition}, ${edge.title}: from every state it answers the same and changes nothing`, async () => {
      for (const state of states) {
        await tables.given(startOf(edge, state));
        const { first, again, between, after } = await secondTry(edge, 1, 0);
        expect(edge.word(first[2]), state).toBe(edge.replies[state]);
        expect(sorted(again), state).toEqual(sorted(first));
        expect(after, state).toEqual(between);
      }
    });
  }

  for (const request of [...queueRequests, ...groupRequests]) {
    it(`the call "${request.title}" answers the same and changes nothing`, async () => {
      await tables.given(request.given);
      const { first, again, between, after } = await secondTry(request, 1, 0);
      expect(sorted(again)).toEqual(sorted(first));
      expect(after).toEqual(between);
    });
  }

  // A record that is read again has the fields of the start; all that the worker takes from elsewhere is the same.
  function sorted(reply: [string, string, unknown[]]): unknown {
    const [word, now, body] = reply;
    if (!Array.isArray(body[1])) return reply;
    const fetched = decodeFetched(body[1]).map(
      ({ processedOn: _, attemptsStarted: __, newFieldCount: ___, ...rest }) => rest,
    );
    return [word, now, [body[0], fetched, ...body.slice(2)]];
  }
});

describe('the memory of past calls', () => {
  const promote: Request = { call: promoteCall, argv: promoteCall.encode({ jobId: '1' }) };

  it('is one key of the client, for five minutes', async () => {
    await tables.given(crowd(), job('delayed'));
    await tables.send(promote, { clientId: 'me', sequence: 1 });
    const ttl = await tables.admin.pttl(`${ROOT}:meta:replay:me`);
    expect(ttl).toBeGreaterThan(120_000);
    expect(ttl).toBeLessThanOrEqual(300_000);
  });

  it('tells clients apart', async () => {
    await tables.given(crowd(), job('delayed'));
    expect((await tables.send(promote, { clientId: 'a', sequence: 1 }))[2]).toEqual(['ok', '']);
    expect((await tables.send(promote, { clientId: 'b', sequence: 1 }))[2]).toEqual(['not_in_state', '']);
  });

  it('is kept while the client waits for the reply, and a number below its floor is refused without a change', async () => {
    await tables.given(crowd(), job('delayed'));
    const first = await tables.send(promote, { sequence: 1, floor: 0 });
    for (let sequence = 2; sequence <= 40; sequence++) await tables.send(other, { sequence, floor: 0 });
    expect(await tables.send(promote, { sequence: 1, floor: 0 })).toEqual(first);
    await tables.send(other, { sequence: 41, floor: 40 });
    const before = await everything();
    expect(await tables.send(promote, { sequence: 1, floor: 0 })).toEqual(['stale', String(NOW)]);
    expect(await everything()).toEqual(before);
  });

  it('a floor never goes back, also when an old call comes late', async () => {
    await tables.given(crowd(), job('delayed'));
    await tables.send(other, { sequence: 10, floor: 9 });
    // Sent before the tenth, with the floor of its time; new to the server, and nobody waits for it.
    expect((await tables.send(promote, { sequence: 5, floor: 3 }))[0]).toBe('stale');
    await tables.send(other, { sequence: 11, floor: 4 });
    expect((await tables.send(promote, { sequence: 8, floor: 4 }))[0]).toBe('stale');
    expect((await tables.keyspace())['q:delayed']!.value).toHaveLength(2);
  });

  it('calls that overtake each other are all done, once', async () => {
    await tables.given(crowd(), job('delayed'));
    await tables.send(other, { sequence: 3, floor: 0 });
    const late = await tables.send(promote, { sequence: 2, floor: 0 });
    expect(late[2]).toEqual(['ok', '']);
    expect(await tables.send(promote, { sequence: 2, floor: 0 })).toEqual(late);
  });

  it('one that was overtaken and answered takes nothing along of the one that overtook it', async () => {
    await tables.given(crowd(), job('delayed'));
    const first = await tables.send(promote, { sequence: 3, floor: 0 });
    await tables.send(other, { sequence: 2, floor: 0 });
    await tables.send(other, { sequence: 4, floor: 2 });
    expect(await tables.send(promote, { sequence: 3, floor: 2 })).toEqual(first);
  });

  it('is bounded: what was pushed out is refused rather than done again', async () => {
    await tables.given(crowd(), job('delayed'));
    await tables.send(promote, { sequence: 1, floor: 0 });
    const last = 300;
    for (let sequence = 2; sequence <= last; sequence++) await tables.send(other, { sequence, floor: 0 });
    expect((await tables.send(promote, { sequence: 1, floor: 0 }))[0]).toBe('stale');
    expect((await tables.send(other, { sequence: last, floor: 0 }))[2]).toEqual(['ok', '']);
    expect(await tables.admin.strlen(`${ROOT}:meta:replay:table`)).toBeLessThan(10_000);
  });

  it('a call that failed is not remembered and can be sent again', async () => {
    await tables.given(crowd(), job('delayed'), [['SET', `${ROOT}:events`, 'poison']]);
    await expect(tables.send(promote, { sequence: 1, floor: 0 })).rejects.toThrow('WRONGTYPE');
    await tables.admin.del(`${ROOT}:events`);
    expect((await tables.send(promote, { sequence: 1, floor: 0 }))[2]).toEqual(['ok', '']);
  });

  it('a queue with a layout of its own is left alone', async () => {
    const before = await tables.given(crowd(), job('delayed'), [
      ['HSET', `${ROOT}:meta`, 'yoke.layout', '99'],
    ]);
    expect(await tables.send(promote, { sequence: 1 })).toEqual(['layout_unknown', String(NOW), '99']);
    expect(await tables.keyspace()).toEqual(before);
  });

  it('in such a queue a worker completes by itself what is tied to nothing, and nothing else', async () => {
    const layout: Command = ['HSET', `${ROOT}:meta`, 'yoke.layout', '99'];
    const before = await tables.given(
      crowd(),
      lane({ out: ['1'] }),
      job('active', { fields: laneFields() }),
      [layout],
    );
    for (const what of [{ ...seenInLane, lane: 'a' }, seen, {}]) {
      const [word] = await tables.send(completingOne(what), { sequence: 1 });
      expect(word).toBe('layout_unknown');
    }
    expect(await tables.keyspace()).toEqual(before);

    await tables.given(crowd(), job('active'), [layout]);
    const [word] = await tables.send(completingOne({ ...seen, keepCount: '1' }), { sequence: 1 });
    expect(word).toBe('layout_unknown');
    expect(await tables.send(completingOne(seen), { sequence: 1 })).toEqual(['ok', String(NOW), []]);
    expect(await tables.admin.zscore(`${ROOT}:completed`, '1')).toBe(String(NOW));
  });
});

describe('a fetch that is sent again', () => {
  const fetchTwo = fetching({ fetchCount: 4, token: 'mine:7' });
  const idsOf = (reply: [string, string, unknown[]]) =>
    (reply[2][1] as unknown[]).filter((_, i) => i % 2 === 0);
  const waiting = ['a', 'b', 'c', 'd'].flatMap((id) => job('waiting', { id, fields: { ats: '3' } }));

  it('gives those jobs again whose lease still carries its token', async () => {
    await tables.given(usedQueue(), waiting);
    const first = await tables.send(fetchTwo, { sequence: 1, floor: 0 });
    expect(idsOf(first)).toEqual(['a', 'b']);
    await tables.admin.set(`${ROOT}:a:lock`, 'theirs:1');
    const before = await everything();
    expect(idsOf(await tables.send(fetchTwo, { sequence: 1, floor: 0 }))).toEqual(['b']);
    await tables.admin.del(`${ROOT}:a:lock`, `${ROOT}:b:lock`);
    expect(idsOf(await tables.send(fetchTwo, { sequence: 1, floor: 0 }))).toEqual([]);
    expect(before['q:active']!.value).toEqual(await tables.admin.lrange(`${ROOT}:active`, 0, -1));
  });

  it('counts the start once', async () => {
    await tables.given(usedQueue(), waiting);
    const startsOf = (reply: [string, string, unknown[]]) => {
      const flat = (reply[2][1] as string[][])[1]!;
      return flat[flat.indexOf('ats') + 1];
    };
    const first = await tables.send(fetchTwo, { sequence: 1, floor: 0 });
    const again = await tables.send(fetchTwo, { sequence: 1, floor: 0 });
    expect([startsOf(first), startsOf(again)]).toEqual(['3', '3']);
    expect(await tables.admin.hget(`${ROOT}:a`, 'ats')).toBe('4');
  });

  it('keeps the answers to the finishes that were handed in with it', async () => {
    await tables.given(usedQueue(), waiting, job('active'));
    const argv: string[] = [];
    pushComplete(argv, completion);
    pushComplete(argv, { ...completion, jobId: 'nobody' });
    const request: Request = {
      call: exchangeCall,
      argv: exchangeCall.encode({ ...noFetch, fetchCount: 1, token: 'mine:8' }, argv),
    };
    const first = await tables.send(request, { sequence: 1, floor: 0 });
    expect(first[2][0]).toEqual(['1', 'not_found', '']);
    const again = await tables.send(request, { sequence: 1, floor: 0 });
    expect(again[2][0]).toEqual(first[2][0]);
    expect(idsOf(again)).toEqual(idsOf(first));
  });
});
