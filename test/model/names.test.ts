import { describe, expect, it } from 'vitest';
import { YokeError } from '../../src/model/errors.ts';
import { assertJobId, assertJobName, assertQueueName, reservedIdSegments } from '../../src/model/names.ts';

function refusal(run: () => void): unknown {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(YokeError);
    return (error as YokeError).key;
  }
  return 'accepted';
}

describe('assertQueueName', () => {
  it.each<[unknown, string]>([
    ['orders', 'accepted'],
    ['{orders}', 'accepted'],
    ['with space / ünïcode 😀', 'accepted'],
    ['orders:compensation', 'accepted'],
    ['', 'QUEUE_NAME_MISSING'],
    [undefined, 'QUEUE_NAME_MISSING'],
    [null, 'QUEUE_NAME_MISSING'],
    [17, 'INVALID_OPTION'],
    ['a:b', 'QUEUE_NAME_COLON'],
    [':compensation', 'QUEUE_NAME_COLON'],
    ['a:b:compensation', 'QUEUE_NAME_COLON'],
    ['orders:compensation:x', 'QUEUE_NAME_COLON'],
    ['orders:Compensation', 'QUEUE_NAME_COLON'],
    ['orders:compensation:compensation', 'QUEUE_NAME_COLON'],
    ['half \ud83d', 'LONE_SURROGATE'],
  ])('%j: %s', (name, outcome) => {
    expect(refusal(() => assertQueueName(name))).toBe(outcome);
  });
});

describe('assertJobName', () => {
  it.each<[unknown, string]>([
    ['send', 'accepted'],
    ['a:b:c:d', 'accepted'],
    ['', 'accepted'],
    ['with NUL \0', 'accepted'],
    ['\udc00 half', 'LONE_SURROGATE'],
    [undefined, 'INVALID_OPTION'],
    [{}, 'INVALID_OPTION'],
  ])('%j: %s', (name, outcome) => {
    expect(refusal(() => assertJobName(name))).toBe(outcome);
  });
});

describe('assertJobId', () => {
  it.each<[unknown, string]>([
    ['order-17', 'accepted'],
    ['0194f0a2-6a4e-7bb0-b1c3-2f1d3a7c9e55', 'accepted'],
    ['a:b:c', 'accepted'],
    ['05', 'accepted'],
    ['1.5', 'accepted'],
    ['17a', 'accepted'],
    ['Active', 'accepted'],
    ['activeX', 'accepted'],
    ['x:active:y', 'accepted'],
    ['with space', 'accepted'],
    ['😀', 'accepted'],
    ['a'.repeat(256), 'accepted'],
    ['ä'.repeat(128), 'accepted'],
    ['0', 'JOB_ID_ZERO'],
    ['0:x', 'JOB_ID_ZERO'],
    ['0:x:y', 'JOB_ID_ZERO'],
    ['17', 'CUSTOM_ID_INTEGER'],
    ['-17', 'CUSTOM_ID_INTEGER'],
    ['a:b', 'CUSTOM_ID_COLON'],
    ['a:b:c:d', 'CUSTOM_ID_COLON'],
    ['a'.repeat(257), 'JOB_ID_TOO_LONG'],
    ['ä'.repeat(129), 'JOB_ID_TOO_LONG'],
    ['a\nb', 'JOB_ID_CONTROL_CHARACTER'],
    ['a\0b', 'JOB_ID_CONTROL_CHARACTER'],
    ['a\u007f', 'JOB_ID_CONTROL_CHARACTER'],
    ['\u0085a', 'JOB_ID_CONTROL_CHARACTER'],
    ['half \ud83d', 'LONE_SURROGATE'],
    [':a:b', 'JOB_ID_RESERVED'],
    ['repeat:scheduler:1700000000000', 'JOB_ID_RESERVED'],
    ['meta:a:b', 'JOB_ID_RESERVED'],
    ['compensation:repeat:x', 'JOB_ID_RESERVED'],
    ['groups', 'JOB_ID_RESERVED'],
    ['compensation', 'JOB_ID_RESERVED'],
    [17, 'INVALID_OPTION'],
    [null, 'INVALID_OPTION'],
  ])('%j: %s', (id, outcome) => {
    expect(refusal(() => assertJobId(id))).toBe(outcome);
  });

  it('lets 0:… pass for ids that are in a queue already, but not integers', () => {
    expect(refusal(() => assertJobId('0:x:y', { allowZero: true }))).toBe('accepted');
    expect(refusal(() => assertJobId('0', { allowZero: true }))).toBe('CUSTOM_ID_INTEGER');
  });

  it.each([...reservedIdSegments].filter((segment) => segment !== ''))('refuses %s itself', (segment) => {
    expect(refusal(() => assertJobId(segment))).toBe('JOB_ID_RESERVED');
  });

  it('reserves every key of a queue and every word of ours', () => {
    const wire =
      'active wait waiting-children paused id delayed prioritized stalled-check completed failed stalled repeat ' +
      'limiter meta events pc marker de dn metrics priority delay';
    const ours = 'groups lanes compensation';
    expect([...reservedIdSegments].toSorted()).toEqual(
      ['', ...wire.split(' '), ...ours.split(' ')].toSorted(),
    );
  });

  it('says which segment and where', () => {
    expect(() => assertJobId('meta:a:b')).toThrow(/got "meta"/);
    expect(() => assertJobId('ab\tc')).toThrow(/position 2/);
  });
});
