import { describe, expect, it } from 'vitest';
import { boundLogger, type Logger, silentLogger } from '../../src/model/logger.ts';

type Line = [level: string, ...args: unknown[]];

function setup(extra: object = {}) {
  const lines: Line[] = [];
  const at =
    (level: string) =>
    (...args: unknown[]) => {
      lines.push([level, ...args]);
    };
  const logger: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    ...extra,
  };
  return { lines, log: boundLogger(logger, { workerId: 'host-1-abc', queue: 'orders' }) };
}

describe('boundLogger', () => {
  it('adds the bound fields to every line, sentence first', () => {
    const { lines, log } = setup();
    log.debug('Job picked up', { jobId: '1' });
    log.info('Job completed', { jobId: '1', durationMs: 5 });
    log.warn('Job stalled');
    log.error('Job failed', { queue: 'other' });
    expect(lines).toEqual([
      ['debug', 'Job picked up', { workerId: 'host-1-abc', queue: 'orders', jobId: '1' }],
      ['info', 'Job completed', { workerId: 'host-1-abc', queue: 'orders', jobId: '1', durationMs: 5 }],
      ['warn', 'Job stalled', { workerId: 'host-1-abc', queue: 'orders' }],
      ['error', 'Job failed', { workerId: 'host-1-abc', queue: 'other' }],
    ]);
  });

  it('puts the fields first for pino', () => {
    const { lines, log } = setup({ bindings: () => ({}), child: () => ({}) });
    log.info('Job completed', { jobId: '1' });
    expect(lines).toEqual([
      ['info', { workerId: 'host-1-abc', queue: 'orders', jobId: '1' }, 'Job completed'],
    ]);
  });

  it('winston, which has children but no bindings, gets the sentence first', () => {
    const { lines, log } = setup({ child: () => ({}) });
    log.info('Job completed');
    expect(lines[0]?.[1]).toBe('Job completed');
  });

  it('writes an error so that JSON keeps it', () => {
    const { lines, log } = setup();
    log.error('Job failed', { error: Object.assign(new RangeError('too far'), { code: 'E_FAR' }) });
    const fields = JSON.parse(JSON.stringify(lines[0]?.[2]));
    expect(fields.error).toMatchObject({ name: 'RangeError', message: 'too far', code: 'E_FAR' });
    expect(fields.error.stack).toContain('logger.test.ts');
  });

  it('a logger that throws does not reach the caller', () => {
    const { log } = setup({
      info() {
        throw new Error('disk full');
      },
    });
    expect(() => log.info('Job completed')).not.toThrow();
  });

  it('calls methods on the logger itself, since some need their this', () => {
    class Counting implements Logger {
      count = 0;
      debug() {}
      info() {
        this.count += 1;
      }
      warn() {}
      error() {}
    }
    const logger = new Counting();
    boundLogger(logger, {}).info('x');
    expect(logger.count).toBe(1);
  });

  it('says when nothing listens, and console is a logger', () => {
    expect(boundLogger(silentLogger, {}).isSilent).toBe(true);
    expect(boundLogger(silentLogger, {})).toBe(boundLogger(silentLogger, { other: 1 }));
    expect(boundLogger(console, {}).isSilent).toBe(false);
  });
});
