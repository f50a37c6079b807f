import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  BulkAddError,
  ConnectionClosedError,
  describeGiven,
  type ErrorKey,
  errorCatalogue,
  isConnectionError,
  isUnrecoverable,
  OutcomeUnknownError,
  PermanentError,
  TransientError,
  UnrecoverableError,
  YokeError,
  yokeError,
} from '../../src/model/errors.ts';

describe('yokeError', () => {
  it('takes BullMQ’s text to the letter and keeps the advice in `hint`', () => {
    const error = yokeError('QUEUE_NAME_COLON', { name: 'a:b' });
    expect(error.message).toBe('Queue name cannot contain :');
    expect(error.hint).toMatch(/prefix option/);
    expect(error).toMatchObject({
      name: 'YokeError',
      key: 'QUEUE_NAME_COLON',
      code: 'QUEUE_NAME_COLON',
      details: { name: 'a:b' },
    });
    expect(error).toBeInstanceOf(YokeError);
  });

  it('says in our own texts what was expected, what was given and what to do', () => {
    const error = yokeError('INVALID_OPTION', {
      option: 'attempts',
      expected: 'a finite number',
      given: 'NaN',
    });
    expect(error.message).toBe(
      'attempts: expected a finite number, got NaN. Correct the option, or leave it out to get its default.',
    );
  });

  it('has BullMQ’s number as code where there is one', () => {
    const error = yokeError('JOB_LOCK_MISMATCH', { jobId: '1', command: 'moveToFinished', state: 'active' });
    expect(error.code).toBe(-6);
    expect(error.key).toBe('JOB_LOCK_MISMATCH');
  });

  it('keeps the cause', () => {
    const cause = new Error('socket closed');
    expect(yokeError('CALL_REFUSED', { call: 'add', reason: 'x' }, { cause }).cause).toBe(cause);
  });

  it('starts its stack where it was called', () => {
    const firstFrame = yokeError('NO_PROCESSOR').stack?.split('\n')[1];
    expect(firstFrame).toContain('errors.test.ts');
  });

  it('builds the class that belongs to the row', () => {
    expect(yokeError('OUTCOME_UNKNOWN', { call: 'add', waitedMs: 1 })).toBeInstanceOf(OutcomeUnknownError);
    expect(yokeError('OUTCOME_UNKNOWN').name).toBe('OutcomeUnknownError');
    const refused = [{ index: 1, error: new Error('no parent') }];
    const bulk = yokeError('PARTLY_REFUSED', { added: ['1', '3'], refused });
    expect(bulk).toBeInstanceOf(BulkAddError);
    expect(bulk).toMatchObject({ name: 'BulkAddError', added: ['1', '3'], refused, code: 'PARTLY_REFUSED' });
    expect(bulk.message).toContain('3 jobs, 1 refused (the first: no parent).');
    expect(bulk.cause).toBe(refused[0]?.error);
  });

  it('a BulkAddError prints its cause once and counts the rest; its lists print when asked for', () => {
    const cause = new Error('NOPERM');
    const error = yokeError('CALL_REFUSED', { call: 'add', reason: 'no' }, { cause });
    const refused = Array.from({ length: 1000 }, (_, index) => ({ index, error }));
    const added = refused.map(({ index }) => `added-${index}`);
    const bulk = new BulkAddError(added, refused);
    const printed = inspect(bulk);
    expect(printed.split('\n').length).toBeLessThan(60);
    expect(printed).toContain(
      'expected to add 2000 jobs, 1000 refused (the first: add: refused by the server: no.',
    );
    expect(printed).toMatch(/total: 2000,\s+refusedCount: 1000/);
    expect(printed.match(/\[cause\]: YokeError/g)).toHaveLength(1);
    expect(printed).not.toContain('added-');
    expect(inspect(bulk.refused).match(/\[cause\]: Error: NOPERM/g)).toHaveLength(100);
    expect(inspect(bulk.added)).toContain('added-99');
  });
});

describe('the catalogue', () => {
  const keys = Object.keys(errorCatalogue) as ErrorKey[];
  const given = new Proxy({}, { get: (_, name) => `<${String(name)}>` });

  it.each(keys)('%s builds a text without holes', (key) => {
    const { message } = errorCatalogue[key];
    expect(message(given)).not.toMatch(/undefined|\[object|NaN/);
    expect(message(given).length).toBeGreaterThan(8);
  });

  it('gives each of the eleven script codes to one row', () => {
    const codes = keys.map((key) => errorCatalogue[key].code).filter((code) => code !== undefined);
    expect(codes.toSorted((a, b) => b - a)).toEqual([-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11]);
  });

  it('says in every row what to do, as a sentence', () => {
    const without = keys.filter((key) => !/^[A-Z].*\.$/.test(errorCatalogue[key].hint ?? ''));
    expect(without).toEqual([]);
  });

  it('ends each of our own texts as a sentence, so that the advice can follow', () => {
    const open = keys.filter((key) => {
      const row = errorCatalogue[key];
      return !row.exact && !row.message(given).endsWith('.');
    });
    expect(open).toEqual([]);
  });
});

describe('control errors', () => {
  it('PermanentError is UnrecoverableError itself', () => {
    expect(PermanentError).toBe(UnrecoverableError);
  });

  it('names a subclass after itself and still recognises it', () => {
    class OutOfStock extends UnrecoverableError {}
    const error = new OutOfStock('none left');
    expect(error.name).toBe('OutOfStock');
    expect(isUnrecoverable(error)).toBe(true);
  });

  it('recognises errors that lost their class on the way', () => {
    expect(isUnrecoverable({ name: 'UnrecoverableError', message: 'x' })).toBe(true);
    expect(isUnrecoverable({ name: 'PermanentError' })).toBe(true);
    expect(isUnrecoverable({ name: 'Error' })).toBe(false);
  });

  it('keeps causes', () => {
    const cause = new Error('why');
    expect(new UnrecoverableError('x', { cause }).cause).toBe(cause);
    expect(new TransientError('x', { cause }).cause).toBe(cause);
    expect(new ConnectionClosedError(undefined, cause)).toMatchObject({
      cause,
      message: 'Connection is closed.',
    });
  });

  it('a connection error is told by class, by text and by code', () => {
    expect(isConnectionError(new Error('connect ECONNREFUSED 127.0.0.1:6379'))).toBe(true);
    expect(isConnectionError({ code: 'ECONNREFUSED', message: '' })).toBe(true);
    expect(isConnectionError(new Error('WRONGTYPE'))).toBe(false);
  });

  it.each([null, undefined, 'text', 5, Symbol('s')])('recognisers survive %s', (thrown) => {
    expect(isUnrecoverable(thrown)).toBe(false);
    expect(isConnectionError(thrown)).toBe(false);
  });

  it('recognisers survive getters that throw and revoked proxies', () => {
    const hostile = Object.defineProperty({}, 'name', {
      get() {
        throw new Error('no');
      },
    });
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(isUnrecoverable(hostile)).toBe(false);
    expect(isUnrecoverable(proxy)).toBe(false);
  });
});

describe('describeGiven', () => {
  it.each<[unknown, string]>([
    [null, 'null'],
    [undefined, 'undefined'],
    ['abc', 'the string "abc"'],
    ['x'.repeat(61), 'a string of 61 characters'],
    [Number.NaN, 'NaN'],
    [10n, 'the BigInt 10'],
    [[], 'an array'],
    [{}, 'an object'],
    [new Date(), 'a Date'],
    [() => 1, 'a function'],
    [Symbol('s'), 'a symbol'],
  ])('%o is %s', (value, text) => {
    expect(describeGiven(value)).toBe(text);
  });
});
