import { expect, it } from 'vitest';
import { nearestName, refuseUnknownOptions } from '../../../src/model/options/unknown-options.ts';

const known = ['concurrency', 'connection', 'prefix', 'lockDuration', 'name'];

it.each<[string, string | undefined]>([
  ['concurency', 'concurrency'],
  ['Concurrency', 'concurrency'],
  ['conection', 'connection'],
  ['prefxi', 'prefix'],
  ['lock_duration', 'lockDuration'],
  ['nam', 'name'],
  ['color', undefined],
  ['x', undefined],
  ['', undefined],
])('%j is near %s', (name, nearest) => {
  expect(nearestName(name, known)).toBe(nearest);
});

it('refuses unknown names where the option object is ours alone', () => {
  expect(() => refuseUnknownOptions('lane', { name: 'x' }, known)).not.toThrow();
  expect(() => refuseUnknownOptions('lane', { nmae: 'x' }, known)).toThrow(
    /^lane\.nmae: expected a known option, got one that does not exist; did you mean name\./,
  );
  expect(() => refuseUnknownOptions('lane', { zebra: 1 }, known)).toThrow(/does not exist\. Correct/);
});
