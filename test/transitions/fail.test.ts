import { describe, it } from 'vitest';
import { pushFail } from '../../src/store/generated/engine.ts';
import { type Changes, events, fields, gone, pushedRight, scored, without } from '../support/expected.ts';
import { type Command, crowd, delayedScore, job, NOW, usedQueue } from '../support/given.ts';
import { edgeOf, failure, finishing } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const failed = ['failed', { jobId: '1', failedReason: 'broke', prev: 'active' }] as [
  string,
  Record<string, string>,
];
const finished: Changes = {
  'q:active': without('1'),
  'q:1:lock': gone,
  'q:failed': scored('1', NOW),
  'q:1': fields({
    atm: '1',
    failedReason: 'broke',
    stacktrace: '["at x"]',
    finishedOn: String(NOW),
    defa: undefined,
  }),
  'q:events': events(failed),
};
const accepted = [[], [], [], '0', '0', '', ''];
const fail = (arg: Partial<typeof failure> = {}) => finishing(pushFail, { ...failure, ...arg });

describe('fail: active -> failed', () => {
  fromEveryState(tables, edgeOf('fail'), { active: finished });

  it('the last attempt says so', async () => {
    await expectChange(tables, [...crowd(), ...job('active', { fields: { atm: '2' } })], fail(), accepted, {
      ...finished,
      'q:1': fields({ atm: '3', failedReason: 'broke', stacktrace: '["at x"]', finishedOn: String(NOW) }),
      'q:events': events(failed, ['retries-exhausted', { jobId: '1', attemptsMade: '3' }]),
    });
  });

  it('a failure that had been put off is carried out and forgotten', async () => {
    await expectChange(
      tables,
      [...crowd(), ...job('active', { fields: { defa: 'stalled' } })],
      fail(),
      accepted,
      finished,
    );
  });

  it('keeping none erases the job', async () => {
    await expectChange(tables, [...crowd(), ...job('active')], fail({ keepCount: '0' }), accepted, {
      'q:active': without('1'),
      'q:1:lock': gone,
      'q:1': gone,
      'q:events': events(failed),
    });
  });

  const child = (policy: string): Command[] => [
    ...crowd(),
    ...usedQueue('bull:p'),
    ...job('active', {
      fields: { parentKey: 'bull:p:par', parent: `{"id":"par","queueKey":"bull:p"${policy}}` },
    }),
  ];
  const waitingParent = job('waiting-children', {
    root: 'bull:p',
    id: 'par',
    dependencies: ['bull:q:1', 'bull:q:w1'],
  });
  const released: Changes = {
    'p:par:dependencies': without('bull:q:1'),
    'p:waiting-children': gone,
    'p:wait': pushedRight('par'),
    'p:marker': scored('0', 0),
    'p:events': events(['waiting', { jobId: 'par', prev: 'waiting-children' }]),
  };

  it('without a policy the parent goes on waiting for the child', async () => {
    await expectChange(tables, [...child(''), ...waitingParent], fail(), accepted, finished);
    await expectChange(tables, [...child(',"fpof":null'), ...waitingParent], fail(), accepted, finished);
  });

  it('a child that takes its parent down dooms it, also one that is delayed or running', async () => {
    const doom = fields({ defa: 'child bull:q:1 failed' });
    const noted: Changes = {
      ...finished,
      'p:par:dependencies': without('bull:q:1'),
      'p:par:unsuccessful': scored('bull:q:1', NOW),
    };
    await expectChange(tables, [...child(',"fpof":true'), ...waitingParent], fail(), accepted, {
      ...noted,
      ...released,
      'p:par': doom,
    });
    const delayed = job('delayed', { root: 'bull:p', id: 'par', dependencies: ['bull:q:1', 'bull:q:w1'] });
    await expectChange(tables, [...child(',"fpof":true'), ...delayed], fail(), accepted, {
      ...noted,
      'p:par': fields({ delay: '0', defa: 'child bull:q:1 failed' }),
      'p:delayed': gone,
      'p:wait': pushedRight('par'),
      'p:marker': scored('0', 0),
      'p:events': events(['waiting', { jobId: 'par', prev: 'waiting-children' }]),
    });
    const running = job('foreign', { root: 'bull:p', id: 'par', dependencies: ['bull:q:1', 'bull:q:w1'] });
    await expectChange(tables, [...child(',"fpof":true'), ...running], fail(), accepted, {
      ...noted,
      'p:par': doom,
    });
  });

  it('a child that lets its parent go on releases it at once', async () => {
    await expectChange(tables, [...child(',"cpof":true'), ...waitingParent], fail(), accepted, {
      ...finished,
      ...released,
      'p:par:failed': fields({ 'bull:q:1': 'broke' }),
    });
  });

  it('a failure that is ignored is written down, and the others are waited for', async () => {
    await expectChange(tables, [...child(',"idof":true'), ...waitingParent], fail(), accepted, {
      ...finished,
      'p:par:dependencies': without('bull:q:1'),
      'p:par:failed': fields({ 'bull:q:1': 'broke' }),
    });
  });

  it('a dependency that is dropped leaves no trace, and the last one releases a parent with a delay into its delay', async () => {
    const parent = job('waiting-children', {
      root: 'bull:p',
      id: 'par',
      dependencies: ['bull:q:1'],
      fields: { delay: '700' },
    });
    await expectChange(tables, [...child(',"rdof":true'), ...parent], fail(), accepted, {
      ...finished,
      'p:par:dependencies': gone,
      'p:waiting-children': gone,
      'p:delayed': scored('par', delayedScore(NOW + 700)),
      'p:marker': scored('1', NOW + 700),
      'p:events': events(['delayed', { jobId: 'par', delay: String(NOW + 700) }]),
    });
  });

  it('a failed child that is not kept releases its parent though it has no policy', async () => {
    const parent = job('waiting-children', { root: 'bull:p', id: 'par', dependencies: ['bull:q:1'] });
    await expectChange(tables, [...child(''), ...parent], fail({ keepCount: '0' }), accepted, {
      ...released,
      'p:par:dependencies': gone,
      'q:active': without('1'),
      'q:1:lock': gone,
      'q:1': gone,
      'q:events': events(failed),
    });
  });
});
