// The end of a worker: running jobs finish; what does not finish in time goes back to the queue and runs elsewhere at
// once, with no attempt and no stall charged.

import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Queue, Worker } from '../../src/index.ts';
import { whenIdle } from '../../src/testing/index.ts';
import { check } from '../support/checker.ts';
import { nextEvent } from '../support/eventually.ts';
import { describeFaults, type FaultServer, startFaultServer } from '../support/fault-server.ts';
import { Processes } from '../support/processes.ts';
import { LinkProxy } from '../support/proxy.ts';

describeFaults('closing', () => {
  let server: FaultServer;
  let queue: Queue;
  let open: { close(): Promise<unknown> }[] = [];
  let count = 0;

  beforeAll(async () => {
    server = await startFaultServer();
  });
  afterEach(async () => {
    for (const one of open.reverse()) await one.close();
    open = [];
  });
  afterAll(async () => {
    await server?.stop();
  });

  function track<T extends { close(): Promise<unknown>; on(event: 'error', listener: () => void): unknown }>(
    one: T,
  ): T {
    one.on('error', () => {});
    open.push(one);
    return one;
  }

  function newQueue(): Queue {
    queue = track(new Queue(`closing-${++count}`, { connection: server.connection }));
    return queue;
  }

  it('close waits for running jobs and takes no new ones', async () => {
    newQueue();
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const worker = track(
      new Worker(
        queue.name,
        async (job) => {
          await released;
          return job.data.n;
        },
        { connection: server.connection, concurrency: 2 },
      ),
    );
    const active = nextEvent(worker, 'active');
    await queue.addBulk([1, 2, 3, 4].map((n) => ({ name: 'work', data: { n } })));
    await active;
    const startedCount = worker.getCurrentJobs().length;

    const closing = worker.close();
    release();
    await closing;

    expect(await queue.getJobCounts('completed', 'active', 'waiting')).toEqual({
      completed: startedCount,
      active: 0,
      waiting: 4 - startedCount,
    });
  });

  it('jobs over the shutdown time are aborted and handed back, and run elsewhere with nothing charged', async () => {
    newQueue();
    const reasons: unknown[] = [];
    const stuck = track(
      new Worker(
        queue.name,
        (_job, _token, signal) =>
          new Promise(() => signal?.addEventListener('abort', () => reasons.push(signal.reason))),
        {
          connection: server.connection,
          shutdownTimeout: 100,
        },
      ),
    );
    const active = nextEvent(stuck, 'active');
    const { id } = await queue.add('work', { n: 1 });
    await active;

    await stuck.close();
    expect(reasons).toMatchObject([{ key: 'SHUTDOWN_ABORT' }]);
    expect(await queue.getJobState(id!)).toBe('waiting');
    track(new Worker(queue.name, async () => ({ n: 1 }), { connection: server.connection }));
    await whenIdle(queue);

    expect(await queue.getJob(id!)).toMatchObject({
      attemptsMade: 1,
      stalledCounter: 0,
      returnvalue: { n: 1 },
    });
  });

  it('jobs that a fetch brings while the worker closes are handed back', async () => {
    newQueue();
    const proxy = await LinkProxy.start(server.connection);
    const starts: string[] = [];
    const worker = track(
      new Worker(queue.name, async (job) => starts.push(job.id!), { connection: proxy.connection }),
    );
    await nextEvent(worker, 'drained');
    // The reply is on its way for longer than it takes to call close. Nothing rides on a link that is the user's.
    proxy.delay(200);
    const producer = track(new Queue(queue.name, { connection: server.admin }));
    const { id } = await producer.add('work', {});
    const isTaken = async () => (await queue.getJobState(id!)) === 'active';
    while (!(await isTaken())) await new Promise((resolve) => setTimeout(resolve, 5));

    await worker.close();

    expect(starts).toEqual([]);
    expect(await queue.getJobState(id!)).toBe('waiting');
    expect(await queue.getJob(id!)).toMatchObject({ attemptsMade: 0, stalledCounter: 0 });
    await proxy.stop();
  });

  it('a worker whose handler moved its job itself takes the next one', async () => {
    newQueue();
    const second = new Promise<string>((resolve) => {
      track(
        new Worker(
          queue.name,
          async (job, token) => {
            if (job.data.n === 2) resolve(job.id!);
            else {
              await job.moveToDelayed(Date.now() + 60_000, token);
              const { DelayedError } = await import('../../src/index.ts');
              throw new DelayedError();
            }
          },
          { connection: server.connection },
        ),
      );
    });
    await queue.addBulk([1, 2].map((n) => ({ name: 'work', data: { n } })));

    await second;
  });

  it('a closed process has nothing left that keeps it alive, and what it left undone runs in another', async () => {
    newQueue();
    const processes = await Processes.start();
    try {
      const config = { connection: server.connection, queue: queue.name };
      const first = processes.spawn('worker', { ...config, options: { shutdownTimeout: 200 } });
      const { id } = await queue.add('work', { n: 1, firstMs: 2000, ms: 0 });
      await first.heard('start');
      const second = processes.spawn('worker', config);
      await second.heard('ready');

      await first.close();
      await second.heard('completed', (note) => note.job === id);
      await second.close();

      const report = await check({
        queue,
        admin: server.admin,
        history: processes.history(),
        faults: [],
        leaseMs: 30_000,
      });
      expect(report.violations).toEqual([]);
      expect(report.restarts).toEqual({ 'handed back': 1 });
    } finally {
      await processes.stop();
    }
  });
});
