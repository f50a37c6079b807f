import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { YokeError } from '../../src/model/errors.ts';
import {
  assertSize,
  decodePayload,
  encodeJobData,
  encodePayload,
  isSurelyEncodable,
} from '../../src/model/payload.ts';

const rules = { what: 'job data', maxBytes: 100 };

function refusal(run: () => unknown): YokeError {
  try {
    run();
  } catch (error) {
    if (error instanceof YokeError) return error;
  }
  throw new Error('expected a YokeError');
}

describe('encodePayload', () => {
  it.each([{ a: [1, null, 'x'] }, [], 0, '', false, null])('%j survives the round trip', (value) => {
    expect(decodePayload(encodePayload(value, rules))).toEqual(value);
  });

  it('lone surrogates and NUL survive', () => {
    const value = { text: 'half \ud83d, other half \ude00, NUL \0' };
    const text = encodePayload(value, rules);
    // As bytes, because that is how it travels.
    expect(decodePayload(Buffer.from(text, 'utf8').toString('utf8'))).toEqual(value);
  });

  it('writes what the caller says for undefined, else refuses it', () => {
    expect(encodePayload(undefined, { ...rules, ifUndefined: 'null' })).toBe('null');
    expect(refusal(() => encodePayload(undefined, rules)).key).toBe('PAYLOAD_NOT_SERIALISABLE');
  });

  it('refuses a cycle with the words of JSON.stringify, but not the names in the payload', () => {
    const value: Record<string, unknown> = {};
    value.secretField = value;
    const error = refusal(() => encodePayload(value, rules));
    expect(error.key).toBe('PAYLOAD_NOT_SERIALISABLE');
    expect(error.message).toContain('Converting circular structure to JSON');
    expect(error.message).not.toContain('secretField');
    expect(error.cause).toBeInstanceOf(TypeError);
  });

  it.each<[string, unknown, RegExp]>([
    ['a BigInt', { n: 1n }, /BigInt/],
    ['a function', () => 1, /got a function/],
    ['a symbol', Symbol('x'), /got a symbol/],
    ['a toJSON that returns nothing', { toJSON: () => undefined }, /toJSON returns nothing/],
    [
      'a toJSON that throws',
      {
        toJSON() {
          throw 'no';
        },
      },
      /a toJSON that throws/,
    ],
  ])('refuses %s', (_, value, message) => {
    const error = refusal(() => encodePayload(value, { ...rules, ifUndefined: '{}' }));
    expect(error.key).toBe('PAYLOAD_NOT_SERIALISABLE');
    expect(error.message).toMatch(message);
  });

  it('measures bytes, not characters', () => {
    expect(encodePayload('x'.repeat(98), rules)).toHaveLength(100);
    expect(refusal(() => encodePayload('x'.repeat(99), rules))).toMatchObject({
      key: 'PAYLOAD_TOO_LARGE',
      details: { what: 'job data', maxBytes: 100, bytes: 101 },
    });
    expect(encodePayload('€'.repeat(32), rules)).toHaveLength(34);
    expect(refusal(() => encodePayload('€'.repeat(33), rules)).details.bytes).toBe(101);
  });
});

describe('encodeJobData', () => {
  const limits = { sizeLimit: 0, maxPayloadBytes: 50 };

  it('stores undefined as {}', () => {
    expect(encodeJobData('n', undefined, limits)).toBe('{}');
  });

  it('has BullMQ’s text for the job’s own limit and ours for the queue’s', () => {
    const data = 'x'.repeat(30);
    expect(() => encodeJobData('n', data, { ...limits, sizeLimit: 31 })).toThrow(
      /^The size of job n exceeds the limit 31 bytes$/,
    );
    expect(encodeJobData('n', data, { ...limits, sizeLimit: 32 })).toHaveLength(32);
    expect(() => encodeJobData('n', 'x'.repeat(60), limits)).toThrow(
      /expected at most 50 bytes of JSON, got 62/,
    );
  });
});

describe('assertSize', () => {
  it('refuses a log row over the limit', () => {
    expect(() => assertSize('ab', 'log row', 2)).not.toThrow();
    expect(() => assertSize('abc', 'log row', 2)).toThrow(/^log row: expected at most 2 bytes/);
  });
});

describe('decodePayload', () => {
  it('__proto__ stays plain data', () => {
    const value = decodePayload('{"__proto__":{"isAdmin":true}}') as Record<string, unknown>;
    expect(Object.hasOwn(value, '__proto__')).toBe(true);
    expect(value.isAdmin).toBeUndefined();
    expect(({} as Record<string, unknown>).isAdmin).toBeUndefined();
    expect(encodePayload(value, rules)).toBe('{"__proto__":{"isAdmin":true}}');
  });

  it('refuses broken JSON without quoting it', () => {
    const error = refusal(() => decodePayload('{"password":"hunter2"', 'data', '7'));
    expect(error.key).toBe('POISONED_RECORD');
    expect(error.message).toContain('Job 7: expected JSON in data');
    expect(error.message).not.toContain('hunter2');
    expect(error.cause).toBeInstanceOf(SyntaxError);
  });
});

describe('isSurelyEncodable', () => {
  const limits = { sizeLimit: 0, maxPayloadBytes: 400 };
  const circle: unknown[] = [];
  circle.push(circle);

  it.each([{ n: 1, to: 'a@b.c', tags: ['a', 'b'], none: null, ok: true }, [], {}, 'text', 1, null])(
    '%j is sure',
    (data) => expect(isSurelyEncodable(data, limits)).toBe(true),
  );

  it.each([
    ['a circle', circle],
    ['a BigInt within', { a: [{ b: 1n }] }],
    ['a toJSON', { toJSON: () => 1 }],
    ['a date', new Date(0)],
    ['an object of a class', new (class A {})()],
    ['what may be too large', { text: '\0'.repeat(70) }],
    ['undefined', undefined],
  ])('%s is not', (_, data) => expect(isSurelyEncodable(data, limits)).toBe(false));

  it('whatever is sure can be encoded within every limit', () => {
    const text = fc.string({ unit: 'binary', maxLength: 60 });
    const anything = fc.anything({
      key: text,
      values: [text, fc.double(), fc.integer(), fc.boolean(), fc.constantFrom(null, undefined, 1n)],
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withSparseArray: true,
    });
    let sureCount = 0;
    const property = fc.property(anything, fc.constantFrom(0, 10, 60), (data, sizeLimit) => {
      if (!isSurelyEncodable(data, { sizeLimit, maxPayloadBytes: 300 })) return;
      sureCount++;
      encodeJobData('n', data, { sizeLimit, maxPayloadBytes: 300 });
    });
    fc.assert(property, { numRuns: 3000 });
    expect(sureCount).toBeGreaterThan(300);
  });
});
