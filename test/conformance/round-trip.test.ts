import { expect, it } from 'vitest';
import { RoundTrip } from '../../src/store/round-trip.ts';

it('near the server two calls are on their way, far from it many', () => {
  const near = new RoundTrip();
  expect(near.mostInFlight).toBe(2);
  for (let i = 0; i < 50; i++) near.note(0.3);
  expect(near.mostInFlight).toBe(2);

  const far = new RoundTrip();
  for (let i = 0; i < 50; i++) far.note(10);
  expect(far.mostInFlight).toBeGreaterThan(2);
});

it('a busy server nearby is not taken for a far one: the quickest answers count', () => {
  const trip = new RoundTrip();
  for (let i = 0; i < 200; i++) trip.note(i % 10 === 0 ? 0.5 : 15);
  expect(trip.mostInFlight).toBe(2);
});

it('a way that has become long is noticed', () => {
  const trip = new RoundTrip();
  trip.note(0.3);
  for (let i = 0; i < 50; i++) trip.note(20);
  expect(trip.mostInFlight).toBeGreaterThan(2);
});
