// A queue on a cluster of three masters. All keys of a queue share a slot, and the engine is on every master.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Queue, QueueEvents, Worker } from '../../src/index.ts';
import { libraryName } from '../../src/store/lua-source.ts';
import { startCluster, type TestCluster } from '../support/cluster.ts';
import { nextEvent } from '../support/eventually.ts';
import { hasNative } from '../support/leg.ts';

describe.runIf(hasNative)('on a cluster', () => {
  let cluster: TestCluster;

  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(async () => {
    await cluster.stop();
  });

  it('jobs of several queues run, each queue under a tag of its own', async () => {
    const names = ['orders', 'mails', 'videos', 'reports'];
    const ran: string[] = [];
    const open: { close(): Promise<unknown> }[] = [];
    for (const name of names) {
      const connection = cluster.connect();
      const queue = new Queue(name, { connection });
      const events = new QueueEvents(name, { connection });
      open.push(queue, events);
      expect(queue.qualifiedName).toBe(`bull:{${name}}`);
      await events.waitUntilReady();
      const worker = new Worker(name, async (job) => ran.push(`${name}:${job.data.n}`), { connection });
      open.push(worker);
      const job = await queue.add('x', { n: 1 });
      await job.waitUntilFinished(events, 20_000);
      expect(await queue.getJobCounts('completed')).toEqual({ completed: 1 });
    }
    expect(ran.sort()).toEqual(names.map((name) => `${name}:1`).sort());

    const client = cluster.connect();
    await client.ping();
    const keys = (await Promise.all(client.nodes('master').map((node) => node.keys('*')))).flat();
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) expect(key).toMatch(/^bull:\{(orders|mails|videos|reports)\}:/);
    for (const object of open.reverse()) await object.close();
  });

  it('every master has the library', async () => {
    const connection = cluster.connect();
    const queue = new Queue('loaded', { connection });
    await queue.add('x', {});
    for (const master of connection.nodes('master')) {
      const libraries = JSON.stringify(await master.call('FUNCTION', 'LIST', 'LIBRARYNAME', libraryName));
      expect(libraries).toContain(libraryName);
    }
    await queue.close();
  });

  it('a tag that the user chose is kept, and a compensation queue shares the slot of its queue', async () => {
    const connection = cluster.connect();
    const chosen = new Queue('q', { connection, prefix: '{mine}' });
    const orders = new Queue('orders:compensation', { connection });
    expect(chosen.qualifiedName).toBe('{mine}:q');
    expect(orders.qualifiedName).toBe('bull:{orders}:compensation');
    await chosen.add('x', {});
    await orders.add('undo', {});
    const worker = new Worker('orders:compensation', async () => 'undone', { connection });
    expect((await nextEvent(worker, 'completed'))[1]).toBe('undone');
    for (const object of [worker, orders, chosen]) await object.close();
  });
});
