import { describe, expect, it } from 'vitest';
import { classifyError } from '../../src/model/error-policy.ts';
import { TransientError, UnrecoverableError, yokeError } from '../../src/model/errors.ts';

const withCode = (code: string) => Object.assign(new Error('x'), { code });
const named = (name: string, message = 'x') => Object.assign(new Error(message), { name });

describe('retry, the default', () => {
  it.each([new Error('anything'), new TypeError('a bug'), 'text', null, { status: 404 }])(
    '%s is worth another attempt',
    (error) => {
      expect(classifyError(error, 'retry')).toBe('transient');
    },
  );

  it('fails at once what the processor calls permanent', () => {
    expect(classifyError(new UnrecoverableError('no'), 'retry')).toBe('permanent');
    expect(classifyError({ name: 'UnrecoverableError' }, 'retry')).toBe('permanent');
    expect(classifyError(yokeError('JOB_HAS_FAILED_CHILDREN'), 'retry')).toBe('permanent');
  });
});

describe('strict', () => {
  const transient: [string, unknown][] = [
    ['a refused connection', withCode('ECONNREFUSED')],
    ['a reset connection', withCode('ECONNRESET')],
    ['a DNS failure', withCode('ENOTFOUND')],
    ['a full disk', withCode('ENOSPC')],
    ['a database deadlock', withCode('40P01')],
    ['fetch, which wraps the network error', new TypeError('fetch failed', { cause: withCode('ETIMEDOUT') })],
    ['a wrapped network error', new Error('could not charge', { cause: withCode('ECONNRESET') })],
    ['an aborted request', new DOMException('This operation was aborted', 'AbortError')],
    ['AbortSignal.timeout', new DOMException('The operation was aborted due to timeout', 'TimeoutError')],
    ['a library’s timeout class', named('KnexTimeoutError')],
    ['a timeout told in words', new Error('timeout of 1000ms exceeded')],
    ['a command that timed out', new Error('Command timed out')],
    ['a closed connection', new Error('Connection is closed.')],
    ['a server that loads', new Error('LOADING Redis is loading the dataset in memory')],
    ['a server out of memory', new Error("OOM command not allowed when used memory > 'maxmemory'.")],
    ['a replica', new Error("READONLY You can't write against a read only replica.")],
    ['ioredis giving up', named('MaxRetriesPerRequestError')],
    ['our own report of a loading server', yokeError('SERVER_LOADING', { call: 'add' })],
    ['an unknown outcome', yokeError('OUTCOME_UNKNOWN')],
    ['a network error that has an exit status', Object.assign(withCode('ECONNRESET'), { status: 1 })],
    ['HTTP 500', { status: 500 }],
    ['HTTP 503 as statusCode', { statusCode: 503 }],
    ['HTTP 502 in a response', { response: { status: 502 } }],
    ['HTTP 429', { response: { statusCode: 429 } }],
    ['HTTP 504 as text', { status: '504' }],
    ['an explicit TransientError', new TransientError('later')],
  ];
  it.each(transient)('%s is transient', (_, error) => {
    expect(classifyError(error, 'strict')).toBe('transient');
  });

  const permanent: [string, unknown][] = [
    ['an unknown error', new Error('insufficient funds')],
    ['a bug', new TypeError("Cannot read properties of undefined (reading 'x')")],
    ['malformed JSON', new SyntaxError('Unexpected end of JSON input')],
    ['a validation error that speaks of a timeout', named('ValidationError', 'request timeout is required')],
    ['a schema’s error', named('ZodError', 'fetch failed')],
    ['a rejected payload', yokeError('SCHEMA_REJECTED', { where: 'x', issues: 'y' })],
    ['a wrong password', yokeError('SERVER_AUTH', { reason: 'WRONGPASS' })],
    ['a wrong type in Redis', new Error('WRONGTYPE Operation against a key')],
    ['HTTP 400', { status: 400 }],
    ['HTTP 404 with a network-like text', { statusCode: 404, message: 'connection refused' }],
    ['HTTP 401 in a response', { response: { status: 401 } }],
    ['a status that is not HTTP', { status: 1, message: 'exit' }],
    ['text', 'boom'],
    ['null', null],
    ['undefined', undefined],
    ['an explicit UnrecoverableError', new UnrecoverableError('never')],
    ['an unrecoverable network error', Object.assign(new UnrecoverableError('x'), { code: 'ECONNRESET' })],
  ];
  it.each(permanent)('%s is permanent', (_, error) => {
    expect(classifyError(error, 'strict')).toBe('permanent');
  });

  it('ends in a cycle of causes', () => {
    const a = new Error('a');
    a.cause = a;
    expect(classifyError(a, 'strict')).toBe('permanent');
  });
});

describe('a function', () => {
  it('decides, but not over what the processor said', () => {
    const permanent = () => 'permanent' as const;
    const transient = () => 'transient' as const;
    expect(classifyError(new Error('x'), permanent)).toBe('permanent');
    expect(classifyError(new Error('x'), transient)).toBe('transient');
    expect(classifyError(new TransientError('x'), permanent)).toBe('transient');
    expect(classifyError(new UnrecoverableError('x'), transient)).toBe('permanent');
  });

  it('gets what was thrown', () => {
    const thrown = { odd: true };
    let seen: unknown;
    classifyError(thrown, (error) => {
      seen = error;
      return 'transient';
    });
    expect(seen).toBe(thrown);
  });

  it('costs no job its attempts when it throws or answers nonsense', () => {
    const broken = () => {
      throw new Error('bug');
    };
    expect(classifyError(new Error('x'), broken)).toBe('transient');
    expect(classifyError(new Error('x'), (() => 'no idea') as never)).toBe('transient');
  });
});
