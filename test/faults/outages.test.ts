// Servers and links that go away and come back: work goes on without anybody's help, health tells the truth, and
// nothing that is closed meanwhile hangs.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Queue, QueueEvents, Worker, type WorkerOptions } from '../../src/index.ts';
import { eventually, nextEvent } from '../support/eventually.ts';
import { describeFaults, type FaultServer, startFaultServer } from '../support/fault-server.ts';
import { LinkProxy } from '../support/proxy.ts';

// Deadlines that outages run into, short for the test's sake.
const SETTINGS = { callTimeout: 500 };
const OUTAGE_MS = 3000;

describeFaults('outages', () => {
  let server: FaultServer;
  let proxy: LinkProxy;
  let open: { close(): Promise<unknown> }[] = [];
  let count = 0;

  beforeAll(async () => {
    server = await startFaultServer({ persistence: true });
  });
  afterEach(async () => {
    proxy?.heal();
    for (const one of open.reverse()) await one.close();
    open = [];
    await proxy?.stop();
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

  async function setup(worker: WorkerOptions = {}, handler: () => Promise<unknown> = async () => 'done') {
    proxy = await LinkProxy.start(server.connection);
    const name = `outage-${++count}`;
    const direct = track(new Queue(name, { connection: server.connection }));
    const far = { connection: proxy.connection, ...SETTINGS };
    const made = track(new Worker(name, handler, { ...far, ...worker }));
    await made.waitUntilReady();
    return { name, direct, worker: made, far };
  }

  it('a worker idle while the server was gone takes the first job after it', async () => {
    const { direct, worker } = await setup({ connection: server.connection, drainDelay: 60 });
    await eventually(() => expect(worker.health().isHealthy).toBe(true));

    await server.kill();
    // The length of the outage is the case to be shown.
    await sleep(OUTAGE_MS);
    await server.start();
    const backAt = performance.now();
    const completed = nextEvent(worker, 'completed');
    await direct.add('work', {});
    await completed;

    // Far below the hour-long sleeps of the wedged; the soak is strict about it.
    expect(performance.now() - backAt).toBeLessThan(10_000);
  });

  it('a worker idle behind a black hole takes the first job after it', async () => {
    const { direct, worker } = await setup({ drainDelay: 1 });
    await eventually(() => expect(worker.health().isHealthy).toBe(true));

    proxy.blackHole();
    // Long enough for connections to be dropped and to be stuck in their greeting again.
    await sleep(OUTAGE_MS);
    const completed = nextEvent(worker, 'completed');
    await direct.add('work', {});
    proxy.heal();

    await completed;
  });

  it('a reset link is replaced while a job runs, and its finish arrives', async () => {
    let release = () => {};
    const running = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { direct, worker } = await setup({}, () => running);
    const active = nextEvent(worker, 'active');
    const { id } = await direct.add('work', {});
    await active;

    proxy.reset();
    const completed = nextEvent(worker, 'completed');
    release();
    await completed;

    expect(await direct.getJob(id!)).toMatchObject({
      attemptsStarted: 1,
      attemptsMade: 1,
      stalledCounter: 0,
    });
  });

  it('a worker is unhealthy during an outage and healthy after it', async () => {
    const { worker } = await setup();
    await eventually(() => expect(worker.health().isHealthy).toBe(true));

    proxy.refuse();
    // Sooner than by the silence of its polls alone, which is told after ten seconds.
    await eventually(
      () => expect(worker.health()).toMatchObject({ isHealthy: false, isRunning: true }),
      8000,
    );
    proxy.heal();

    await eventually(() => expect(worker.health().isHealthy).toBe(true));
  });

  it('an event reader misses nothing that happened while its link was down', async () => {
    const { name, direct, far } = await setup();
    const events = track(new QueueEvents(name, { ...far, blockingTimeout: 1000 }));
    await events.waitUntilReady();
    const heard: string[] = [];
    events.on('waiting', ({ jobId }) => heard.push(jobId));
    const before = await direct.add('work', {});
    await eventually(() => expect(heard).toEqual([before.id]));

    proxy.blackHole();
    const during = await direct.add('work', {});
    proxy.heal();
    const after = await direct.add('work', {});

    await eventually(() => expect(heard).toEqual([before.id, during.id, after.id]));
  });

  for (const link of ['refuses', 'swallows everything'] as const) {
    const breakLink = () => (link === 'refuses' ? proxy.refuse() : proxy.blackHole());

    it(`close of queue, worker and events returns while the link ${link}`, async () => {
      const { name, worker, far } = await setup();
      const queue = track(new Queue(name, far));
      const events = track(new QueueEvents(name, far));
      await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);
      breakLink();
      const adding = queue.add('work', {}).catch((error) => error);

      await Promise.all([worker.close(), queue.close(), events.close()]);

      // What could not be sent is not left hanging.
      expect(await adding).toBeInstanceOf(Error);
    }, 15_000);

    it(`close of a worker with a finish on its way returns while the link ${link}`, async () => {
      let release = () => {};
      const running = new Promise<void>((resolve) => {
        release = resolve;
      });
      const { direct, worker } = await setup({ shutdownTimeout: 500 }, () => running);
      const active = nextEvent(worker, 'active');
      await direct.add('work', {});
      await active;
      breakLink();
      release();

      await worker.close();
    }, 15_000);
  }

  it('close returns for objects that never reached a server', async () => {
    proxy = await LinkProxy.start(server.connection);
    proxy.refuse();
    const far = { connection: proxy.connection, ...SETTINGS };
    const queue = track(new Queue('unreached', far));
    const worker = track(new Worker('unreached', async () => {}, far));
    const events = track(new QueueEvents('unreached', far));
    const adding = queue.add('work', {}).catch((error) => error);

    await Promise.all([queue.close(), worker.close(), events.close()]);

    expect(await adding).toBeInstanceOf(Error);
  }, 15_000);
});
