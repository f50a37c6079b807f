import { expect, it } from 'vitest';
import { collectionOf, jobStates, normaliseTypes } from '../../src/model/states.ts';

it('no types means all states, as a list of one’s own', () => {
  for (const none of [undefined, null, []]) expect(normaliseTypes(none)).toEqual(jobStates);
  expect(normaliseTypes()).not.toBe(jobStates);
});

it('one type may stand without a list, and each is taken once in the order given', () => {
  expect(normaliseTypes('failed')).toEqual(['failed']);
  expect(normaliseTypes(['waiting', 'wait', 'waiting', 'paused'])).toEqual(['waiting', 'wait', 'paused']);
});

it('refuses a type that does not exist, which would read some other key', () => {
  expect(() => normaliseTypes(['meta' as never])).toThrow(
    /^type: expected one of active, .*, got the string "meta"/,
  );
});

it('waiting jobs are kept under wait', () => {
  expect(jobStates.map(collectionOf)).toEqual([
    'active',
    'completed',
    'delayed',
    'failed',
    'prioritized',
    'wait',
    'waiting-children',
  ]);
});
