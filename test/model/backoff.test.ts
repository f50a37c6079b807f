// Equality with BullMQ's delays is checked in bullmq-parity.test.ts; here is what we add and what we refuse.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Backoffs, backoffDelay, normaliseBackoff } from '../../src/model/backoff.ts';

const error = new Error('failed');

describe('backoffDelay', () => {
  it('doubles with every attempt up to maxDelay', () => {
    const backoff = { type: 'exponential', delay: 1000, maxDelay: 5000 };
    expect([1, 2, 3, 4, 50].map((attempt) => backoffDelay(backoff, attempt))).toEqual([
      1000, 2000, 4000, 5000, 5000,
    ]);
  });

  it('spreads below the ceiling, so that jobs that reached it do not come back together', () => {
    const backoff = { type: 'exponential', delay: 1000, maxDelay: 5000, jitter: 0.2 };
    expect(backoffDelay(backoff, 10, () => 0)).toBe(4000);
    expect(backoffDelay(backoff, 10, () => 0.5)).toBe(4500);
  });

  it('stays a finite whole number of milliseconds, whatever is asked', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('fixed', 'exponential'),
        fc.double({ min: -1e6, max: 1e9, noNaN: true }),
        fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
        fc.option(fc.integer({ min: 0, max: 1e9 }), { nil: undefined }),
        fc.integer({ min: 1, max: 5000 }),
        fc.double({ min: 0, max: 0.999999, noNaN: true }),
        (type, delay, jitter, maxDelay, attempt, random) => {
          const ms = backoffDelay({ type, delay, jitter, maxDelay }, attempt, () => random);
          expect(Number.isSafeInteger(ms)).toBe(true);
          expect(ms).toBeGreaterThanOrEqual(0);
          expect(ms).toBeLessThanOrEqual(maxDelay ?? 1e15);
        },
      ),
      // The same cases in every run, so that the suite's outcome does not depend on luck.
      { seed: 1, numRuns: 3000 },
    );
  });

  it('after thousands of attempts there is still no delay where none was asked for', () => {
    expect(backoffDelay({ type: 'exponential', delay: 0 }, 5000)).toBe(0);
    expect(backoffDelay({ type: 'exponential', delay: 1 }, 5000)).toBe(1e15);
  });

  it('retries at once without a delay', () => {
    expect(backoffDelay({ type: 'exponential' }, 3)).toBe(0);
  });
});

describe('normaliseBackoff', () => {
  it('a number is a fixed delay', () => {
    expect(normaliseBackoff(250)).toEqual({ type: 'fixed', delay: 250 });
  });

  it('keeps an object as it is, also with a type only a strategy knows', () => {
    const backoff = { type: 'fibonacci', delay: 5 };
    expect(normaliseBackoff(backoff)).toBe(backoff);
  });

  it.each<[unknown, RegExp]>([
    ['exponential', /^backoff: expected a number of milliseconds or \{ type, delay \}, got the string/],
    [Number.NaN, /^backoff: .* got NaN/],
    [[1000], /^backoff: .* got an array/],
    [
      { delay: 5 },
      /^backoff\.type: expected 'fixed', 'exponential' or the name of a strategy, got undefined/,
    ],
    [{ type: 'fixed', delay: '5' }, /^backoff\.delay: expected milliseconds, got the string "5"/],
    [{ type: 'fixed', delay: Number.POSITIVE_INFINITY }, /^backoff\.delay: .* got Infinity/],
    [{ type: 'fixed', maxDelay: {} }, /^backoff\.maxDelay: .* got an object/],
    [{ type: 'fixed', jitter: '0.5' }, /^backoff\.jitter: expected a number, got the string "0.5"/],
    [{ type: 'fixed', jitter: 1.1 }, /^Jitter should be between 0 and 1$/],
    [{ type: 'fixed', jitter: -0.1 }, /^Jitter should be between 0 and 1$/],
  ])('refuses %j', (backoff, message) => {
    expect(() => normaliseBackoff(backoff as never)).toThrow(message);
  });
});

describe('a strategy of your own', () => {
  it('gets attempts, type, error and job', () => {
    const seen: unknown[] = [];
    const job = { id: '1' };
    Backoffs.calculate({ type: 'mine' }, 2, error, job, (...args) => {
      seen.push(...args);
      return 10;
    });
    expect(seen).toEqual([2, 'mine', error, job]);
  });

  it('is capped by maxDelay, now or later, and may still say −1 or nothing', async () => {
    const backoff = { type: 'mine', maxDelay: 100 };
    const calculate = (result: unknown) =>
      Backoffs.calculate(backoff, 1, error, null, () => result as number);
    expect(calculate(500)).toBe(100);
    expect(await calculate(Promise.resolve(500))).toBe(100);
    expect(calculate(-1)).toBe(-1);
    expect(calculate(undefined)).toBe(undefined);
  });

  it('is not asked for built-in types', () => {
    expect(Backoffs.calculate({ type: 'fixed', delay: 7 }, 1, error, null, () => 1)).toBe(7);
  });

  it('a type that is the name of an object method is still unknown', () => {
    expect(() => Backoffs.calculate({ type: 'toString' }, 1, error, null)).toThrow(
      /^Unknown backoff strategy toString\.\n/,
    );
  });
});
