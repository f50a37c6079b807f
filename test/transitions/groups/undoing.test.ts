// What the compensations of a group do to it, in every state that the group can be in.

import { describe, expect, it } from 'vitest';
import { pushDelay, pushGiveBack, pushRetry } from '../../../src/store/generated/engine.ts';
import {
  type Changes,
  events,
  fields,
  gone,
  list,
  pushedLeft,
  pushedRight,
  scored,
  text,
  zset,
} from '../../support/expected.ts';
import { counts, groupChanges, moved, results, told } from '../../support/expected-group.ts';
import { type Command, delayedScore, NOW, TOKEN } from '../../support/given.ts';
import { type GroupSpec, type MemberSpec, undoId, undoRecord } from '../../support/given-group.ts';
import { ending, finishing } from '../edges.ts';
import { complete, fail, ofUndo, remove, reprocess, undoing, world } from '../group-requests.ts';
import { expectChange, type Request, useTables } from '../tables.ts';

const tables = useTables();
type Event = [string, Record<string, string>?];
const ID = undoId(0);
const VALUE = '{"ok":true}';
const at = String(NOW);
const answer = (word: string) => [word === 'ok' ? [] : ['0', word, ''], [], [], '0', '0', '', ''];
const ofFirst = { jobId: undoId(0), key: 'bull:q:m0' };

const leftQueue: Changes = { 'q:compensation:active': gone, [`q:compensation:${ID}:lock`]: gone };
const settings: Changes = { 'q:compensation:meta': fields({ 'opts.maxLenEvents': '10000' }) };
const completed: Changes = {
  ...leftQueue,
  ...settings,
  'q:compensation:completed': scored(ID, NOW),
  [`q:compensation:${ID}`]: fields({ atm: '1', returnvalue: VALUE, finishedOn: at }),
};
const failed: Changes = {
  ...leftQueue,
  ...settings,
  'q:compensation:failed': scored(ID, NOW),
  [`q:compensation:${ID}`]: fields({
    atm: '1',
    failedReason: 'broke',
    stacktrace: '["at x"]',
    finishedOn: at,
  }),
};
const saysCompleted: Event = ['completed', { jobId: ID, returnvalue: VALUE, prev: 'active' }];
const saysFailed: Event = ['failed', { jobId: ID, failedReason: 'broke', prev: 'active' }];
const drained: Event = ['drained'];
const says = (...rows: Event[]): Changes => ({ 'q:compensation:events': events(...rows) });

const undoCompletes = ofUndo(complete({ jobId: ID }));
const undoFails = ofUndo(fail({ jobId: ID }));
const row = (
  title: string,
  spec: GroupSpec,
  request: Request,
  word: string,
  changes: Changes,
  more: Command[] = [],
) => it(title, () => expectChange(tables, [...world(spec), ...more], request, answer(word), changes));

/** Another member, whose compensation waits, or has its turn yet to come. */
const second: MemberSpec = { id: 'm2', status: 'completed' };
const total = { completedCount: 1, failedCount: 1 };

describe('a compensation completes', () => {
  row('the last one: the group is FAILED, all is undone', undoing(), undoCompletes, 'ok', {
    ...completed,
    ...says(saysCompleted, drained),
    ...moved('COMPENSATING', 'FAILED'),
    'q:events': events(
      told('failed', { state: 'FAILED', compensationResults: results({ ...ofFirst, status: 'completed' }) }),
    ),
    ...groupChanges({ state: 'FAILED', updatedAt: at, ...counts(total) }, {}, { c0: 'completed' }),
  });

  row('also where nothing is kept of it', undoing(), ofUndo(complete({ jobId: ID, keepCount: '0' })), 'ok', {
    ...leftQueue,
    ...settings,
    [`q:compensation:${ID}`]: gone,
    ...says(saysCompleted, drained),
    ...moved('COMPENSATING', 'FAILED'),
    'q:events': events(
      told('failed', { state: 'FAILED', compensationResults: results({ ...ofFirst, status: 'completed' }) }),
    ),
    ...groupChanges({ state: 'FAILED', updatedAt: at, ...counts(total) }, {}, { c0: 'completed' }),
  });

  row(
    'while another has not settled, the group waits',
    undoing([{ ...second, undo: 'waiting' }]),
    undoCompletes,
    'ok',
    {
      ...completed,
      ...says(saysCompleted),
      ...groupChanges(counts({ ...total, completedCount: 2, undoing: 1 }), {}, { c0: 'completed' }),
    },
  );

  row(
    'while a member runs, the group waits',
    undoing([{ id: 'm2', status: 'active', at: 'foreign' }]),
    undoCompletes,
    'ok',
    {
      ...completed,
      ...says(saysCompleted, drained),
      ...groupChanges(counts(total), {}, { c0: 'completed' }),
    },
  );

  row(
    'after one that has failed: FAILED_COMPENSATION',
    undoing([{ ...second, undo: 'failed' }]),
    undoCompletes,
    'ok',
    {
      ...completed,
      'q:compensation:failed': (before) => before,
      ...says(saysCompleted, drained),
      ...moved('COMPENSATING', 'FAILED_COMPENSATION'),
      'q:events': events(
        told('failed', {
          state: 'FAILED_COMPENSATION',
          compensationResults: results(
            { ...ofFirst, status: 'completed' },
            { jobId: undoId(2), key: 'bull:q:m2', status: 'failed', failedReason: 'boom' },
          ),
        }),
      ),
      ...groupChanges(
        {
          state: 'FAILED_COMPENSATION',
          updatedAt: at,
          ...counts({ ...total, completedCount: 2, undoFailed: 1 }),
        },
        {},
        { c0: 'completed' },
      ),
    },
  );

  row('in reverse order the next one is added', undoing([second], { isReverse: true }), undoCompletes, 'ok', {
    ...completed,
    ...says(['added', { jobId: undoId(2), name: 'undo' }], ['waiting', { jobId: undoId(2) }], saysCompleted),
    'q:groups:g:undo': gone,
    'q:compensation:id': text('1'),
    'q:compensation:wait': list(undoId(2)),
    'q:compensation:marker': zset(['0', '0']),
    [`q:compensation:${undoId(2)}`]: () => ({ type: 'hash', value: undoRecord(2, 'm2'), hasTtl: false }),
    ...groupChanges(
      counts({ ...total, completedCount: 2, undoing: 1 }),
      {},
      { c0: 'completed', c2: 'waiting' },
    ),
  });

  row(
    'of a group that is gone it is an ordinary job',
    undoing(),
    undoCompletes,
    'ok',
    {
      ...completed,
      ...says(saysCompleted, drained),
    },
    [['DEL', 'bull:q:groups:g']],
  );
});

describe('a compensation fails for good', () => {
  row('the last one: FAILED_COMPENSATION', undoing(), undoFails, 'ok', {
    ...failed,
    ...says(saysFailed, drained),
    ...moved('COMPENSATING', 'FAILED_COMPENSATION'),
    'q:events': events(
      told('failed', {
        state: 'FAILED_COMPENSATION',
        compensationResults: results({ ...ofFirst, status: 'failed', failedReason: 'broke' }),
      }),
    ),
    ...groupChanges(
      { state: 'FAILED_COMPENSATION', updatedAt: at, ...counts({ ...total, undoFailed: 1 }) },
      {},
      { c0: 'failed', v0: 'broke' },
    ),
  });

  row('in reverse order it does not stop the rest', undoing([second], { isReverse: true }), undoFails, 'ok', {
    ...failed,
    ...says(['added', { jobId: undoId(2), name: 'undo' }], ['waiting', { jobId: undoId(2) }], saysFailed),
    'q:groups:g:undo': gone,
    'q:compensation:id': text('1'),
    'q:compensation:wait': list(undoId(2)),
    'q:compensation:marker': zset(['0', '0']),
    [`q:compensation:${undoId(2)}`]: () => ({ type: 'hash', value: undoRecord(2, 'm2'), hasTtl: false }),
    ...groupChanges(
      counts({ ...total, completedCount: 2, undoing: 1, undoFailed: 1 }),
      {},
      { c0: 'failed', v0: 'broke', c2: 'waiting' },
    ),
  });
});

describe('a compensation that runs again after the group had ended', () => {
  const spec = undoing([], { state: 'FAILED_COMPENSATION' });

  row(
    'completes: the group is FAILED and has recovered, without a second group:failed',
    spec,
    undoCompletes,
    'ok',
    {
      ...completed,
      ...says(saysCompleted, drained),
      ...moved('FAILED_COMPENSATION', 'FAILED', false),
      'q:events': events(told('recovered')),
      ...groupChanges({ state: 'FAILED', updatedAt: at, ...counts(total) }, {}, { c0: 'completed' }),
    },
  );

  row('fails: the group stays as it was', spec, undoFails, 'ok', {
    ...failed,
    ...says(saysFailed, drained),
    ...groupChanges(counts({ ...total, undoFailed: 1 }), {}, { c0: 'failed', v0: 'broke' }),
  });

  row(
    'completes while another is still failed: the group stays as it was',
    undoing([{ ...second, undo: 'failed' }], { state: 'FAILED_COMPENSATION' }),
    undoCompletes,
    'ok',
    {
      ...completed,
      ...says(saysCompleted, drained),
      ...groupChanges(counts({ ...total, completedCount: 2, undoFailed: 1 }), {}, { c0: 'completed' }),
    },
  );
});

describe('a compensation waits again: its group sees no difference', () => {
  const attempt = { jobId: ID, token: TOKEN, reason: 'broke', stacktrace: '["at x"]', ...ending };
  const noted = { failedReason: 'broke', stacktrace: '["at x"]' };

  row('retry', undoing(), ofUndo(finishing(pushRetry, { ...attempt, isNext: false })), 'ok', {
    ...leftQueue,
    ...settings,
    [`q:compensation:${ID}`]: fields({ ...noted, atm: '1' }),
    'q:compensation:wait': pushedLeft(ID),
    'q:compensation:marker': scored('0', 0),
    ...says(['waiting', { jobId: ID, prev: 'active' }]),
  });

  row('delay', undoing(), ofUndo(finishing(pushDelay, { ...attempt, delay: 5_000, isAttempt: true })), 'ok', {
    ...leftQueue,
    [`q:compensation:${ID}`]: fields({ ...noted, atm: '1', delay: '5000' }),
    'q:compensation:delayed': zset([ID, delayedScore(NOW + 5_000)]),
    'q:compensation:marker': scored('1', NOW + 5_000),
    ...settings,
    ...says(['delayed', { jobId: ID, delay: String(NOW + 5_000) }]),
  });

  for (const isWish of [true, false]) {
    row(
      `give_back, ${isWish ? 'by wish' : 'interrupted'}`,
      undoing(),
      ofUndo(finishing(pushGiveBack, { jobId: ID, token: TOKEN, isWish, isNew: false })),
      'ok',
      {
        ...leftQueue,
        ...settings,
        'q:compensation:wait': pushedRight(ID),
        'q:compensation:marker': scored('0', 0),
        ...says(['waiting', { jobId: ID, prev: 'active' }]),
      },
    );
  }
});

describe('reprocess of a compensation', () => {
  const forgotten = {
    finishedOn: undefined,
    processedOn: undefined,
    failedReason: undefined,
    atm: undefined,
    ats: undefined,
  };
  const member = (undo: MemberSpec['undo']): MemberSpec => ({ id: 'm0', status: 'completed', undo });

  for (const state of ['FAILED_COMPENSATION', 'COMPENSATING'] as const) {
    it(`one that failed runs again, group ${state}`, async () => {
      const spec: GroupSpec = {
        state,
        members: [member('failed'), { id: 'm1', status: 'active', at: 'foreign' }],
      };
      await expectChange(tables, world(spec), ofUndo(reprocess(ID, 'failed')), ['ok', ''], {
        'q:compensation:failed': gone,
        [`q:compensation:${ID}`]: fields(forgotten),
        'q:compensation:wait': list(ID),
        'q:compensation:marker': scored('0', 0),
        ...settings,
        ...says(['waiting', { jobId: ID, prev: 'failed' }]),
        ...groupChanges(counts({ completedCount: 1, undoing: 1 }), {}, { c0: 'waiting' }),
      });
    });
  }

  it('one that completed is refused', async () => {
    for (const state of ['COMPENSATING', 'FAILED', 'FAILED_COMPENSATION'] as const) {
      const given = world({ state, members: [member('completed')] });
      await expectChange(tables, given, ofUndo(reprocess(ID, 'completed')), ['compensation', ''], {});
    }
  });
});

describe('remove of a compensation', () => {
  it('is refused while it has not settled', async () => {
    for (const undoAt of ['waiting', 'delayed', 'prioritized'] as const) {
      const given = world({
        state: 'COMPENSATING',
        members: [{ id: 'm0', status: 'completed', undo: 'waiting', undoAt }],
      });
      await expectChange(tables, given, ofUndo(remove(ID)), ['compensation', ''], {});
    }
  });

  for (const undo of ['completed', 'failed'] as const) {
    it(`that has ${undo} leaves the group as it is`, async () => {
      const state = undo === 'failed' ? 'FAILED_COMPENSATION' : 'FAILED';
      const given = world({ state, members: [{ id: 'm0', status: 'completed', undo }] });
      const space = await tables.given(given);
      expect(await tables.run(ofUndo(remove(ID)))).toEqual(['ok', '']);
      const after = await tables.keyspace();
      expect(after[`q:compensation:${ID}`]).toBeUndefined();
      for (const key of Object.keys(space).filter(
        (name) => name.startsWith('q:groups') || name.startsWith('q:meta:groups'),
      ))
        expect(after[key], key).toEqual(space[key]);
      expect(after['q:events']).toBeUndefined();
    });
  }
});
