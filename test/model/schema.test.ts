import { describe, expect, it } from 'vitest';
import { isStandardSchema, type StandardSchemaV1, validateWith } from '../../src/model/schema.ts';

type Validate<T> = StandardSchemaV1<unknown, T>['~standard']['validate'];

function schemaOf<T>(validate: Validate<T>): StandardSchemaV1<unknown, T> {
  return { '~standard': { version: 1, vendor: 'test', validate } };
}

const doubling = schemaOf<number>((value) =>
  typeof value === 'number'
    ? { value: value * 2 }
    : { issues: [{ message: 'not a number', path: ['items', { key: 0 }, 'price'] }, { message: 'odd' }] },
);

describe('validateWith', () => {
  it('returns what the schema makes of the value, without a promise', () => {
    expect(validateWith(doubling, 21, 'job data')).toBe(42);
  });

  it('names the place and the paths of what is wrong', () => {
    expect(() => validateWith(doubling, 'x', 'job data of "orders"')).toThrow(
      expect.objectContaining({
        key: 'SCHEMA_REJECTED',
        message: expect.stringContaining(
          'job data of "orders": expected a value that satisfies the schema, got items.0.price: not a number; odd.',
        ),
        details: expect.objectContaining({ paths: ['items.0.price', ''] }),
      }),
    );
  });

  it('waits for a schema that is asynchronous', async () => {
    const later = schemaOf(async (value) => doubling['~standard'].validate(value));
    await expect(validateWith(later, 4, 'x')).resolves.toBe(8);
    await expect(validateWith(later, null, 'x')).rejects.toMatchObject({ key: 'SCHEMA_REJECTED' });
  });

  it('shows five issues and counts the rest', () => {
    const many = schemaOf(() => ({ issues: Array.from({ length: 8 }, (_, i) => ({ message: `no ${i}` })) }));
    expect(() => validateWith(many, 1, 'x')).toThrow(/no 4; and 3 more\./);
  });
});

describe('isStandardSchema', () => {
  it('takes objects and functions with a validate, and nothing else', () => {
    expect(isStandardSchema(doubling)).toBe(true);
    expect(isStandardSchema(Object.assign(() => 1, doubling))).toBe(true);
    expect(isStandardSchema({ parse: () => 1 })).toBe(false);
    expect(isStandardSchema({ '~standard': null })).toBe(false);
    expect(isStandardSchema(null)).toBe(false);
  });
});
