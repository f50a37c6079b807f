// Servers that answer, but not as one would wish: out of memory, read-only, loading, locked, restricted, too old.
// Every refusal has a type, nothing hangs, and what can go on goes on.

import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterEach, expect, it } from 'vitest';
import { Queue, type QueueOptions, Worker, type WorkerOptions } from '../../src/index.ts';
import { pingServer } from '../../src/server/ask-server.ts';
import type { RedisClient } from '../../src/store/client.ts';
import { checkServer } from '../../src/store/server-check.ts';
import { whenIdle } from '../../src/testing/index.ts';
import { eventually, nextEvent } from '../support/eventually.ts';
import { describeFaults, type FaultServer, startFaultServer } from '../support/fault-server.ts';
import { leg } from '../support/leg.ts';

describeFaults('refusals', () => {
  let server: FaultServer | undefined;
  let open: { close(): Promise<unknown> }[] = [];

  afterEach(async () => {
    for (const one of open.reverse()) await one.close();
    open = [];
    await server?.stop();
    server = undefined;
  });

  async function start(args: string[] = [], persistence = false): Promise<FaultServer> {
    server = await startFaultServer({ args, persistence });
    return server;
  }

  function newQueue(opts: QueueOptions = {}): Queue {
    const queue = new Queue('refusals', { connection: server!.connection, ...opts });
    queue.on('error', () => {});
    open.push(queue);
    return queue;
  }

  function newWorker(opts: WorkerOptions = {}): Worker {
    const worker = new Worker('refusals', async (job) => job.data, {
      connection: server!.connection,
      ...opts,
    });
    worker.on('error', () => {});
    open.push(worker);
    return worker;
  }

  const refusalOf = (call: Promise<unknown>) =>
    call.then(
      () => 'nothing',
      (error) => error.key,
    );

  it('a server out of memory refuses adds, and workers drain it', async () => {
    const { admin } = await start();
    const queue = newQueue();
    await queue.addBulk(
      Array.from({ length: 50 }, (_, n) => ({ name: 'work', data: { n, bytes: 'x'.repeat(1000) } })),
    );
    const worker = newWorker({ autorun: false });
    await worker.waitUntilReady();
    await admin.config('SET', 'maxmemory', '1mb');
    // More than go with one call: it is one reason all the same, and nothing was added.
    const rows = Array.from({ length: 500 }, (_, n) => ({ name: 'work', data: { n } }));
    expect(await refusalOf(queue.addBulk(rows))).toBe('SERVER_OUT_OF_MEMORY');

    expect(await refusalOf(queue.add('work', {}))).toBe('SERVER_OUT_OF_MEMORY');
    expect(await queue.getJobCounts('waiting')).toEqual({ waiting: 50 });
    worker.run();
    await whenIdle(queue);
    expect(await queue.getJobCounts('completed')).toEqual({ completed: 50 });

    await admin.config('SET', 'maxmemory', '0');
    await queue.add('work', {});
    await whenIdle(queue);
  });

  it('a worker that starts on a server out of memory, and so without functions, drains it too', async () => {
    const { admin } = await start();
    const queue = newQueue();
    await queue.addBulk(Array.from({ length: 50 }, (_, n) => ({ name: 'work', data: { n } })));
    await admin.config('SET', 'maxmemory', '1mb');
    if (leg === 'functions') await admin.call('FUNCTION', 'FLUSH');

    newWorker();
    await whenIdle(queue);

    expect(await queue.getJobCounts('completed')).toEqual({ completed: 50 });
  });

  it('a server that is a replica for a moment holds calls up, and one that stays a replica refuses adds', async () => {
    const { admin } = await start();
    const queue = newQueue();
    const worker = newWorker();
    await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);

    await admin.call('REPLICAOF', '127.0.0.1', '1');
    const added = queue.add('work', {});
    // Once it has been refused, it is tried again.
    await eventually(async () => {
      const stats = await admin.info('errorstats');
      expect(stats).toContain('errorstat_READONLY');
    });
    const completed = nextEvent(worker, 'completed');
    await admin.call('REPLICAOF', 'NO', 'ONE');
    await added;
    await completed;

    await admin.call('REPLICAOF', '127.0.0.1', '1');
    expect(await refusalOf(queue.add('work', {}))).toBe('SERVER_READ_ONLY');
    await admin.call('REPLICAOF', 'NO', 'ONE');
    await queue.add('work', {});
    await whenIdle(queue);
  });

  it('a server that loads its data is waited for', async () => {
    // Half a millisecond for each command in its file.
    await start(['--key-load-delay', '500'], true);
    const queue = newQueue();
    await queue.addBulk(Array.from({ length: 500 }, (_, n) => ({ name: 'work', data: { n } })));
    await server!.kill();
    const isUp = server!.start();
    newWorker();
    const added = queue.add('work', { n: 500 });
    const seen = new Set<string>();
    while (!seen.has('ready')) seen.add(await pingServer(server!.connection));
    await isUp;

    expect([...seen]).toContain('loading');
    await added;
    await whenIdle(queue);
    expect(await queue.getJobCounts('completed')).toEqual({ completed: 501 });
  });

  it('a server that wants a password, or another one, says so to queue and worker', async () => {
    await start(['--requirepass', 'open sesame']);
    for (const password of [undefined, 'wrong']) {
      const connection = { ...server!.connection, password };
      const queue = newQueue({ connection });
      expect(await refusalOf(queue.add('work', {}))).toBe('SERVER_AUTH');
      const worker = newWorker({ connection });
      const [error] = await nextEvent(worker, 'error');
      expect(error.key).toBe('SERVER_AUTH');
      expect(await refusalOf(worker.waitUntilReady())).toBe('SERVER_AUTH');
      expect(worker.health().isHealthy).toBe(false);
      await Promise.all([queue.close(), worker.close()]);
    }
    const right = { connection: { ...server!.connection, password: 'open sesame' } };
    const queue = newQueue(right);
    newWorker(right);
    await queue.add('work', {});
    await whenIdle(queue);
  });

  it('a worker that was locked out works as soon as its password is accepted', async () => {
    const { admin } = await start();
    await admin.call('ACL', 'SETUSER', 'late', 'on', '>old', '~*', '&*', '+@all');
    const worker = newWorker({ connection: { ...server!.connection, username: 'late', password: 'new' } });
    const [error] = await nextEvent(worker, 'error');
    expect(error.key).toBe('SERVER_AUTH');

    await admin.call('ACL', 'SETUSER', 'late', '>new');
    const completed = nextEvent(worker, 'completed');
    await newQueue().add('work', {});

    await completed;
  });

  it('a user without the commands, or without the keys, is told which', async () => {
    const { admin } = await start();
    await admin.call('ACL', 'SETUSER', 'bare', 'on', '>p', '~*', '&*', '+@connection', '+info');
    await admin.call('ACL', 'SETUSER', 'elsewhere', 'on', '>p', '~other:*', '&*', '+@all');
    for (const username of ['bare', 'elsewhere']) {
      const connection = { ...server!.connection, username, password: 'p' };
      const queue = newQueue({ connection });
      expect(await refusalOf(queue.add('work', {}))).toBe('SERVER_REFUSES_COMMANDS');
      const worker = newWorker({ connection });
      const [error] = await nextEvent(worker, 'error');
      expect(error.key).toBe('SERVER_REFUSES_COMMANDS');
    }
  });

  it.each([
    ['scripts', []],
    ['functions', ['+fcall', '+fcall_ro', '+function|load']],
  ])('the rights that the guide asks for are enough for %s', async (_mode, more) => {
    const guide = readFileSync(new URL('../../docs/guide/connect.md', import.meta.url), 'utf8');
    const rights = guide.match(/^~bull:\* .*$/m)![0].split(' ');
    const { admin } = await start();
    await admin.call('ACL', 'SETUSER', 'few', 'on', '>p', ...rights, ...more);
    const connection = { ...server!.connection, username: 'few', password: 'p' };
    const queue = newQueue({ connection });
    const worker = newWorker({ connection });
    const troubles: Error[] = [];
    worker.on('error', (error) => troubles.push(error));

    await queue.addBulk([
      { name: 'work', data: {} },
      { name: 'work', data: {}, opts: { lane: 'a' } },
    ]);
    await whenIdle(queue);

    expect(await queue.getJobCounts('completed')).toEqual({ completed: 2 });
    expect((await queue.getWorkers()).length).toBe(1);
    expect(troubles).toEqual([]);
  });

  it('a user without INFO works', async () => {
    const { admin } = await start();
    await admin.call('ACL', 'SETUSER', 'quiet', 'on', '>p', '~*', '&*', '+@all', '-info');
    const connection = { ...server!.connection, username: 'quiet', password: 'p' };
    const queue = newQueue({ connection });
    newWorker({ connection });
    await queue.add('work', {});
    await whenIdle(queue);
    expect(await queue.getJobCounts('completed')).toEqual({ completed: 1 });
  });

  it('a server that may evict keys is a warning, and an error to the strict', async () => {
    await start(['--maxmemory-policy', 'allkeys-lru']);
    const client = new Redis({ ...server!.connection, lazyConnect: true });
    const warnings: string[] = [];
    const check = { isSkipped: false, warn: (message: string) => warnings.push(message) };

    await checkServer(client as unknown as RedisClient, { ...check, isStrict: false });
    const refusal = checkServer(client as unknown as RedisClient, { ...check, isStrict: true });

    expect(await refusalOf(refusal)).toBe('EVICTION_POLICY');
    expect(warnings).toHaveLength(1);
    client.disconnect();
  });

  it('a server that is too old is refused, and one that is just old enough is not', async () => {
    const ask = (text: string) =>
      checkServer({ options: {}, call: async () => text } as unknown as RedisClient, {
        isSkipped: false,
        isStrict: false,
        warn: () => {},
      });

    expect(await refusalOf(ask('redis_version:6.0.16\r\n'))).toBe('SERVER_TOO_OLD');
    expect(await ask('redis_version:6.2.0\r\n')).toMatchObject({ version: '6.2.0', databaseType: 'redis' });
    expect(await ask('redis_version:7.2.4\r\nvalkey_version:8.0.1\r\n')).toMatchObject({
      databaseType: 'valkey',
    });
  });
});
