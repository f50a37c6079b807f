// What depends on real time, by numbers: delayed jobs are never early and at most 50 ms late on an idle worker,
// whatever the clock of its machine says; a worker idle through half a minute without a server takes the first job
// within 2 s.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Queue } from '../../src/index.ts';
import { whenIdle } from '../../src/testing/index.ts';
import { describeFaults, type FaultServer, startFaultServer } from '../support/fault-server.ts';
import { Processes } from '../support/processes.ts';
import { Standstills } from '../support/standstill.ts';
import { report } from './report.ts';

const HOUR_MS = 3_600_000;
const OUTAGE_MS = 30_000;

describeFaults('timing', () => {
  let server: FaultServer;
  let processes: Processes;
  let queue: Queue;
  let count = 0;
  const standstills = new Standstills();

  beforeAll(async () => {
    server = await startFaultServer({ persistence: true });
    // What is timed here is the queue, not the disk.
    await server.admin.config('SET', 'appendfsync', 'everysec');
    processes = await Processes.start();
  });
  afterEach(async () => {
    await processes.clear();
    await queue?.close();
  });
  afterAll(async () => {
    standstills.stop();
    await processes?.stop();
    await server?.stop();
  });

  // The server's time of an instant on the monotonic clock is that plus this; the best of a few looks.
  async function serverOffsetMs(): Promise<number> {
    let best = { took: Number.POSITIVE_INFINITY, offset: 0 };
    for (let i = 0; i < 5; i++) {
      const before = Number(process.hrtime.bigint()) / 1e6;
      const [seconds, micros] = await server.admin.time();
      const took = Number(process.hrtime.bigint()) / 1e6 - before;
      const offset = Number(seconds) * 1000 + Number(micros) / 1000 - (before + took / 2);
      if (took < best.took) best = { took, offset };
    }
    return best.offset;
  }

  for (const [clock, skewMs] of [
    ['right', 0],
    ['an hour fast', HOUR_MS],
    ['an hour slow', -HOUR_MS],
  ] as const) {
    it(`a delayed job starts within 50 ms after its time and never before, on a worker whose clock is ${clock}`, async () => {
      queue = new Queue(`delays-${++count}`, { connection: server.connection });
      const config = { connection: server.connection, queue: queue.name };
      const worker = processes.spawn('worker', config, { skewMs });
      await worker.heard('ready');
      const lateness: number[] = [];
      let earliestMs = Number.POSITIVE_INFINITY;
      let stoodStillMs = 0;

      for (let i = 0; i < 20; i++) {
        const delay = 200 + ((i * 137) % 900);
        const { id } = await queue.add('work', { n: i }, { delay });
        const { at } = await worker.heard('start', (note) => note.job === id);
        await worker.heard('completed', (note) => note.job === id);
        const job = await queue.getJob(id!);
        const due = job!.timestamp + delay;
        expect(job!.processedOn!).toBeGreaterThanOrEqual(due);
        const startedAt = Number(at) / 1e6;
        const lateMs = startedAt + (await serverOffsetMs()) - due;
        earliestMs = Math.min(earliestMs, lateMs);
        // The machine's own standstills are nobody's delay.
        const stillMs = standstills.msWithin(startedAt - lateMs, startedAt);
        stoodStillMs += stillMs;
        lateness.push(Math.round((lateMs - stillMs) * 10) / 10);
      }
      await worker.close();
      lateness.sort((a, b) => a - b);
      report(`Delayed job, worker's clock ${clock}`, {
        jobs: lateness.length,
        'earliest (ms after its time)': Math.round(earliestMs * 10) / 10,
        median: lateness[Math.floor(lateness.length / 2)],
        'latest (ms)': lateness.at(-1),
        'the machine stood still meanwhile (ms, taken off)': Math.round(stoodStillMs),
      });

      expect(earliestMs).toBeGreaterThanOrEqual(0);
      expect(lateness.at(-1)).toBeLessThanOrEqual(50);
    }, 120_000);

    it(`a producer whose clock is ${clock} delays by the server's time`, async () => {
      queue = new Queue(`producer-${++count}`, { connection: server.connection });
      const producer = processes.spawn(
        'producer',
        { connection: server.connection, queue: queue.name, total: 20, first: 0 },
        { skewMs },
      );
      const worker = processes.spawn('worker', { connection: server.connection, queue: queue.name });
      await producer.heard('produced');
      await producer.close();
      await whenIdle(queue, { timeoutMs: 20_000 });
      await worker.close();

      const delayed = (await queue.getCompleted()).filter((job) => job.opts.delay === 50);
      expect(delayed.length).toBeGreaterThan(0);
      for (const job of delayed) expect(job.processedOn!).toBeGreaterThanOrEqual(job.timestamp + 50);
    }, 60_000);
  }

  it('a worker idle through 30 s without a server takes the first job within 2 s', async () => {
    queue = new Queue('outage', { connection: server.connection });
    queue.on('error', () => {});
    const worker = processes.spawn('worker', { connection: server.connection, queue: queue.name });
    await worker.heard('ready');

    await server.kill();
    // The length of the outage is the case to be shown.
    await sleep(OUTAGE_MS);
    await server.start();
    const backAt = performance.now();
    const { id } = await queue.add('work', { n: 1 });
    const addedAt = performance.now();
    await worker.heard('start', (note) => note.job === id);
    const took = Math.round(performance.now() - addedAt);
    report('First job after a 30 s outage', {
      'add resolved (ms after the server was back)': Math.round(addedAt - backAt),
      'started (ms after the add)': took,
    });
    await worker.close();

    expect(took).toBeLessThan(2000);
  }, 120_000);
});
