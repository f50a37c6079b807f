import { describe, it } from 'vitest';
import { pushAwaitChildren } from '../../src/store/generated/engine.ts';
import { type Changes, events, gone, scored, without } from '../support/expected.ts';
import { crowd, job, NOW } from '../support/given.ts';
import { edgeOf, finishing } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const steppedAside: Changes = {
  'q:active': without('1'),
  'q:1:lock': gone,
  'q:waiting-children': scored('1', NOW),
  'q:events': events(['waiting-children', { jobId: '1', prev: 'active' }]),
};
const answer = (word: string) => [word === 'ok' ? [] : ['0', word, ''], [], [], '0', '0', '', ''];
const waitFor = (childKey: string) => finishing(pushAwaitChildren, { jobId: '1', token: 'mine:1', childKey });
const parent = job('active', { dependencies: ['bull:q:d1'] });

describe('await_children: active -> waiting-children', () => {
  fromEveryState(tables, edgeOf('await_children'), { active: steppedAside });

  it('one child can be waited for', async () => {
    await expectChange(tables, [...crowd(), ...parent], waitFor('bull:q:d1'), answer('ok'), steppedAside);
    await expectChange(tables, [...crowd(), ...parent], waitFor('bull:q:w1'), answer('nothing_pending'), {});
  });

  it('a job without children goes on', async () => {
    await expectChange(tables, [...crowd(), ...job('active')], waitFor(''), answer('nothing_pending'), {});
  });

  it('a parent with a child that failed for it is refused', async () => {
    const given = [
      ...crowd(),
      ...parent,
      ['ZADD', 'bull:q:1:unsuccessful', '5', 'bull:q:ch'] as [string, ...string[]],
    ];
    await expectChange(tables, given, waitFor(''), answer('failed_children'), {});
  });
});
