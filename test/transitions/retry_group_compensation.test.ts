import { describe, it } from 'vitest';
import { events, fields, gone, list, scored } from '../support/expected.ts';
import { counts, groupChanges, undoAdded } from '../support/expected-group.ts';
import { type Command, crowd } from '../support/given.ts';
import { type GroupState, undoId } from '../support/given-group.ts';
import { done, retryUndoing, UNDO, world } from './group-requests.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const failedOne = { id: 'm9', status: 'failed' as const, mapping: 0 };
const broken = world({
  state: 'FAILED_COMPENSATION',
  members: [{ ...done, undo: 'failed' }, { id: 'm1', status: 'completed', undo: 'completed' }, failedOne],
});
const reopened = {
  ...groupChanges(counts({ completedCount: 2, failedCount: 1, undoing: 1 }), {}, { c0: 'waiting' }),
};

describe('retry_group_compensation', () => {
  it('those that failed run again from the start, the others stay as they are', async () => {
    await expectChange(tables, broken, retryUndoing, ['ok', '1'], {
      'q:compensation:failed': gone,
      'q:compensation:g-0': fields({
        finishedOn: undefined,
        processedOn: undefined,
        failedReason: undefined,
        atm: undefined,
        ats: undefined,
      }),
      'q:compensation:wait': list('g-0'),
      'q:compensation:marker': scored('0', 0),
      'q:compensation:meta': fields({ 'opts.maxLenEvents': '10000' }),
      'q:compensation:events': events(['waiting', { jobId: 'g-0', prev: 'failed' }]),
      ...reopened,
    });
  });

  it('one whose job is gone is added again from the plan', async () => {
    const given: Command[] = [...broken, ['DEL', `${UNDO}:failed`, `${UNDO}:${undoId(0)}`]];
    const added = undoAdded(0, 'm0');
    await expectChange(tables, given, retryUndoing, ['ok', '1'], {
      ...added,
      'q:compensation:meta:homes': (before) => before,
      ...reopened,
    });
  });

  it('a group that is nowhere is refused', async () => {
    await expectChange(tables, crowd(), retryUndoing, ['not_found', ''], {});
  });

  for (const state of ['ACTIVE', 'COMPENSATING', 'COMPLETED', 'FAILED'] as GroupState[]) {
    it(`a group in state ${state} is refused`, async () => {
      const given = world({ state, members: [{ ...done, undo: 'failed' }, failedOne] });
      await expectChange(tables, given, retryUndoing, ['not_failed', state], {});
    });
  }
});
