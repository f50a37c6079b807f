import { expect, it } from 'vitest';
import { RoundTrip } from '../../src/store/round-trip.ts';

it('near the server two calls are on their way, far from it many', () => {
  const near = new RoundTrip();
  expect(near.mostInFlight).toBe(2);
  // Nothing is known of it yet: a few must not wait for each other on a long way.
  expect(near.mostInFlightFor(1)).toBeGreaterThan(2);
  expect(near.mostInFlightFor(100)).toBe(2);
  for (let i = 0; i < 50; i++) near.note(0.3, true);
  expect(near.mostInFlight).toBe(2);
  expect(near.mostInFlightFor(1)).toBe(2);

  const far = new RoundTrip();
  for (let i = 0; i < 50; i++) far.note(10, true);
  expect(far.mostInFlight).toBeGreaterThan(2);
});

it('a busy server nearby is not taken for a far one: the quickest answers count', () => {
  const trip = new RoundTrip();
  for (let i = 0; i < 200; i++) trip.note(i % 10 === 0 ? 0.5 : 15, true);
  expect(trip.mostInFlight).toBe(2);
});

it('a way that has become long is noticed', () => {
  const trip = new RoundTrip();
  trip.note(0.3, true);
  for (let i = 0; i < 50; i++) trip.note(20, true);
  expect(trip.mostInFlight).toBeGreaterThan(2);
});

it('calls that wait behind others do not make the way long, and can show that it is short', () => {
  const near = new RoundTrip();
  near.note(0.5, true);
  for (let i = 0; i < 1000; i++) near.note(20, false);
  expect(near.mostInFlight).toBe(2);

  // The first call of an object has waited for its connection.
  const late = new RoundTrip();
  late.note(50, true);
  expect(late.mostInFlight).toBeGreaterThan(2);
  late.note(1, false);
  expect(late.mostInFlight).toBe(2);
});
