import { describe, it } from 'vitest';
import { type Changes, gone, without } from '../support/expected.ts';
import { type Command, crowd } from '../support/given.ts';
import { CREATED, type GroupState, givenGroup } from '../support/given-group.ts';
import { removeGroup, removeGroups } from './group-requests.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const ended = (state: GroupState, id = 'g'): Command[] =>
  givenGroup({
    id,
    state,
    isReverse: true,
    members: [
      { id: `${id}a`, status: 'completed', undo: 'failed' },
      { id: `${id}b`, status: 'completed' },
    ],
  });
const forgotten = (id: string): Changes => ({
  [`q:groups:${id}`]: gone,
  [`q:groups:${id}:jobs`]: gone,
  [`q:groups:${id}:plan`]: gone,
  [`q:groups:${id}:undo`]: gone,
});

describe('remove_groups', () => {
  for (const state of ['COMPLETED', 'FAILED', 'FAILED_COMPENSATION'] as const) {
    it(`one that is ${state}: all that is known of it goes, its jobs stay`, async () => {
      await expectChange(tables, [...crowd(), ...ended(state)], removeGroup, ['ok', 'g'], {
        ...forgotten('g'),
        'q:groups': gone,
        [`q:meta:groups:${state}`]: gone,
      });
    });
  }

  it('those of one state that ended before a moment, oldest first, as many as allowed', async () => {
    const given: Command[] = [
      ...crowd(),
      ...ended('FAILED', 'one'),
      ...ended('FAILED', 'two'),
      ...ended('FAILED', 'new'),
      ...ended('COMPLETED', 'other'),
      ['ZADD', 'bull:q:meta:groups:FAILED', String(CREATED - 2), 'one', String(CREATED - 1), 'two'],
    ];
    const leaving = (...ids: string[]): Changes => ({
      ...Object.assign({}, ...ids.map(forgotten)),
      'q:groups': without(...ids),
      'q:meta:groups:FAILED': without(...ids),
    });
    await expectChange(
      tables,
      given,
      removeGroups('FAILED', CREATED - 1),
      ['ok', 'one', 'two'],
      leaving('one', 'two'),
    );
    await expectChange(tables, given, removeGroups('FAILED', CREATED, 1), ['ok', 'one'], leaving('one'));
    await expectChange(tables, given, removeGroups('FAILED_COMPENSATION'), ['ok'], {});
  });

  it('a group that is nowhere is refused', async () => {
    await expectChange(tables, crowd(), removeGroup, ['not_found'], {});
  });

  for (const state of ['ACTIVE', 'COMPENSATING'] as const) {
    it(`a group in state ${state} is refused`, async () => {
      await expectChange(tables, [...crowd(), ...ended(state)], removeGroup, ['not_terminal', state], {});
    });
  }
});
