import { describe, expect, it } from 'vitest';
import {
  type GroupOptions,
  readGroupId,
  resolveGroupOptions,
} from '../../../src/model/options/group-options.ts';

const LIMIT = 1000;
const resolve = (given: object) => resolveGroupOptions(given as GroupOptions, LIMIT);
const pay = { name: 'pay', queueName: 'payments', data: { n: 1 } };
const ship = { name: 'ship', queueName: 'shipping' };
const refund = { name: 'refund' };
const group = (more: object = {}) => ({ name: 'order', jobs: [pay, ship], ...more });

describe('what is given is resolved', () => {
  it('with the least: nothing is undone, the home is the first queue', () => {
    expect(resolve(group())).toEqual({
      name: 'order',
      jobs: [
        expect.objectContaining({ name: 'pay', queueName: 'payments', data: { n: 1 }, compensation: -1 }),
        expect.objectContaining({ name: 'ship', queueName: 'shipping', data: undefined, compensation: -1 }),
      ],
      compensations: [],
      mapping: '{}',
      groupId: '',
      home: 'payments',
      timeoutMs: 0,
      isReverse: false,
    });
  });

  it('with all', () => {
    const resolved = resolve(
      group({
        groupId: 'order-17',
        queueName: 'orders',
        timeoutMs: 1500.2,
        compensationOrder: 'reverse',
        compensation: { ship: { name: 'recall', data: { fast: true }, onFailed: true }, pay: refund },
      }),
    );
    expect(resolved).toMatchObject({ groupId: 'order-17', home: 'orders', timeoutMs: 1501, isReverse: true });
    expect(resolved.jobs.map(({ compensation }) => compensation)).toEqual([1, 0]);
    expect(resolved.compensations).toMatchObject([
      { name: 'recall', data: '{"fast":true}', onFailed: true },
      { name: 'refund', data: '{}', onFailed: false },
    ]);
    expect(JSON.parse(resolved.mapping)).toEqual({
      ship: { name: 'recall', data: { fast: true }, onFailed: true },
      pay: { name: 'refund' },
    });
  });

  it('a compensation has three attempts and backs off from a second, unless it says otherwise', () => {
    const of = (opts?: object) =>
      resolve(group({ compensation: { pay: { ...refund, ...(opts && { opts }) } } })).compensations[0]!
        .stored;
    expect(of()).toEqual({ attempts: 3, backoff: { type: 'exponential', delay: 1000 } });
    expect(of({ attempts: 7 })).toMatchObject({ attempts: 7, backoff: { type: 'exponential', delay: 1000 } });
    expect(of({ backoff: { type: 'fixed', delay: 5 } })).toMatchObject({
      attempts: 3,
      backoff: { type: 'fixed', delay: 5 },
    });
    expect(of({ removeOnComplete: true })).toMatchObject({ attempts: 3, removeOnComplete: true });
  });

  it('members of one name share their compensation', () => {
    const { jobs } = resolve({
      name: 'n',
      jobs: [pay, { ...pay, queueName: 'other' }],
      compensation: { pay: refund },
    });
    expect(jobs.map(({ compensation }) => compensation)).toEqual([0, 0]);
  });

  it('a thousand members are not too many', () => {
    expect(resolve({ name: 'n', jobs: Array(1000).fill(pay) }).jobs).toHaveLength(1000);
  });
});

describe('what cannot be is refused before anything is sent', () => {
  const keyOf = (given: object): unknown => {
    try {
      return resolve(given);
    } catch (error) {
      return (error as { key?: string }).key;
    }
  };

  it.each<[object, string]>([
    [group({ jobs: [] }), 'GROUP_EMPTY'],
    [group({ jobs: undefined }), 'INVALID_OPTION'],
    [group({ jobs: 'pay' }), 'INVALID_OPTION'],
    [group({ jobs: Array(1001).fill(pay) }), 'GROUP_TOO_LARGE'],
    [group({ jobs: [null] }), 'INVALID_OPTION'],
    [group({ compensation: { fly: refund } }), 'GROUP_COMPENSATION_UNMATCHED'],
    [group({ compensation: { pay: undefined } }), 'INVALID_OPTION'],
    [group({ compensation: { pay: 'refund' } }), 'INVALID_OPTION'],
    [group({ compensation: { pay: { ...refund, queueName: 'x' } } }), 'UNKNOWN_OPTION'],
    [group({ compensation: { pay: { ...refund, opts: { delay: 5 } } } }), 'UNKNOWN_OPTION'],
    [group({ compensation: { pay: { ...refund, onFailed: 'yes' } } }), 'INVALID_OPTION'],
    [group({ compensation: { pay: { ...refund, data: 'x'.repeat(LIMIT) } } }), 'PAYLOAD_TOO_LARGE'],
    [group({ jobs: [{ ...pay, opts: { parent: { id: '1', queue: 'bull:q' } } }] }), 'GROUP_JOB_HAS_PARENT'],
    [group({ jobs: [{ ...pay, opts: { repeat: { every: 5 } } }] }), 'GROUP_JOB_TIED'],
    [group({ jobs: [{ ...pay, opts: { deduplication: { id: 'x' } } }] }), 'GROUP_JOB_TIED'],
    [group({ jobs: [{ ...pay, opts: { debounce: { id: 'x' } } }] }), 'GROUP_JOB_TIED'],
    [group({ jobs: [{ ...pay, opts: { group: { id: 'x' } } }] }), 'GROUP_JOB_TIED'],
    [group({ jobs: [{ ...pay, opts: { priority: -1 } }] }), 'PRIORITY_RANGE'],
    [group({ jobs: [{ ...pay, opts: { jobId: '5' } }] }), 'CUSTOM_ID_INTEGER'],
    [group({ jobs: [{ ...pay, queueName: 'payments:compensation' }] }), 'GROUP_ON_COMPENSATION_QUEUE'],
    [group({ jobs: [{ ...pay, queueName: 'a:b' }] }), 'QUEUE_NAME_COLON'],
    [group({ jobs: [{ ...pay, queueName: undefined }] }), 'QUEUE_NAME_MISSING'],
    [group({ queueName: 'orders:compensation' }), 'GROUP_ON_COMPENSATION_QUEUE'],
    [group({ jobs: [{ ...pay, option: 1 }] }), 'UNKNOWN_OPTION'],
    [group({ timeout: 5 }), 'UNKNOWN_OPTION'],
    [group({ timeoutMs: -1 }), 'INVALID_OPTION'],
    [group({ timeoutMs: '5' }), 'INVALID_OPTION'],
    [group({ compensationOrder: 'random' }), 'INVALID_OPTION'],
    [group({ groupId: 'a:b' }), 'INVALID_OPTION'],
    [group({ groupId: 7 }), 'INVALID_OPTION'],
  ])('%#: %j', (given, key) => {
    expect(keyOf(given)).toBe(key);
  });

  it('the texts that applications compare stay as they are', () => {
    expect(() => resolve(group({ jobs: [] }))).toThrow(/^Group must contain at least one job$/);
    expect(() => resolve(group({ compensation: { fly: refund } }))).toThrow(
      /^Compensation key "fly" does not match any job name$/,
    );
    expect(() =>
      resolve(group({ jobs: [{ ...pay, opts: { parent: { id: '1', queue: 'bull:q' } } }] })),
    ).toThrow(/^A job cannot belong to both a group and a flow$/);
  });

  it('names that objects have anyway are no mapping', () => {
    const jobs = [
      { ...pay, name: 'constructor' },
      { ...pay, name: '__proto__' },
    ];
    expect(resolve({ name: 'n', jobs }).jobs.map(({ compensation }) => compensation)).toEqual([-1, -1]);
  });

  it('a group needs a name, and something to be', () => {
    for (const given of [undefined, null, 5, [], group({ name: undefined })])
      expect(() => resolve(given as object), JSON.stringify(given)).toThrow();
  });
});

it('ids of groups: what can be part of a key, and no more', () => {
  for (const id of ['a', 'order-17', '2f1c.@~+=,_', 'x'.repeat(128)]) expect(readGroupId(id)).toBe(id);
  expect(readGroupId(undefined)).toBe('');
  for (const id of ['a b', 'a:b', 'ü', '\u0000', 'x'.repeat(129), '{a}', 'a*'])
    expect(() => readGroupId(id), id).toThrow(expect.objectContaining({ key: 'INVALID_OPTION' }));
});
