import { describe, expect, it } from 'vitest';
import { YokeError } from '../../../src/model/errors.ts';
import { type JobsOptions, resolveJobOptions } from '../../../src/model/options/job-options.ts';
import { reliableDefaults } from '../../../src/model/presets.ts';

const limits = { maxPayloadBytes: 1000 };
const resolve = (opts?: unknown, defaults: JobsOptions = {}) =>
  resolveJobOptions(opts as JobsOptions, defaults, limits);

describe('a job without options', () => {
  it('costs no object: all such jobs share one frozen result', () => {
    const plain = resolve();
    expect(plain).toEqual({
      stored: { attempts: 0 },
      jobId: '',
      delayMs: 0,
      priority: 0,
      lifo: false,
      timestamp: undefined,
      attempts: 1,
      sizeLimit: 0,
      maxPayloadBytes: 1000,
      lane: '',
      orderMs: undefined,
    });
    expect(resolve({})).toBe(plain);
    expect(resolve(null)).toBe(plain);
    expect(Object.isFrozen(plain) && Object.isFrozen(plain.stored)).toBe(true);
  });

  it('has the limit of its own queue', () => {
    expect(resolveJobOptions({}, {}, { maxPayloadBytes: 5 }).maxPayloadBytes).toBe(5);
    expect(resolve().maxPayloadBytes).toBe(1000);
  });

  it('shares what frozen defaults resolve to, per limit', () => {
    const defaults = Object.freeze({ attempts: 3, jobId: 'never-from-here' });
    const first = resolve(undefined, defaults);
    expect(first).toMatchObject({ attempts: 3, jobId: '', stored: { attempts: 3 } });
    expect(first.stored).not.toHaveProperty('jobId');
    expect(resolve({}, defaults)).toBe(first);
    expect(Object.isFrozen(first) && Object.isFrozen(first.stored)).toBe(true);
    expect(resolveJobOptions({}, defaults, { maxPayloadBytes: 5 }).maxPayloadBytes).toBe(5);
  });

  it('and per what a groupId means', () => {
    const defaults = Object.freeze({ groupId: 'g' } as JobsOptions);
    const lanes = [false, true, false, undefined, true].map(
      (groupIdAsLane) =>
        resolveJobOptions(undefined, defaults, {
          ...limits,
          ...(groupIdAsLane !== undefined && { groupIdAsLane }),
        }).lane,
    );
    expect(lanes).toEqual(['', 'g', '', '', 'g']);
  });

  it('does not remember defaults that can still change', () => {
    const defaults: JobsOptions = { attempts: 3 };
    expect(resolve(undefined, defaults).attempts).toBe(3);
    defaults.attempts = 5;
    expect(resolve(undefined, defaults).attempts).toBe(5);
  });
});

describe('what is stored', () => {
  it('keeps the names and values given, also of keys nobody knows', () => {
    const opts = { delay: 12.7, lifo: true, removeOnComplete: { count: 5 }, tenant: { id: [1] } };
    expect(resolve(opts).stored).toEqual({ attempts: 0, ...opts });
  });

  it('leaves the caller’s objects alone', () => {
    const opts = Object.freeze({ backoff: 5, keepLogs: 1.5 });
    const defaults = Object.freeze({ attempts: 2 });
    expect(resolve(opts, defaults).stored).toEqual({
      attempts: 2,
      backoff: { type: 'fixed', delay: 5 },
      keepLogs: 2,
    });
    expect(opts).toEqual({ backoff: 5, keepLogs: 1.5 });
  });

  it('drops what is undefined or null', () => {
    const { stored, attempts } = resolve({ delay: undefined, priority: null, attempts: null, foo: null });
    expect(stored).toEqual({ attempts: 0 });
    expect(Object.keys(stored)).toEqual(['attempts']);
    expect(attempts).toBe(1);
  });

  it('__proto__ stays plain data', () => {
    const opts = JSON.parse('{"__proto__":{"lifo":true},"delay":1}');
    for (const defaults of [{}, { attempts: 2 }]) {
      const resolved = resolve({ ...opts, x: undefined }, defaults);
      expect(resolved.lifo).toBe(false);
      expect(JSON.stringify(resolved.stored)).toContain('"__proto__":{"lifo":true}');
    }
  });
});

describe('defaults of the queue', () => {
  it('lie under the job’s own options', () => {
    const resolved = resolve({ attempts: 5 }, { attempts: 3, delay: 10, lifo: true });
    expect(resolved).toMatchObject({ attempts: 5, delayMs: 10, lifo: true });
  });

  it('apply where the job says undefined, and not where it says null', () => {
    const defaults = { attempts: 3, delay: 10 };
    expect(resolve({ attempts: undefined, delay: undefined }, defaults)).toMatchObject({
      attempts: 3,
      delayMs: 10,
    });
    expect(resolve({ attempts: null, delay: null }, defaults)).toMatchObject({ attempts: 1, delayMs: 0 });
  });

  it('never give an id', () => {
    expect(resolve({ delay: 1 }, { jobId: 'x' })).toMatchObject({ jobId: '', stored: { delay: 1 } });
    expect(resolve({ delay: 1 }, { jobId: 'x' }).stored).not.toHaveProperty('jobId');
    expect(resolve({ jobId: 'own' }, { jobId: 'x' })).toMatchObject({
      jobId: 'own',
      stored: { jobId: 'own' },
    });
  });

  it('reliableDefaults: three attempts, doubling from a second, a fifth random, at most an hour', () => {
    expect(resolve(undefined, reliableDefaults)).toMatchObject({
      attempts: 3,
      stored: {
        backoff: { type: 'exponential', delay: 1000, jitter: 0.2, maxDelay: 3_600_000 },
        keepLogs: 1000,
      },
    });
    expect(Object.isFrozen(reliableDefaults) && Object.isFrozen(reliableDefaults.backoff)).toBe(true);
  });
});

describe('what BullMQ accepts keeps its meaning', () => {
  it.each<[object, object]>([
    [{ delay: -5 }, { delayMs: 0 }],
    [{ delay: 12.7 }, { delayMs: 13 }],
    [{ attempts: 0 }, { attempts: 1 }],
    [{ attempts: 1 }, { attempts: 1 }],
    [{ attempts: -3 }, { attempts: 1 }],
    [{ attempts: 2.5 }, { attempts: 3 }],
    [{ priority: 0 }, { priority: 0 }],
    [{ priority: 2_097_151 }, { priority: 2_097_151 }],
    [{ timestamp: 0 }, { timestamp: undefined }],
    [{ timestamp: 1_700_000_000_000.6 }, { timestamp: 1_700_000_000_001 }],
    [{ jobId: '' }, { jobId: '', stored: { attempts: 0 } }],
    [{ jobId: 'a:b:c' }, { jobId: 'a:b:c', stored: { attempts: 0, jobId: 'a:b:c' } }],
    [{ sizeLimit: 10 }, { sizeLimit: 10 }],
    [{ backoff: 100 }, { stored: { attempts: 0, backoff: { type: 'fixed', delay: 100 } } }],
    [{ backoff: { type: 'mine' } }, { stored: { attempts: 0, backoff: { type: 'mine' } } }],
    [{ removeOnFail: true }, { stored: { attempts: 0, removeOnFail: true } }],
    [{ removeOnFail: -1 }, { stored: { attempts: 0, removeOnFail: -1 } }],
    [
      { removeOnFail: { age: 60, limit: 10 } },
      { stored: { attempts: 0, removeOnFail: { age: 60, limit: 10 } } },
    ],
    [
      { failParentOnFailure: false, deduplication: undefined },
      { stored: { attempts: 0, failParentOnFailure: false } },
    ],
  ])('%j', (opts, expected) => {
    expect(resolve(opts)).toMatchObject(expected);
  });
});

describe('a lane', () => {
  it('is kept in what is stored, with its order', () => {
    const opts = { lane: 'user:42', orderMs: -7 };
    expect(resolve(opts)).toMatchObject({ ...opts, stored: opts });
    expect(resolve({ lane: 'a', orderMs: 0 })).toMatchObject({ lane: 'a', orderMs: 0 });
    expect(resolve({ lane: null })).toMatchObject({ lane: '', orderMs: undefined });
    expect(resolve({ lane: 'x'.repeat(256) }).lane).toHaveLength(256);
  });

  it('is a groupId only where the queue says so', () => {
    const byGroup = { ...limits, groupIdAsLane: true };
    const opts = { groupId: 'g', orderMs: 3 } as JobsOptions;
    expect(resolveJobOptions(opts, {}, byGroup)).toMatchObject({ lane: 'g', orderMs: 3, stored: opts });
    expect(resolveJobOptions({ groupId: 'g', lane: 'l' } as JobsOptions, {}, byGroup).lane).toBe('l');
    expect(resolve({ groupId: 'g' })).toMatchObject({ lane: '', stored: { groupId: 'g' } });
    expect(() => resolveJobOptions({ groupId: 7 } as never, {}, byGroup)).toThrow(
      /^groupId: expected a string/,
    );
  });
});

describe('what would be stored wrong is refused', () => {
  it.each<[object, string, RegExp]>([
    [{ priority: 1.5 }, 'PRIORITY_FLOAT', /^Priority should not be float$/],
    [{ priority: 2_097_152 }, 'PRIORITY_RANGE', /^Priority should be between 0 and 2097151$/],
    [{ priority: -1 }, 'PRIORITY_RANGE', /^Priority should be between 0 and 2097151$/],
    [{ priority: '5' }, 'INVALID_OPTION', /^priority: expected a finite number, got the string "5"/],
    [{ attempts: '3' }, 'INVALID_OPTION', /^attempts: /],
    [{ attempts: Number.NaN }, 'INVALID_OPTION', /^attempts: .* got NaN/],
    [{ attempts: Number.POSITIVE_INFINITY }, 'INVALID_OPTION', /^attempts: .* got Infinity/],
    [{ delay: '100' }, 'INVALID_OPTION', /^delay: /],
    [{ delay: 1e16 }, 'INVALID_OPTION', /^delay: expected milliseconds up to/],
    [{ timestamp: new Date() }, 'INVALID_OPTION', /^timestamp: .* got a Date/],
    [{ lifo: 'yes' }, 'INVALID_OPTION', /^lifo: expected true or false/],
    [{ backoff: 'exponential' }, 'INVALID_OPTION', /^backoff: /],
    [{ backoff: { type: 'fixed', jitter: 2 } }, 'JITTER_RANGE', /^Jitter should be between 0 and 1$/],
    [{ keepLogs: -1 }, 'INVALID_OPTION', /^keepLogs: /],
    [{ stackTraceLimit: 'all' }, 'INVALID_OPTION', /^stackTraceLimit: /],
    [{ sizeLimit: '1kb' }, 'INVALID_OPTION', /^sizeLimit: /],
    [{ removeOnComplete: 'true' }, 'INVALID_OPTION', /^removeOnComplete: /],
    [{ removeOnComplete: 1.5 }, 'INVALID_OPTION', /^removeOnComplete: expected an integer/],
    [{ removeOnFail: { count: 'x' } }, 'INVALID_OPTION', /^removeOnFail\.count: /],
    [{ removeOnFail: { age: '1h' } }, 'INVALID_OPTION', /^removeOnFail\.age: expected a number of seconds/],
    [{ removeOnFail: { age: -1 } }, 'INVALID_OPTION', /^removeOnFail\.age: /],
    [{ removeOnFail: { age: 1, limit: -1 } }, 'INVALID_OPTION', /^removeOnFail\.limit: /],
    [{ jobId: 17 }, 'INVALID_OPTION', /^jobId: expected a string, got 17/],
    [{ jobId: '17' }, 'CUSTOM_ID_INTEGER', /^Custom Id cannot be integers$/],
    [{ jobId: 'a:b' }, 'CUSTOM_ID_COLON', /^Custom Id cannot contain :$/],
    [{ jobId: '0:a:b' }, 'JOB_ID_ZERO', /^JobId cannot be '0' or start with '0:'$/],
    [{ jobId: 'wait' }, 'JOB_ID_RESERVED', /got "wait"/],
    [{ lane: '' }, 'INVALID_OPTION', /^lane: expected a string of 1 to 256 bytes, got/],
    [{ lane: 42 }, 'INVALID_OPTION', /^lane: expected a string of 1 to 256 bytes, got 42/],
    [{ lane: 'ж'.repeat(129) }, 'INVALID_OPTION', /^lane: .* got 258 bytes/],
    [{ lane: 'a\ud800' }, 'LONE_SURROGATE', /^lane: /],
    [{ lane: 'a', orderMs: 1.5 }, 'INVALID_OPTION', /^orderMs: expected a safe integer, got 1.5/],
    [{ lane: 'a', orderMs: 2 ** 53 }, 'INVALID_OPTION', /^orderMs: expected a safe integer/],
    [{ lane: 'a', orderMs: '5' }, 'INVALID_OPTION', /^orderMs: expected a safe integer, got the string "5"/],
    [{ orderMs: 5 }, 'INVALID_OPTION', /^orderMs: expected a lane beside it/],
    [{ lane: 'a', lifo: true }, 'EXCLUSIVE_OPTIONS', /cannot be used together: lane, lifo$/],
    [
      { ignoreDependencyOnFailure: true, removeDependencyOnFailure: true },
      'EXCLUSIVE_OPTIONS',
      /^The following options cannot be used together: removeDependencyOnFailure, ignoreDependencyOnFailure$/,
    ],
  ])('%j', (opts, key, message) => {
    const attempt = () => resolve(opts);
    expect(attempt).toThrow(YokeError);
    expect(attempt).toThrow(expect.objectContaining({ key }));
    expect(attempt).toThrow(message);
    // The same in the defaults of a queue, except that an id there is never looked at.
    if (!('jobId' in opts)) expect(() => resolve({}, opts)).toThrow(message);
  });

  const unsupported = [
    'deduplication',
    'debounce',
    'repeat',
    'parent',
    'telemetry',
    'failParentOnFailure',
    'continueParentOnFailure',
    'ignoreDependencyOnFailure',
    'removeDependencyOnFailure',
  ];
  it.each(unsupported)('%s is refused rather than ignored', (name) => {
    const attempt = () => resolve({ [name]: { id: 'x' } });
    expect(attempt).toThrow(expect.objectContaining({ key: 'NOT_SUPPORTED_YET' }));
    expect(attempt).toThrow(`job option ${name}`);
    expect(() => resolve({ [name]: undefined })).not.toThrow();
  });

  it('group is refused: a job becomes a member with all others at once', () => {
    const attempt = () => resolve({ group: { id: 'g', name: 'order' } } as JobsOptions);
    expect(attempt).toThrow(expect.objectContaining({ key: 'GROUP_OPTION_RESERVED' }));
    expect(() => resolve({ group: undefined } as JobsOptions)).not.toThrow();
  });
});
