// Real processes that are killed and frozen, and a server that is killed and tampered with while they are busy.
// What must hold is written at the top of test/support/checker.ts.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Queue } from '../../src/index.ts';
import { whenIdle } from '../../src/testing/index.ts';
import { check, type Report } from '../support/checker.ts';
import {
  describeFaults,
  type FaultServer,
  randomFrom,
  seedOfRun,
  startFaultServer,
} from '../support/fault-server.ts';
import { type Child, Processes } from '../support/processes.ts';

// Long against the hiccups of a busy machine, short against the patience of whoever runs the tests.
const LEASE_MS = 4000;
const WORKER = {
  lockDuration: LEASE_MS,
  stalledInterval: 500,
  maxStalledCount: 100,
  concurrency: 5,
  callTimeout: 2000,
};

describeFaults('processes and the server', () => {
  let server: FaultServer;
  let processes: Processes;
  let queue: Queue;
  let queueCount = 0;

  beforeAll(async () => {
    server = await startFaultServer({ persistence: true });
    processes = await Processes.start();
  });
  afterEach(async () => {
    await processes.clear();
    await queue?.close();
  });
  afterAll(async () => {
    await processes?.stop();
    await server?.stop();
  });

  function newQueue(): Queue {
    queue = new Queue(`faults-${++queueCount}`, { connection: server.connection });
    queue.on('error', () => {});
    return queue;
  }

  function spawnWorker(options: object = {}): Child {
    return processes.spawn('worker', {
      connection: server.connection,
      queue: queue.name,
      options: { ...WORKER, ...options },
    });
  }

  function spawnProducer(config: object): Child {
    return processes.spawn('producer', {
      connection: server.connection,
      queue: queue.name,
      workMs: 20,
      ...config,
    });
  }

  /** Lets everybody finish and leave, and checks what happened. */
  async function finish(producer: Child, workers: readonly Child[]): Promise<Report> {
    await producer.heard('produced');
    await producer.close();
    await whenIdle(queue, { timeoutMs: 30_000 });
    for (const worker of workers) await worker.close();
    return check({
      queue,
      admin: server.admin,
      history: processes.history(),
      faults: processes.faults,
      leaseMs: LEASE_MS,
    });
  }

  async function outage<T>(kind: string, during: () => Promise<T>): Promise<T> {
    const fault = { kind, from: process.hrtime.bigint(), to: 0n };
    processes.faults.push(fault);
    const result = await during();
    fault.to = process.hrtime.bigint();
    return result;
  }

  it('workers killed at random points lose nothing, and their jobs run elsewhere', async () => {
    const random = randomFrom(seedOfRun());
    newQueue();
    const workers = [spawnWorker(), spawnWorker(), spawnWorker()];
    await Promise.all(
      workers.map((worker) => worker.heard('start', undefined, 1).catch(() => worker.heard('ready'))),
    );
    const producer = spawnProducer({ total: 600 });
    await producer.heard('ready');

    for (let kills = 0; kills < 6; kills++) {
      // The point at which the kill hits is what is random here.
      await sleep(150 + random() * 350);
      const index = Math.floor(random() * workers.length);
      await workers[index]!.kill();
      workers[index] = spawnWorker();
    }
    const report = await finish(producer, workers);

    expect(report.violations).toEqual([]);
    expect(report.added).toBe(600);
    expect(report.restarts.kill).toBeGreaterThan(0);
  });

  it('a worker frozen for twice its lease finds its lease lost, and its late finish is refused', async () => {
    const leaseMs = 1000;
    newQueue();
    const frozen = spawnWorker({ lockDuration: leaseMs });
    await frozen.heard('ready');
    const { id } = await queue.add('work', { n: 1, ms: 10, untilAborted: true });
    await frozen.heard('start');

    frozen.freeze();
    const frozenAt = performance.now();
    const other = spawnWorker({ lockDuration: leaseMs });
    await other.heard('completed', (note) => note.job === id);
    // Twice the lease is the case to be shown, however soon the other one was done.
    await sleep(Math.max(0, 2 * leaseMs - (performance.now() - frozenAt)));
    frozen.thaw();

    expect(await frozen.heard('aborted')).toMatchObject({ job: id, key: 'LEASE_LOST' });
    await frozen.heard('end');
    const refusal = await frozen.heard('error', ({ key }) => String(key).startsWith('JOB_'));
    expect(['JOB_LOCK_MISMATCH', 'JOB_LOCK_NOT_EXIST', 'JOB_NOT_IN_STATE']).toContain(refusal.key);
    await frozen.close();
    await other.close();
    const report = await check({
      queue,
      admin: server.admin,
      history: processes.history(),
      faults: processes.faults,
      leaseMs,
    });
    expect(report.violations).toEqual([]);
    expect(report.starts).toBe(2);
    expect(report.restarts).toEqual({ freeze: 1 });
    expect((await queue.getJob(id!))?.stalledCounter).toBe(1);
  });

  it('a server killed and restarted while all are busy loses nothing that was acknowledged', async () => {
    newQueue();
    const workers = [spawnWorker(), spawnWorker()];
    const producer = spawnProducer({ total: 600 });
    await producer.heard('ready');
    await Promise.all(workers.map((worker) => worker.heard('start')));

    for (let kills = 0; kills < 2; kills++) {
      await outage('server killed', async () => {
        await server.kill();
        await server.start();
      });
      const isAfter = process.hrtime.bigint();
      await Promise.all(workers.map((worker) => worker.heard('start', ({ at }) => at > isAfter)));
    }
    const report = await finish(producer, workers);

    expect(report.violations).toEqual([]);
    expect(report.added).toBe(600);
  });

  it('clients killed and paused, functions and scripts flushed: nobody notices but in the time it takes', async () => {
    newQueue();
    const workers = [spawnWorker(), spawnWorker()];
    const producer = spawnProducer({ total: 500 });
    await producer.heard('ready');

    for (const command of [
      'CLIENT KILL TYPE normal',
      'FUNCTION FLUSH',
      'SCRIPT FLUSH',
      'CLIENT PAUSE 300 ALL',
      'CLIENT KILL TYPE normal',
    ]) {
      const before = process.hrtime.bigint();
      const [name, ...args] = command.split(' ');
      await server.admin.call(name!, ...args);
      await Promise.all(workers.map((worker) => worker.heard('start', ({ at }) => at > before)));
    }
    const report = await finish(producer, workers);

    expect(report.violations).toEqual([]);
    expect(report.added).toBe(500);
    expect(Object.keys(report.restarts)).toEqual(['failed attempt']);
  });
});
