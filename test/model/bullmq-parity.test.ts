// What we export under BullMQ's names is compared with the package itself, so that a slip of the pen cannot stay.

import * as bullmq from 'bullmq';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Backoffs } from '../../src/model/backoff.ts';
import * as constants from '../../src/model/constants.ts';
import * as errors from '../../src/model/errors.ts';
import { normaliseTypes } from '../../src/model/states.ts';

type Exports = Record<string, unknown>;
const theirs = bullmq as unknown as Exports;

/** A compiled numeric enum also maps numbers back to names; those entries are not values. */
function enumValues(name: string): Exports {
  return Object.fromEntries(
    Object.entries(theirs[name] as object).filter(([key]) => Number.isNaN(Number(key))),
  );
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('constants', () => {
  const enums = ['ErrorCode', 'MetricsTime', 'ClientType', 'SpanKind', 'MetricNames', 'TelemetryAttributes'];
  it.each(enums)('%s has the same members with the same values', (name) => {
    expect((constants as Exports)[name]).toEqual(enumValues(name));
  });

  const plain = ['PRIORITY_LIMIT', 'QUEUE_EVENT_SUFFIX', 'DELAY_TIME_5', 'DELAY_TIME_1'];
  it.each(plain)('%s is the same', (name) => {
    expect(theirs[name]).toBeDefined();
    expect((constants as Exports)[name]).toBe(theirs[name]);
  });

  const messages = [
    'UNRECOVERABLE_ERROR',
    'DELAYED_ERROR',
    'WAITING_ERROR',
    'WAITING_CHILDREN_ERROR',
    'RATE_LIMIT_ERROR',
    'CONNECTION_CLOSED_ERROR_MSG',
  ];
  it.each(messages)('%s is the same', (name) => {
    expect(theirs[name]).toBeDefined();
    expect((errors as Exports)[name]).toBe(theirs[name]);
  });
});

describe('control errors', () => {
  const classes: [string, (error: unknown) => boolean][] = [
    ['UnrecoverableError', errors.isUnrecoverable],
    ['DelayedError', errors.isDelayedError],
    ['WaitingError', errors.isWaitingError],
    ['WaitingChildrenError', errors.isWaitingChildrenError],
    ['RateLimitError', errors.isRateLimitError],
    ['ConnectionClosedError', errors.isConnectionError],
  ];
  type ErrorClass = new (message?: string) => Error;

  it.each(classes)('%s has the same name and text, and each library knows the other’s', (name, recognise) => {
    const ours = new ((errors as Exports)[name] as ErrorClass)();
    const other = new (theirs[name] as ErrorClass)();
    expect([ours.name, ours.message]).toEqual([other.name, other.message]);
    expect(recognise(ours)).toBe(true);
    expect(recognise(other)).toBe(true);
    expect(recognise(new Error('something else'))).toBe(false);
  });
});

describe('script codes', () => {
  const details = { jobId: '7', command: 'moveToFinished', state: 'active', parentKey: 'bull:p:1' };
  const { finishedErrors } = bullmq.RedisQueueBackend.prototype as unknown as {
    finishedErrors(input: object): Error & { code: number };
  };

  it.each([-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11])('%i has the same text and code', (code) => {
    const ours = errors.scriptCodeError(code, details);
    const other = finishedErrors({ code, ...details });
    expect(ours.message).toBe(other.message);
    expect(ours.code).toBe(other.code);
    expect(errors.isUnrecoverable(ours)).toBe(errors.isUnrecoverable(other));
  });

  it('an unknown code has the same text', () => {
    const other = finishedErrors({ code: -99, ...details });
    expect(errors.scriptCodeError(-99, details).message).toBe(other.message);
  });
});

describe('Backoffs', () => {
  const error = new Error('failed');
  const cases = [
    { type: 'fixed', delay: 1000 },
    { type: 'fixed', delay: 1000, jitter: 0.5 },
    { type: 'exponential', delay: 1000 },
    { type: 'exponential', delay: 333, jitter: 0.2 },
    { type: 'exponential', delay: 1000, jitter: 1 },
  ];
  it.each(cases)('calculates the same delays for %j', (backoff) => {
    for (const random of [0, 0.37, 0.999]) {
      vi.spyOn(Math, 'random').mockReturnValue(random);
      for (const attempt of [1, 2, 3, 10]) {
        expect(Backoffs.calculate(backoff, attempt, error, undefined)).toBe(
          bullmq.Backoffs.calculate(backoff, attempt, error, undefined as never),
        );
      }
    }
  });

  it('refuses an unknown type with the same text', () => {
    const backoff = { type: 'fibonacci', delay: 1 };
    const messageOf = (run: () => unknown) => {
      try {
        run();
      } catch (thrown) {
        return (thrown as Error).message;
      }
      return 'nothing was thrown';
    };
    expect(messageOf(() => Backoffs.calculate(backoff, 1, error, undefined))).toBe(
      messageOf(() => bullmq.Backoffs.calculate(backoff, 1, error, undefined as never)),
    );
  });

  it('normalises as BullMQ does', () => {
    expect(Backoffs.normalize(5)).toEqual(bullmq.Backoffs.normalize(5));
    expect(Backoffs.normalize(0)).toEqual(bullmq.Backoffs.normalize(0));
    expect(Backoffs.normalize(undefined)).toEqual(bullmq.Backoffs.normalize(undefined as never));
  });
});

it('the default job types are those of BullMQ', () => {
  const { sanitizeJobTypes } = bullmq.QueueGetters.prototype as unknown as {
    sanitizeJobTypes(types: unknown): string[];
  };
  expect(normaliseTypes()).toEqual(sanitizeJobTypes(undefined));
  expect(normaliseTypes(['wait', 'active', 'wait'])).toEqual(sanitizeJobTypes(['wait', 'active', 'wait']));
});
