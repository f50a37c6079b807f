// Sixty seconds of mixed faults: workers killed and frozen, the server killed, the link cut, reset, black-holed and
// robbed of replies, under three workers and a producer. What must hold is written in test/support/checker.ts. A run
// in which a kind of fault never happened is void.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Queue } from '../../src/index.ts';
import { whenIdle } from '../../src/testing/index.ts';
import { check } from '../support/checker.ts';
import {
  describeFaults,
  type FaultServer,
  randomFrom,
  seedOfRun,
  startFaultServer,
} from '../support/fault-server.ts';
import { type Child, type Note, Processes } from '../support/processes.ts';
import { LinkProxy } from '../support/proxy.ts';
import { report } from './report.ts';

const DURATION_MS = Number(process.env.YOKE_SOAK_SECONDS ?? 60) * 1000;
const LEASE_MS = 3000;
const STALL_INTERVAL_MS = 1000;
const CALL_TIMEOUT_MS = 1000;
// A session looks every half of the deadline whether a call is past it.
const UNNOTICED_MS = 1.5 * CALL_TIMEOUT_MS;
const WORKER = {
  lockDuration: LEASE_MS,
  stalledInterval: STALL_INTERVAL_MS,
  maxStalledCount: 1000,
  concurrency: 5,
  callTimeout: CALL_TIMEOUT_MS,
};
// After a fault has ended, somebody must start a job within lease and stall interval; the rest is for slow machines.
const RECOVERY_LIMIT_MS = LEASE_MS + STALL_INTERVAL_MS + 5000;

describeFaults('nemesis', () => {
  let server: FaultServer;
  let proxy: LinkProxy;
  let processes: Processes;

  beforeAll(async () => {
    server = await startFaultServer({ persistence: true });
    proxy = await LinkProxy.start(server.connection);
    processes = await Processes.start();
  });
  afterAll(async () => {
    await processes?.stop();
    await proxy?.stop();
    await server?.stop();
  });

  it(
    'nothing is lost, doubled or stuck under a minute of mixed faults',
    async () => {
      const seed = seedOfRun();
      const random = randomFrom(seed);
      const queue = new Queue('nemesis', { connection: server.connection });
      queue.on('error', () => {});
      const config = { connection: proxy.connection, queue: queue.name };
      const spawnWorker = () => processes.spawn('worker', { ...config, options: WORKER });
      const workers = [spawnWorker(), spawnWorker(), spawnWorker()];
      const options = { callTimeout: CALL_TIMEOUT_MS };
      const producer = processes.spawn('producer', {
        ...config,
        options,
        workMs: 15,
        perTick: 4,
        tickMs: 20,
      });
      await producer.heard('ready');
      await Promise.all(workers.map((worker) => worker.heard('start')));

      const some = (): number => Math.floor(random() * workers.length);
      const linkFault = async (
        kind: string,
        begin: () => void | Promise<void>,
        ms: number,
        unnoticedMs = 0,
      ) => {
        const now = process.hrtime.bigint();
        const fault = { kind, from: now, to: now, unnoticedMs };
        processes.faults.push(fault);
        await Promise.all([begin(), sleep(ms)]);
        proxy.heal();
        fault.to = process.hrtime.bigint();
      };
      const isWrite = ([name]: string[]) => /^(fcall|evalsha)$/i.test(name ?? '');
      const loseReply = (link: 'cut' | 'black-hole') =>
        proxy.loseReply(isWrite, { link, n: 1 + Math.floor(random() * 20) });
      const faults: Record<string, () => Promise<void>> = {
        kill: async () => {
          const index = some();
          await workers[index]!.kill();
          workers[index] = spawnWorker();
        },
        freeze: async () => {
          const worker = workers[some()]!;
          worker.freeze();
          await sleep(2 * LEASE_MS);
          worker.thaw();
        },
        'server killed': async () => {
          const fault = { kind: 'server killed', from: process.hrtime.bigint(), to: process.hrtime.bigint() };
          processes.faults.push(fault);
          await server.kill();
          await sleep(300 + random() * 1500);
          await server.start();
          fault.to = process.hrtime.bigint();
        },
        'link cut': () => linkFault('link cut', () => proxy.cut(), 0),
        'link reset': () => linkFault('link reset', () => proxy.reset(), 0),
        'link refused': () => linkFault('link refused', () => proxy.refuse(), 300 + random() * 1500),
        'link black-holed': () =>
          linkFault('link black-holed', () => proxy.blackHole(), 300 + random() * 2500, UNNOTICED_MS),
        'link slow': () => linkFault('link slow', () => proxy.delay(50), 1000),
        'reply lost, cut': () => linkFault('reply lost, cut', () => loseReply('cut'), 100),
        'reply lost, black hole': () =>
          linkFault('reply lost, black hole', () => loseReply('black-hole'), 100, UNNOTICED_MS),
        'clients killed': async () => {
          await linkFault('clients killed', () => {}, 0);
          await server.admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
        },
        'functions and scripts flushed': async () => {
          await linkFault('functions and scripts flushed', () => {}, 0);
          await server.admin.call('FUNCTION', 'FLUSH');
          await server.admin.call('SCRIPT', 'FLUSH');
        },
        'clients paused': async () => {
          await server.admin.call('CLIENT', 'PAUSE', '1500', 'ALL');
          await linkFault('clients paused', () => {}, 1500);
        },
      };

      const recoveries: number[] = [];
      const slowest: Record<string, number> = {};
      const end = performance.now() + DURATION_MS;
      const kinds = Object.keys(faults);
      // Every kind once in a random order, then again: no kind is left out by chance.
      for (let order: string[] = []; performance.now() < end; ) {
        if (order.length === 0)
          order = kinds
            .map((kind) => [random(), kind] as const)
            .sort()
            .map(([, kind]) => kind);
        const kind = order.pop()!;
        await faults[kind]!();
        const ms = await recoveryMs(workers);
        recoveries.push(ms);
        slowest[kind] = Math.max(ms, slowest[kind] ?? 0);
        await sleep(random() * 1500);
      }

      producer.command('stop');
      await producer.heard('produced', undefined, 150_000);
      await producer.close();
      const drainingFrom = performance.now();
      await whenIdle(queue, { timeoutMs: 60_000 });
      const drainMs = Math.round(performance.now() - drainingFrom);
      for (const worker of workers) await worker.close();
      const history = processes.history();
      const result = await check({
        queue,
        admin: server.admin,
        history,
        faults: processes.faults,
        leaseMs: LEASE_MS,
      });
      await queue.close();

      const byKind = Object.fromEntries(
        kinds.map((kind) => [kind, processes.faults.filter((fault) => fault.kind === kind).length]),
      );
      recoveries.sort((a, b) => a - b);
      report('Mixed faults', {
        seed,
        seconds: DURATION_MS / 1000,
        'jobs acknowledged': result.added,
        'adds refused or unknown': history.filter(({ op }) => op === 'refused').length,
        starts: result.starts,
        'violations of the invariants': result.violations.length,
        'first start after a fault, median (ms)': recoveries[Math.floor(recoveries.length / 2)],
        'first start after a fault, p99 (ms)': recoveries[Math.floor(recoveries.length * 0.99)],
        'first start after a fault, longest (ms)': recoveries.at(-1),
        'drained after the last add (ms)': drainMs,
      });
      report('Faults by kind', byKind);
      report('Longest time to a first start after each kind (ms)', slowest);
      report('Starts after the first of a job, by their excuse', result.restarts);

      expect(result.violations).toEqual([]);
      expect(result.added).toBeGreaterThan(1000);
      for (const [kind, count] of Object.entries(byKind))
        expect(count, `${kind} never happened: the run is void`).toBeGreaterThan(0);
      expect(recoveries.at(-1)).toBeLessThan(RECOVERY_LIMIT_MS);
    },
    DURATION_MS + 300_000,
  );

  async function recoveryMs(workers: readonly Child[]): Promise<number> {
    const from = process.hrtime.bigint();
    const isAfter = (note: Note) => note.at > from;
    await Promise.any(workers.map((worker) => worker.heard('start', isAfter, 60_000)));
    return Math.round(Number(process.hrtime.bigint() - from) / 1e6);
  }
});
