import { expect, it } from 'vitest';
import { silentLogger } from '../../../src/model/logger.ts';
import { resolveJobOptions } from '../../../src/model/options/job-options.ts';
import { resolveQueueEventsOptions } from '../../../src/model/options/queue-events-options.ts';
import { type QueueOptions, resolveQueueOptions } from '../../../src/model/options/queue-options.ts';
import { reliableDefaults } from '../../../src/model/presets.ts';

const base = {
  connection: null,
  prefix: 'bull',
  skipVersionCheck: false,
  skipWaitingForReady: false,
  logger: silentLogger,
  strict: false,
  clock: 'server',
  callTimeout: 5000,
  unknown: [],
};

it('a queue: nothing given', () => {
  const resolved = resolveQueueOptions(undefined);
  expect(resolved).toEqual({
    ...base,
    defaultJobOptions: {},
    streams: { events: { maxLen: 10_000 } },
    skipMetasUpdate: false,
    settings: { repeatStrategy: null, repeatKeyHashAlgorithm: 'md5' },
    schema: null,
    maxPayloadBytes: 10_485_760,
    keepGroups: null,
    lanes: {},
    groupIdAsLane: false,
  });
  expect(Object.isFrozen(resolved)).toBe(true);
});

it('a queue: an empty connection is a connection, its absence is not', () => {
  expect(resolveQueueOptions({ connection: {} }).connection).toEqual({});
  expect(resolveQueueOptions({ connection: 'redis://h' }).connection).toBe('redis://h');
  expect(resolveQueueOptions({}).connection).toBeNull();
});

it('a queue: default job options are a frozen copy, so that adding with them alone is cheap', () => {
  const given = { attempts: 2 };
  const { defaultJobOptions, maxPayloadBytes } = resolveQueueOptions({ defaultJobOptions: given });
  given.attempts = 9;
  const resolved = resolveJobOptions(undefined, defaultJobOptions, { maxPayloadBytes });
  expect(resolved.attempts).toBe(2);
  expect(resolveJobOptions(undefined, defaultJobOptions, { maxPayloadBytes })).toBe(resolved);
});

it('a queue: takes the preset', () => {
  expect(resolveQueueOptions({ defaultJobOptions: reliableDefaults }).defaultJobOptions).toEqual(
    reliableDefaults,
  );
});

it.each<[object, RegExp]>([
  [{ defaultJobOptions: { priority: 1.5 } }, /^Priority should not be float$/],
  [{ defaultJobOptions: 5 }, /^defaultJobOptions: expected an object/],
  [{ streams: { events: { maxLen: 'all' } } }, /^streams\.events\.maxLen: expected an integer of at least 0/],
  [{ streams: { events: { maxLen: 1.5 } } }, /^streams\.events\.maxLen: /],
  [{ settings: { repeatStrategy: 1 } }, /^settings\.repeatStrategy: expected a function/],
  [{ telemetry: {} }, /^options\.telemetry: not supported yet/],
  [{ prefix: 1 }, /^prefix: expected a string, got 1/],
])('a queue refuses %j on construction', (opts, message) => {
  expect(() => resolveQueueOptions(opts as QueueOptions)).toThrow(message);
});

it('a queue: what is kept of ended groups, by age in seconds and by count', () => {
  expect(resolveQueueOptions({ keepGroups: { age: 1.5, count: 10 } }).keepGroups).toEqual({
    ageMs: 1500,
    count: 10,
  });
  expect(resolveQueueOptions({ keepGroups: { count: 0 } }).keepGroups).toEqual({ count: 0 });
  for (const keepGroups of [5, { age: -1 }, { count: 1.5 }, { count: 'all' }])
    expect(() => resolveQueueOptions({ keepGroups } as QueueOptions)).toThrow(/^keepGroups/);
});

it('a queue: names nobody knows are reported', () => {
  const opts = { prefx: 'x', defaultJobOption: {}, sharedConnection: true } as QueueOptions;
  expect(resolveQueueOptions(opts).unknown).toEqual([
    { name: 'prefx', nearest: 'prefix' },
    { name: 'defaultJobOption', nearest: 'defaultJobOptions' },
    { name: 'sharedConnection' },
  ]);
});

it('queue events: nothing given, and what is given', () => {
  expect(resolveQueueEventsOptions(null)).toEqual({
    ...base,
    autorun: true,
    lastEventId: '$',
    blockingTimeout: 10_000,
  });
  const given = { autorun: false, lastEventId: '0-0', blockingTimeout: 100, prefix: 'p' };
  expect(resolveQueueEventsOptions(given)).toMatchObject(given);
  expect(() => resolveQueueEventsOptions({ blockingTimeout: 0 })).toThrow(/^blockingTimeout: /);
  expect(resolveQueueEventsOptions({ lastEventID: '0' } as object).unknown).toEqual([
    { name: 'lastEventID', nearest: 'lastEventId' },
  ]);
});

it('a queue: lane settings are only those that are given', () => {
  const { lanes } = resolveQueueOptions({ laneConcurrency: 3, laneOnRetry: 'skip', laneOnFailure: 'halt' });
  expect(lanes).toEqual({ concurrency: 3, onRetry: 'skip', onFailure: 'halt', orderingDelayMs: undefined });
  expect(resolveQueueOptions({ orderingDelayMs: 0 }).lanes.orderingDelayMs).toBe(0);
  for (const opts of [
    { laneConcurrency: 0 },
    { laneConcurrency: 1.5 },
    { laneConcurrency: 1001 },
    { laneOnRetry: 'wait' },
    { laneOnFailure: 'stop' },
    { orderingDelayMs: -1 },
    { groupIdAsLane: 'yes' },
  ]) {
    expect(() => resolveQueueOptions(opts as never)).toThrow(
      expect.objectContaining({ key: 'INVALID_OPTION' }),
    );
  }
});
