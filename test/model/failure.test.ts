import { describe, expect, it } from 'vitest';
import { failureText, normaliseError } from '../../src/model/failure.ts';

describe('normaliseError', () => {
  it('returns an Error as it is', () => {
    const error = new RangeError('too far');
    expect(normaliseError(error)).toBe(error);
  });

  it('makes a thrown text the message', () => {
    expect(normaliseError('out of paper').message).toBe('out of paper');
  });

  it.each<[unknown, string]>([
    [undefined, 'The processor threw undefined instead of an Error'],
    [null, 'The processor threw null instead of an Error'],
    [42, 'The processor threw 42 instead of an Error'],
    [{ a: 1 }, 'The processor threw an object instead of an Error'],
    [[1], 'The processor threw an array instead of an Error'],
    [Symbol('s'), 'The processor threw a symbol instead of an Error'],
  ])('%o: %s', (thrown, message) => {
    const error = normaliseError(thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error.message).toBe(message);
    expect(error.cause).toBe(thrown);
  });

  it('keeps message, name, code and stack of an object that looks like an error', () => {
    const thrown = { name: 'UnrecoverableError', message: 'no', code: 'E_NO', stack: 'at somewhere' };
    expect(normaliseError(thrown)).toMatchObject(thrown);
    expect(normaliseError(thrown)).toBeInstanceOf(Error);
  });

  it('survives getters that throw', () => {
    const hostile = {
      get message(): string {
        throw new Error('no');
      },
    };
    expect(normaliseError(hostile).message).toBe('The processor threw an object instead of an Error');
    const error = Object.defineProperty(new Error('x'), 'message', {
      get() {
        throw new Error('no');
      },
    });
    expect(normaliseError(error).message).toContain('instead of an Error');
  });

  it('survives a revoked proxy', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(normaliseError(proxy).message).toBe(
      'The processor threw an unreadable object instead of an Error',
    );
  });
});

describe('failureText', () => {
  it('gives the message and the stack', () => {
    const error = new Error('broken');
    expect(failureText(error)).toEqual({ reason: 'broken', stack: error.stack });
  });

  it('has the message for a stack where there is none', () => {
    const error = new Error('broken');
    error.stack = '';
    expect(failureText(error).stack).toBe('broken');
  });

  it('names what failed inside an AggregateError without a message', () => {
    const error = new AggregateError([new Error('connect ECONNREFUSED ::1'), new Error('and 127.0.0.1')]);
    expect(failureText(error).reason).toBe('connect ECONNREFUSED ::1; and 127.0.0.1');
  });

  it('leaves an empty message empty, as BullMQ does', () => {
    expect(failureText(new Error()).reason).toBe('');
  });

  it('bounds what is stored', () => {
    const { reason, stack } = failureText(new Error('x'.repeat(1_000_000)));
    expect(reason.length).toBeLessThan(66_000);
    expect(stack.length).toBeLessThan(66_000);
    expect(reason).toMatch(/^x+… \(934464 more characters\)$/);
  });

  it('survives a stack that cannot be read', () => {
    const error = Object.defineProperty(new Error('x'), 'stack', {
      get() {
        throw new Error('no');
      },
    });
    expect(failureText(error)).toEqual({ reason: 'x', stack: 'x' });
  });
});
