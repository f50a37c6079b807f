import { describe, expect, it } from 'vitest';
import { exchangeCall, pushGiveBack } from '../../src/store/generated/engine.ts';
import { type Changes, changed, events, gone, pushedRight, scored, without } from '../support/expected.ts';
import { crowd, job, priorityScore, TOKEN, usedQueue } from '../support/given.ts';
import { edgeOf, fetching, items, noFetch } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const returned: Changes = {
  'q:active': without('1'),
  'q:1:lock': gone,
  'q:wait': pushedRight('1'),
  'q:events': events(['waiting', { jobId: '1', prev: 'active' }]),
  'q:marker': scored('0', 0),
};

describe('give_back: active -> waiting | prioritized', () => {
  const edge = edgeOf('give_back');
  fromEveryState(tables, edge, { active: returned });

  it('one that has never begun is as it was before it was fetched', async () => {
    await tables.given(usedQueue(), job('waiting'), job('waiting', { id: '2' }));
    const before = await tables.keyspace();
    await tables.run(fetching({ worker: 'ann' }));
    const back = items(pushGiveBack, { jobId: '1', token: TOKEN, isWish: false, isNew: true });
    await tables.run({ call: exchangeCall, argv: exchangeCall.encode(noFetch, back) });
    expect(await tables.keyspace()).toEqual(
      changed(before, {
        'q:events': events(
          ['active', { jobId: '1', prev: 'waiting' }],
          ['waiting', { jobId: '1', prev: 'active' }],
        ),
        'q:marker': scored('0', 0),
      }),
    );
  });

  it('a job with a priority goes in front of its peers', async () => {
    const given = [...crowd(), ...job('active', { fields: { priority: '3' } })];
    await expectChange(tables, given, edge, [[], [], [], '0', '0', '', ''], {
      ...returned,
      'q:wait': (before) => before,
      'q:prioritized': scored('1', priorityScore(3, 0)),
    });
  });
});
