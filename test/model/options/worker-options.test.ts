import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/model/logger.ts';
import {
  assertConcurrency,
  resolveWorkerOptions,
  type WorkerOptions,
} from '../../../src/model/options/worker-options.ts';

const resolve = (opts?: unknown) => resolveWorkerOptions(opts as WorkerOptions);

it('nothing given: every field has its default', () => {
  const resolved = resolve();
  expect(resolved).toEqual({
    connection: null,
    prefix: 'bull',
    skipVersionCheck: false,
    skipWaitingForReady: false,
    logger: silentLogger,
    strict: false,
    clock: 'server',
    callTimeout: 5000,
    name: '',
    autorun: true,
    concurrency: 1,
    fetchAhead: true,
    limiter: null,
    maximumRateLimitDelay: 30_000,
    lockDuration: 30_000,
    lockRenewTime: 15_000,
    stalledInterval: 30_000,
    maxStalledCount: 1,
    maxStartedAttempts: Number.POSITIVE_INFINITY,
    drainDelay: 5,
    skipStalledCheck: false,
    skipLockRenewal: false,
    removeOnComplete: null,
    removeOnFail: null,
    runRetryDelay: 15_000,
    settings: { backoffStrategy: null, repeatStrategy: null },
    shutdownTimeout: 25_000,
    errorPolicy: 'retry',
    schema: null,
    maxPayloadBytes: 10_485_760,
    workerId: resolved.workerId,
    unknown: [],
  });
  expect(Object.isFrozen(resolved)).toBe(true);
});

it('what is given stands', () => {
  const given = {
    connection: { host: 'redis' },
    prefix: '{app}',
    name: 'mailer',
    autorun: false,
    concurrency: 50,
    limiter: { max: 10, duration: 1000 },
    lockDuration: 10_000,
    stalledInterval: 5000,
    maxStalledCount: 0,
    maxStartedAttempts: 0,
    drainDelay: 0.5,
    skipStalledCheck: true,
    removeOnComplete: { age: 60, count: 10 },
    shutdownTimeout: 0,
    errorPolicy: 'strict',
    maxPayloadBytes: 1024,
    workerId: 'w1',
    clock: 'client',
    logger: console,
    strict: true,
  };
  expect(resolve(given)).toMatchObject({ ...given, lockRenewTime: 5000 });
});

it('the worker id is host, process and six random digits, new for each worker', () => {
  const [first, second] = [resolve().workerId, resolve({ workerId: '' }).workerId];
  expect(first.startsWith(`${hostname()}-${process.pid}-`)).toBe(true);
  expect(first).toMatch(/-[0-9a-f]{6}$/);
  expect(first).not.toBe(second);
});

it('keeps BullMQ’s shorthands for what to keep', () => {
  expect(resolve({ removeOnComplete: true }).removeOnComplete).toEqual({ count: 0 });
  expect(resolve({ removeOnComplete: false }).removeOnComplete).toEqual({ count: -1 });
  expect(resolve({ removeOnFail: 100 }).removeOnFail).toEqual({ count: 100 });
});

it('Infinity means never, where BullMQ lets it', () => {
  const resolved = resolve({
    maxStalledCount: Number.POSITIVE_INFINITY,
    maxStartedAttempts: Number.POSITIVE_INFINITY,
  });
  expect(resolved.maxStalledCount).toBe(Number.MAX_SAFE_INTEGER);
  expect(resolved.maxStartedAttempts).toBe(Number.POSITIVE_INFINITY);
  expect(() => resolve({ stalledInterval: Number.POSITIVE_INFINITY })).toThrow('stalledInterval must be');
  expect(() => resolve({ maxStalledCount: Number.NaN })).toThrow('maxStalledCount must be');
});

describe('BullMQ’s own texts', () => {
  it.each<[object, string]>([
    [{ concurrency: 0 }, 'concurrency must be a finite number greater than 0'],
    [{ concurrency: Number.POSITIVE_INFINITY }, 'concurrency must be a finite number greater than 0'],
    [{ concurrency: '5' }, 'concurrency must be a finite number greater than 0'],
    [{ stalledInterval: 0 }, 'stalledInterval must be greater than 0'],
    [{ maxStalledCount: -1 }, 'maxStalledCount must be greater or equal than 0'],
    [{ maxStartedAttempts: -1 }, 'maxStartedAttempts must be greater or equal than 0'],
    [{ drainDelay: 0 }, 'drainDelay must be greater than 0'],
  ])('%j', (opts, message) => {
    expect(() => resolve(opts)).toThrow(new RegExp(`^${message}$`));
  });

  it('concurrency is checked in the same words when set later', () => {
    expect(() => assertConcurrency(3)).not.toThrow();
    for (const wrong of [0, -1, Number.NaN, undefined, null, '3']) {
      expect(() => assertConcurrency(wrong)).toThrow('concurrency must be a finite number greater than 0');
    }
  });
});

describe('wrong types', () => {
  it.each<[object, RegExp]>([
    [{ autorun: 'yes' }, /^autorun: expected true or false, got the string "yes"\. /],
    [{ name: 5 }, /^name: expected a string, got 5/],
    [{ lockDuration: 0 }, /^lockDuration: expected a finite number of at least 1, got 0/],
    [{ limiter: {} }, /^limiter\.max: expected a number of jobs, got undefined/],
    [{ limiter: { max: 5 } }, /^limiter\.duration: /],
    [{ limiter: { max: 0, duration: 5 } }, /^limiter\.max: expected an integer of at least 1, got 0/],
    [{ limiter: 5 }, /^limiter: expected an object, got 5/],
    [{ settings: { backoffStrategy: 'fast' } }, /^settings\.backoffStrategy: expected a function/],
    [{ errorPolicy: 'lenient' }, /^errorPolicy: expected 'retry', 'strict' or a function/],
    [{ schema: {} }, /^schema: expected a Standard Schema/],
    [{ maxPayloadBytes: 0 }, /^maxPayloadBytes: /],
    [{ shutdownTimeout: -1 }, /^shutdownTimeout: /],
    [{ clock: 'wall' }, /^clock: expected 'server' or 'client'/],
    [{ logger: { info() {} } }, /^logger\.debug: expected a function/],
    [{ connection: 6379 }, /^connection: expected options, a URL or a client, got 6379/],
    [{ callTimeout: 0 }, /^callTimeout: /],
    [{ removeOnFail: 'never' }, /^removeOnFail: /],
  ])('%j', (opts, message) => {
    expect(() => resolve(opts)).toThrow(message);
  });

  it('options that are no object at all', () => {
    expect(() => resolve('redis://x')).toThrow(/^options: expected an object, got the string/);
  });
});

it.each(['metrics', 'telemetry', 'useWorkerThreads', 'workerForkOptions', 'workerThreadsOptions'])(
  '%s is refused rather than ignored',
  (name) => {
    expect(() => resolve({ [name]: {} })).toThrow(expect.objectContaining({ key: 'NOT_SUPPORTED_YET' }));
    expect(() => resolve({ [name]: undefined })).not.toThrow();
  },
);

it('reports unknown names with the nearest known one, and goes on', () => {
  const { unknown, concurrency } = resolve({ concurency: 5, nestModule: 'x', lockduration: 1 });
  expect(unknown).toEqual([
    { name: 'concurency', nearest: 'concurrency' },
    { name: 'nestModule' },
    { name: 'lockduration', nearest: 'lockDuration' },
  ]);
  expect(concurrency).toBe(1);
});
