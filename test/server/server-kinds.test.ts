// What every kind of server must do for the queue, whichever one a user happens to get.

import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from '../../src/server/throwaway-server.ts';
import { cannotRun } from '../support/native.ts';
import { clientOf, untilAbsent } from './clients.ts';

for (const kind of ['native', 'wasm'] as const)
  describe.skipIf(cannotRun(kind))(`a ${kind} server`, () => {
    let server: RunningServer;

    beforeAll(async () => {
      server = await startServer({ kind });
    });

    afterAll(async () => {
      await server.stop();
    });

    it('answers on a unix socket', async () => {
      expect(server.kind).toBe(kind);
      expect(server.connection).toHaveProperty('path');
      const client = clientOf(server.connection);
      expect(await client.ping()).toBe('PONG');
      await client.set('greeting', 'hello');
      expect(await client.get('greeting')).toBe('hello');
    });

    it('runs functions and scripts', async () => {
      const client = clientOf(server.connection);
      const library = `#!lua name=sample
      redis.register_function('double', function(keys, args)
        return redis.call('INCRBY', keys[1], args[1] * 2)
      end)`;
      expect(await client.function('LOAD', library)).toBe('sample');
      expect(await client.fcall('double', 1, 'doubled', 21)).toBe(42);
      expect(await client.eval('return { KEYS[1], ARGV[1] }', 1, 'key', 'value')).toEqual(['key', 'value']);
      await expect(client.eval('error("on purpose")', 0)).rejects.toThrow('on purpose');
      expect(await client.ping()).toBe('PONG');
    });

    it('wakes a blocked stream reader', async () => {
      const reader = clientOf(server.connection);
      const writer = clientOf(server.connection);
      const entry = reader.xread('BLOCK', 30_000, 'STREAMS', 'stream', '$');
      await untilBlocked(writer, 1);
      await writer.xadd('stream', '1-1', 'field', 'value');
      expect(await entry).toEqual([['stream', [['1-1', ['field', 'value']]]]]);
    });

    it('wakes a blocked pop', async () => {
      const popper = clientOf(server.connection);
      const adder = clientOf(server.connection);
      const popped = popper.bzpopmin('marker', 30);
      await untilBlocked(adder, 1);
      await adder.zadd('marker', 7, 'member');
      expect(await popped).toEqual(['marker', 'member', '7']);
    });

    it('ends a blocked pop at its timeout while nobody else talks', async () => {
      const popper = clientOf(server.connection);
      await popper.ping();
      const startedAt = performance.now();
      expect(await popper.bzpopmin('nothing', 0.3)).toBeNull();
      const waitedMs = performance.now() - startedAt;
      expect(waitedMs).toBeGreaterThan(290);
      expect(waitedMs).toBeLessThan(1_500);
    });

    it('takes and returns values of 10 MB', async () => {
      const client = clientOf(server.connection);
      const value = Buffer.alloc(10 * 1024 * 1024, 'yoke');
      await client.set('large', value);
      const returned = await client.getBuffer('large');
      expect(returned?.equals(value)).toBe(true);
      await client.del('large');
    });

    it('sends a reply of many small pieces whole', async () => {
      const client = clientOf(server.connection);
      const piece = 'x'.repeat(50);
      for (let i = 0; i < 20; i++) await client.rpush('pieces', ...Array.from({ length: 1000 }, () => piece));
      const pieces = await client.lrange('pieces', 0, -1);
      expect(pieces).toHaveLength(20_000);
      expect(pieces.every((each) => each === piece)).toBe(true);
      await client.del('pieces');
    });

    it('serves thousands of pipelined commands in order', async () => {
      const client = clientOf(server.connection);
      const pipeline = client.pipeline();
      for (let i = 0; i < 20_000; i++) pipeline.incr('counter');
      const replies = await pipeline.exec();
      expect(replies?.map(([, value]) => value)).toEqual(Array.from({ length: 20_000 }, (_, i) => i + 1));
    });

    it('keeps its data across stop and start with persistence', async () => {
      const own = await startServer({ kind, persistence: true });
      await clientOf(own.connection).set('kept', 'yes');
      await own.stop();
      await untilAbsent(own.connection);
      await own.start();
      expect(await clientOf(own.connection).get('kept')).toBe('yes');
      await own.stop();
    });

    it('listens on a free loopback port on request, and on the same one again', async () => {
      const own = await startServer({ kind, port: true, persistence: true });
      expect(own.connection).toMatchObject({ host: '127.0.0.1', port: expect.any(Number) });
      expect(own.url).toMatch(/^redis:\/\/127\.0\.0\.1:\d+$/);
      await clientOf(own.connection).set('kept', 'yes');
      await own.stop();
      await own.start();
      expect(await clientOf(own.connection).get('kept')).toBe('yes');
      await own.stop();
    });

    it('takes further settings as arguments', async () => {
      const own = await startServer({ kind, args: ['--maxmemory-policy', 'allkeys-lru'] });
      expect(await clientOf(own.connection).config('GET', 'maxmemory-policy')).toContain('allkeys-lru');
      await own.stop();
    });

    it('says why it does not start', async () => {
      await expect(startServer({ kind, args: ['--no-such-setting', '1'] })).rejects.toMatchObject({
        code: 'SERVER_START_FAILED',
        message: expect.stringContaining('no-such-setting'),
      });
    });

    it('removes its temporary directory when it stops', async () => {
      const own = await startServer({ kind });
      expect(existsSync(own.dir)).toBe(true);
      await own.stop();
      expect(existsSync(own.dir)).toBe(false);
      await own.stop();
    });

    it('can be ended by a client and started again', async () => {
      const own = await startServer({ kind });
      const client = clientOf(own.connection);
      await client.call('SHUTDOWN', 'NOSAVE').catch(() => {});
      await untilAbsent(own.connection);
      await own.stop();
      await own.start();
      expect(await clientOf(own.connection).ping()).toBe('PONG');
      await own.stop();
    });
  });

async function untilBlocked(client: ReturnType<typeof clientOf>, count: number): Promise<void> {
  while (!(await client.info('clients')).includes(`blocked_clients:${count}`));
}
