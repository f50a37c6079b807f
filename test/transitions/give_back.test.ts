import { describe, it } from 'vitest';
import { type Changes, events, gone, pushedRight, scored, without } from '../support/expected.ts';
import { crowd, job, priorityScore } from '../support/given.ts';
import { edgeOf } from './edges.ts';
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

  it('a job with a priority goes in front of its peers', async () => {
    const given = [...crowd(), ...job('active', { fields: { priority: '3' } })];
    await expectChange(tables, given, edge, [[], [], [], '0', '0', '', ''], {
      ...returned,
      'q:wait': (before) => before,
      'q:prioritized': scored('1', priorityScore(3, 0)),
    });
  });
});
