import { describe, it } from 'vitest';
import { type Changes, events, fields, gone, without } from '../support/expected.ts';
import { counts, groupChanges, moved, told, undoAdded } from '../support/expected-group.ts';
import { crowd, NOW, ROOT } from '../support/given.ts';
import { type GroupState, undoId } from '../support/given-group.ts';
import { cancelGroup, done, elsewhere, later, mixed, OTHER, running, world } from './group-requests.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();

/** The members that wait in the mixed group are gone. */
const withdrawn: Changes = {
  'p:wait': without('m1'),
  'p:m1': gone,
  'p:events': events(['removed', { jobId: 'm1', prev: 'wait' }]),
  'q:delayed': without('m2'),
  'q:m2': gone,
};
const statuses = { 'bull:p:m1': 'cancelled', 'bull:q:m2': 'cancelled' };
const compensating = (reason: string) => told('compensating', { failedJobId: '', reason });

describe('cancel_group: ACTIVE -> COMPENSATING | FAILED', () => {
  it('what has not begun is taken out, what is done is undone, what runs is waited for', async () => {
    await expectChange(tables, world({ members: mixed }), cancelGroup('no stock'), ['ok', 'COMPENSATING'], {
      ...withdrawn,
      'q:events': events(['removed', { jobId: 'm2', prev: 'delayed' }], compensating('no stock')),
      ...undoAdded(0, 'm0'),
      ...moved('ACTIVE', 'COMPENSATING'),
      ...groupChanges(
        {
          state: 'COMPENSATING',
          updatedAt: String(NOW),
          ...counts({ completedCount: 1, cancelledCount: 2, undoing: 1 }),
          failedJobId: '',
          reason: 'no stock',
        },
        statuses,
        { c0: 'waiting' },
      ),
    });
  });

  it('with nothing done and nothing running it has failed at once', async () => {
    await expectChange(tables, world({ members: [elsewhere, later] }), cancelGroup(), ['ok', 'FAILED'], {
      ...withdrawn,
      'q:delayed': without('m2'),
      'q:events': events(
        ['removed', { jobId: 'm2', prev: 'delayed' }],
        told('failed', { state: 'FAILED', compensationResults: '[]' }),
      ),
      ...moved('ACTIVE', 'FAILED'),
      ...groupChanges(
        {
          state: 'FAILED',
          updatedAt: String(NOW),
          ...counts({ cancelledCount: 2 }),
          failedJobId: '',
          reason: 'cancelled',
        },
        statuses,
      ),
    });
  });

  it('a member that was done but has no mapping leaves nothing to undo', async () => {
    const given = world({ members: [{ ...done, mapping: 0 }, later] });
    await expectChange(tables, given, cancelGroup(), ['ok', 'FAILED'], {
      'q:delayed': without('m2'),
      'q:m2': gone,
      'q:events': events(
        ['removed', { jobId: 'm2', prev: 'delayed' }],
        told('failed', { state: 'FAILED', compensationResults: '[]' }),
      ),
      ...moved('ACTIVE', 'FAILED'),
      ...groupChanges(
        {
          state: 'FAILED',
          updatedAt: String(NOW),
          ...counts({ completedCount: 1, cancelledCount: 1 }),
          failedJobId: '',
          reason: 'cancelled',
        },
        { 'bull:q:m2': 'cancelled' },
      ),
    });
  });

  for (const at of ['waiting', 'prioritized', 'delayed', 'paused'] as const) {
    it(`a member in ${at} is taken out`, async () => {
      const set = at === 'waiting' ? 'wait' : at;
      const given = world({ members: [running, { id: 'm1', status: 'pending', at, mapping: 0 }] });
      await expectChange(tables, given, cancelGroup(), ['ok', 'COMPENSATING'], {
        [`q:${set}`]: without('m1'),
        'q:m1': gone,
        'q:events': events(['removed', { jobId: 'm1', prev: set }], compensating('cancelled')),
        ...moved('ACTIVE', 'COMPENSATING'),
        ...groupChanges(
          {
            state: 'COMPENSATING',
            updatedAt: String(NOW),
            ...counts({ cancelledCount: 1 }),
            failedJobId: '',
            reason: 'cancelled',
          },
          { 'bull:q:m1': 'cancelled' },
        ),
      });
    });
  }

  it('a pending member that lies nowhere is running: a stock worker has it', async () => {
    const given = world({ members: [{ id: '1', status: 'pending', at: 'foreign' }] });
    await expectChange(tables, given, cancelGroup(), ['ok', 'COMPENSATING'], {
      'q:events': events(compensating('cancelled')),
      ...moved('ACTIVE', 'COMPENSATING'),
      ...groupChanges({
        state: 'COMPENSATING',
        updatedAt: String(NOW),
        ...counts(),
        failedJobId: '',
        reason: 'cancelled',
      }),
    });
  });

  it('a member that was interrupted stays: what it did is unknown', async () => {
    const given = world({ members: [{ ...running, at: 'waiting' }] });
    await expectChange(tables, given, cancelGroup(), ['ok', 'COMPENSATING'], {
      'q:events': events(compensating('cancelled')),
      ...moved('ACTIVE', 'COMPENSATING'),
      ...groupChanges({
        state: 'COMPENSATING',
        updatedAt: String(NOW),
        ...counts(),
        failedJobId: '',
        reason: 'cancelled',
      }),
    });
  });

  it('members on another queue are undone there', async () => {
    const given = world({ members: [{ ...done, root: OTHER }] });
    await expectChange(tables, given, cancelGroup(), ['ok', 'COMPENSATING'], {
      'q:events': events(compensating('cancelled')),
      ...undoAdded(0, 'm0', { root: OTHER }),
      ...moved('ACTIVE', 'COMPENSATING'),
      ...groupChanges(
        {
          state: 'COMPENSATING',
          updatedAt: String(NOW),
          ...counts({ completedCount: 1, undoing: 1 }),
          failedJobId: '',
          reason: 'cancelled',
        },
        {},
        { c0: 'waiting' },
      ),
    });
  });

  it('in reverse order the last that completed comes first, alone', async () => {
    const given = world({ isReverse: true, members: [done, { id: 'm1', status: 'completed' }] });
    await expectChange(tables, given, cancelGroup(), ['ok', 'COMPENSATING'], {
      'q:events': events(compensating('cancelled')),
      ...undoAdded(1, 'm1'),
      'q:groups:g:undo': without('1'),
      ...moved('ACTIVE', 'COMPENSATING'),
      ...groupChanges(
        {
          state: 'COMPENSATING',
          updatedAt: String(NOW),
          ...counts({ completedCount: 2, undoing: 1 }),
          failedJobId: '',
          reason: 'cancelled',
        },
        {},
        { c1: 'waiting' },
      ),
    });
  });

  it('in reverse order nothing is undone while a member runs', async () => {
    const given = world({ isReverse: true, members: [done, running] });
    await expectChange(tables, given, cancelGroup(), ['ok', 'COMPENSATING'], {
      'q:events': events(compensating('cancelled')),
      ...moved('ACTIVE', 'COMPENSATING'),
      ...groupChanges({
        state: 'COMPENSATING',
        updatedAt: String(NOW),
        ...counts({ completedCount: 1 }),
        failedJobId: '',
        reason: 'cancelled',
      }),
    });
  });

  it('a compensation that is there already, by whatever hand, is not added twice', async () => {
    const given = [
      ...world({ members: [done] }),
      ['HSET', `${ROOT}:compensation:${undoId(0)}`, 'name', 'x'],
    ] as never;
    await expectChange(tables, given, cancelGroup(), ['ok', 'COMPENSATING'], {
      'q:events': events(compensating('cancelled')),
      ...moved('ACTIVE', 'COMPENSATING'),
      ...groupChanges(
        {
          state: 'COMPENSATING',
          updatedAt: String(NOW),
          ...counts({ completedCount: 1, undoing: 1 }),
          failedJobId: '',
          reason: 'cancelled',
        },
        {},
        { c0: 'waiting' },
      ),
    });
  });

  it('a group that is nowhere is refused', async () => {
    await expectChange(tables, crowd(), cancelGroup(), ['not_found', ''], {});
  });

  for (const state of ['COMPENSATING', 'COMPLETED', 'FAILED', 'FAILED_COMPENSATION'] as GroupState[]) {
    it(`a group in state ${state} is refused`, async () => {
      const given = world({ state, members: [{ ...done, undo: 'waiting' }] });
      await expectChange(tables, given, cancelGroup(), ['not_active', state], {});
    });
  }
});

describe('cancel_group under long queues', () => {
  // Each member of a list of this length is reckoned at a tenth of a millisecond and more.
  const LONG = 7_000;
  const COUNT = 100;
  const many = Array.from({ length: COUNT }, (_, i) => ({
    id: `n${i}`,
    status: 'pending' as const,
    mapping: 0,
  }));

  it('members are marked, and nobody is held up', async () => {
    const filler = Array.from({ length: LONG }, (_, i) => `f${i}`);
    const given = [
      ...crowd(),
      ['RPUSH', `${ROOT}:wait`, ...filler] as never,
      ...world({
        members: [running, ...many, { id: 'late', status: 'pending', at: 'delayed', mapping: 0 }],
      }).slice(2 * crowd().length),
    ];
    const cancelled = Object.fromEntries(
      [...many.map(({ id }) => id), 'late'].map((id) => [`bull:q:${id}`, 'cancelled']),
    );
    const marks = Object.fromEntries(
      many.map(({ id }) => [`q:${id}`, fields({ defa: 'group g was cancelled' })]),
    );
    await expectChange(tables, given, cancelGroup(), ['ok', 'COMPENSATING'], {
      ...marks,
      'q:late': gone,
      'q:delayed': without('late'),
      'q:events': events(['removed', { jobId: 'late', prev: 'delayed' }], compensating('cancelled')),
      'q:meta:groups:marked': () => ({
        type: 'list',
        value: many.flatMap(({ id }) => [ROOT, id]),
        hasTtl: false,
      }),
      ...moved('ACTIVE', 'COMPENSATING'),
      ...groupChanges(
        {
          state: 'COMPENSATING',
          updatedAt: String(NOW),
          ...counts({ cancelledCount: COUNT + 1 }),
          failedJobId: '',
          reason: 'cancelled',
        },
        cancelled,
      ),
    });
  });
});
