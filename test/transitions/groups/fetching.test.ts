// A member is fetched as any job is, unless its group has its outcome already.

import { describe, expect, it } from 'vitest';
import {
  type Changes,
  changed,
  events,
  fields,
  gone,
  list,
  pushedLeft,
  scored,
  text,
  zset,
} from '../../support/expected.ts';
import { type Command, job, NOW, ROOT, TOKEN, usedQueue } from '../../support/given.ts';
import { type GroupSpec, givenGroup, type MemberStatus } from '../../support/given-group.ts';
import { fetching } from '../edges.ts';
import { expectChange, useTables } from '../tables.ts';

const tables = useTables();

/** The member `1` in the ready order, and one that runs elsewhere, so that the group stays open. */
const ready = (
  status: MemberStatus,
  state: GroupSpec['state'] = 'ACTIVE',
  at: 'waiting' | 'prioritized' = 'waiting',
) => [
  ...usedQueue(),
  ...givenGroup({
    state,
    members: [
      { id: '1', status, at },
      { id: 'm1', status: 'active', at: 'foreign' },
    ],
  }),
];
const fetchedId = (reply: unknown[]) => (reply[1] as unknown[])[0];
const claimed: Changes = {
  'q:marker': scored('0', 0),
  'q:active': pushedLeft('1'),
  'q:1:lock': text(TOKEN, true),
  'q:1': fields({ ats: '1', processedOn: String(NOW) }),
  'q:events': events(['active', { jobId: '1', prev: 'waiting' }]),
};

async function expectClaimed(given: Command[], changes: Changes) {
  const space = await tables.given(given);
  expect(fetchedId(await tables.run(fetching()))).toBe('1');
  expect(await tables.keyspace()).toEqual(changed(space, changes));
}

describe('claim of a member', () => {
  it('that is pending: it is active from now on', async () => {
    await expectClaimed(ready('pending'), {
      ...claimed,
      'q:wait': gone,
      'q:groups:g:jobs': fields({ 'bull:q:1': 'active' }),
    });
  });

  it('from the prioritized', async () => {
    await expectClaimed(ready('pending', 'ACTIVE', 'prioritized'), {
      ...claimed,
      'q:prioritized': gone,
      'q:groups:g:jobs': fields({ 'bull:q:1': 'active' }),
    });
  });

  for (const state of ['ACTIVE', 'COMPENSATING'] as const) {
    it(`that was interrupted runs again, group ${state}`, async () => {
      await expectClaimed(ready('active', state), { ...claimed, 'q:wait': gone });
    });
  }

  it('whose group is gone is an ordinary job', async () => {
    const given: Command[] = [...ready('pending'), ['DEL', `${ROOT}:groups:g`, `${ROOT}:groups:g:jobs`]];
    await expectClaimed(given, { ...claimed, 'q:wait': gone });
  });

  it('whose tie is none of ours is an ordinary job', async () => {
    for (const grp of ['', 'member', 'member:x:1:bull:q:groups:g', 'somebody else']) {
      const given: Command[] = [...ready('cancelled'), ['HSET', `${ROOT}:1`, 'grp', grp]];
      await expectClaimed(given, { ...claimed, 'q:wait': gone });
    }
  });
});

describe('claim withholds a member', () => {
  const nothing = [[], [], [], '0', '0', '', ''];

  for (const at of ['waiting', 'prioritized'] as const) {
    const set = at === 'waiting' ? 'wait' : at;
    const shared: Changes = at === 'waiting' ? { 'q:wait': gone } : { 'q:prioritized': gone, 'q:pc': gone };
    it(`that is cancelled: it is erased, from ${set}`, async () => {
      await expectChange(tables, ready('cancelled', 'COMPENSATING', at), fetching(), nothing, {
        ...shared,
        'q:1': gone,
        'q:events': events(['removed', { jobId: '1', prev: set }]),
      });
    });

    for (const status of ['completed', 'failed'] as const) {
      it(`that is ${status}: it goes back to where it was, from ${set}`, async () => {
        await expectChange(tables, ready(status, 'ACTIVE', at), fetching(), nothing, {
          ...shared,
          [`q:${status}`]: zset(['1', String(NOW)]),
        });
      });
    }
  }

  it('and the one behind it is fetched in the same call', async () => {
    await tables.given(ready('cancelled', 'COMPENSATING'), job('waiting', { id: 'w9' }));
    const reply = await tables.run(fetching({ fetchCount: 1 }));
    expect(fetchedId(reply)).toBe('w9');
    const after = await tables.keyspace();
    expect(after['q:1']).toBeUndefined();
    expect(after['q:wait']).toBeUndefined();
  });

  it('many in a row never hide the one behind them', async () => {
    const members = Array.from({ length: 30 }, (_, i) => ({
      id: `n${i}`,
      status: 'cancelled' as const,
      at: 'waiting' as const,
    }));
    await tables.given(usedQueue(), givenGroup({ state: 'FAILED', members }), job('waiting', { id: 'w9' }));
    let id: unknown;
    let isMore = true;
    // A worker that is told of more comes back at once.
    for (let fetches = 0; id === undefined && isMore && fetches < 40; fetches++) {
      const reply = await tables.run(fetching({ fetchCount: 2, token: `mine:${fetches}` }));
      id = fetchedId(reply);
      isMore = id !== undefined || reply[5] !== '';
      expect(reply[6]).toBe('');
    }
    expect(id).toBe('w9');
    expect((await tables.keyspace())['q:wait']).toBeUndefined();
  });
});

describe('claim of a compensation', () => {
  it('is that of any job', async () => {
    const given = givenGroup({
      state: 'COMPENSATING',
      members: [{ id: 'm0', status: 'completed', undo: 'waiting' }],
    });
    const space = await tables.given(usedQueue(), given);
    const reply = await tables.run({ ...fetching(), root: `${ROOT}:compensation` });
    expect(fetchedId(reply)).toBe('g-0');
    const after = await tables.keyspace();
    expect(after['q:compensation:active']).toEqual(list('g-0')(undefined));
    for (const key of Object.keys(space).filter((name) => !name.startsWith('q:compensation')))
      expect(after[key], key).toEqual(space[key]);
    expect(after['q:compensation:wait']).toBeUndefined();
  });
});
