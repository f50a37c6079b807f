// What the package exports: our names, BullMQ's, and those of BullMQ's that are left out on purpose.

import * as bullmq from 'bullmq';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import * as yoke from '../../src/index.ts';

const leftOut: Record<string, string[]> = {
  'comes with schedulers': [
    'JobScheduler',
    'LEGACY_REPEATABLE_JOBS_MIGRATION_URL',
    'defaultRepeatStrategy',
    'getLegacyRepeatableJobError',
    'getNextMillis',
    'hasLegacyRepeatableKeyShape',
    'isLegacyRepeatableJobKey',
  ],
  'comes with sandboxes': [
    'Child',
    'ChildCommand',
    'ChildPool',
    'ChildProcessor',
    'ParentCommand',
    'asyncSend',
    'childSend',
  ],
  'comes with telemetry': ['trace', 'withDetachedContext'],
  'other databases and clients': [
    'DEFAULT_SCHEMA',
    'LATEST_SCHEMA_VERSION',
    'MIGRATION_ADVISORY_LOCK_KEY',
    'MINIMUM_POSTGRES_VERSION',
    'PostgresConnection',
    'PostgresQueueBackend',
    'PostgresRelayBackend',
    'RECOMMENDED_POSTGRES_VERSION',
    'RELAY_LAYOUT_VERSION',
    'RELAY_MINIMUM_REDIS_VERSION',
    'RedisRelayBackend',
    'Relay',
    'RelayError',
    'RelayErrorCode',
    'SchemaMigrationRequiredError',
    'SchemaVersionMismatchError',
    'UnsupportedPostgresVersionError',
    'assertPostgresVersion',
    'assertSchemaCompatibility',
    'checkRelayResult',
    'createBunRedisClient',
    'createIORedisClient',
    'createNodeRedisClient',
    'createPostgresBackend',
    'createPostgresRelayBackend',
    'createRedisBackend',
    'createRedisRelayBackend',
    'createValkeyGlideClient',
    'getDefaultBackendFactory',
    'isIRedisClient',
    'isPgPool',
    'quoteSchemaName',
    'runMigrations',
    'setDefaultBackendFactory',
    'withBackend',
  ],
  'parts of its inside': [
    'AsyncFifoQueue',
    'BULLMQ_MAJOR_VERSION',
    'LockManager',
    'RedisConnection',
    'RedisQueueBackend',
    'clientCommandMessageReg',
    'errorObject',
    'forwardConnectionError',
    'optsDecodeMap',
    'optsEncodeMap',
    'parseObjectValues',
    'raw2NextJobData',
    'toString',
    'tryCatch',
  ],
};

const ours = [
  'BulkAddError',
  'GroupNotFoundError',
  'InvalidGroupStateError',
  'JobGroup',
  'OutcomeUnknownError',
  'PermanentError',
  'TransientError',
  'YokeError',
  'errorCatalogue',
  'reliableDefaults',
  'version',
];

describe('names', () => {
  it('are BullMQ’s but for those left out, and ours', () => {
    const theirs = Object.keys(bullmq).filter(
      (name) => !['default', '__esModule', 'module.exports'].includes(name),
    );
    const out = new Set(Object.values(leftOut).flat());
    expect(theirs.filter((name) => !(name in yoke) && !out.has(name))).toEqual([]);
    expect([...out].filter((name) => name in yoke)).toEqual([]);
    expect(
      Object.keys(yoke)
        .filter((name) => !theirs.includes(name))
        .sort(),
    ).toEqual([...ours].sort());
  });

  it('constants have BullMQ’s values', () => {
    const constants = Object.keys(bullmq).filter(
      (name) => name in yoke && /^[A-Z]/.test(name) && typeof bullmq[name as never] !== 'function',
    );
    expect(constants.length).toBeGreaterThan(10);
    for (const name of constants) {
      const value = (bullmq as Record<string, unknown>)[name];
      // Enums of numbers also map back in BullMQ.
      const plain =
        typeof value === 'object'
          ? Object.fromEntries(Object.entries(value as object).filter(([key]) => Number.isNaN(Number(key))))
          : value;
      expect([name, (yoke as Record<string, unknown>)[name]]).toEqual([name, plain]);
    }
  });
});

describe('functions return what BullMQ’s return', () => {
  const error = Object.assign(new Error('x'), { code: 7, self: undefined as unknown });
  error.self = error;
  const cases: [string, unknown[]][] = [
    ['lengthInUtf8Bytes', ['aü€🐂']],
    ['isEmpty', [{}]],
    ['isEmpty', [{ a: undefined }]],
    ['array2obj', [['a', '1', 'b', '2']]],
    ['array2obj', [[]]],
    ['objectToFlatArray', [{ a: 1, b: undefined, c: null }]],
    ['invertObject', [{ a: 'x', b: 'y' }]],
    ['removeUndefinedFields', [{ a: 1, b: undefined, c: null }]],
    ['getParentKey', [{ id: '1', queue: 'bull:q' }]],
    ['getParentKey', [undefined]],
    ['errorToJSON', [error]],
    ['isRedisInstance', [{}]],
    ['isRedisInstance', [null]],
    ['isRedisInstance', [{ connect() {}, disconnect() {}, duplicate() {} }]],
    ['isRedisCluster', [{ connect() {}, disconnect() {}, duplicate() {}, isCluster: true }]],
    ['isRedisCluster', [{ connect() {}, disconnect() {}, duplicate() {} }]],
    ['isRedisVersionLowerThan', ['6.0.9', '6.2.0', 'redis']],
    ['isRedisVersionLowerThan', ['7.0.0', '6.2.0', 'redis']],
    ['isRedisVersionLowerThan', ['1.0.0', '6.2.0', 'valkey']],
    ['isNotConnectionError', [new Error('x')]],
    ['isNotConnectionError', [new Error('Connection is closed.')]],
    ['isNotConnectionError', [new Error('connect ECONNREFUSED 127.0.0.1')]],
    ['isNotConnectionError', [Object.assign(new Error('x'), { code: 'ECONNREFUSED' })]],
  ];
  const functionOf = (module: object, name: string) =>
    (module as Record<string, (...args: unknown[]) => unknown>)[name]!;

  it.each(cases)('%s', (name, args) => {
    const theirs = functionOf(bullmq, name)(...args);
    expect(functionOf(yoke, name)(...args)).toEqual(theirs);
  });

  it('QueueKeys', () => {
    for (const prefix of [undefined, 'mine']) {
      const mine = new yoke.QueueKeys(prefix);
      const theirs = new bullmq.QueueKeys(prefix);
      expect(mine.toKey('q', 'wait')).toBe(theirs.toKey('q', 'wait'));
      expect(mine.getQueueQualifiedName('q')).toBe(theirs.getQueueQualifiedName('q'));
      expect(mine.getKeys('q')).toMatchObject(theirs.getKeys('q'));
    }
  });

  it('delay ends after its time, or when it is aborted', async () => {
    await yoke.delay(1);
    const controller = new AbortController();
    const waiting = yoke.delay(1_000_000, controller);
    controller.abort();
    await waiting;
  });

  it('increaseMaxListeners and decreaseMaxListeners change the limit', () => {
    const emitter = new Redis({ lazyConnect: true });
    const before = emitter.getMaxListeners();
    yoke.increaseMaxListeners(emitter, 3);
    expect(emitter.getMaxListeners()).toBe(before + 3);
    yoke.decreaseMaxListeners(emitter, 3);
    expect(emitter.getMaxListeners()).toBe(before);
  });
});
