// The nastiest fault of a network: the call ran, and its reply is lost. Adds, fetches and finishes each, with the
// link cut or black-holed behind it: the effect is there once, and nothing waits longer than a deadline.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Processor, Queue, Worker, type WorkerOptions } from '../../src/index.ts';
import {
  addManyCall,
  completeOneCall,
  exchangeCall,
  extendManyCall,
} from '../../src/store/generated/engine.ts';
import { type EngineCall, functionName, scriptFor } from '../../src/store/lua-source.ts';
import { whenIdle } from '../../src/testing/index.ts';
import { check } from '../support/checker.ts';
import { nextEvent } from '../support/eventually.ts';
import { describeFaults, type FaultServer, startFaultServer } from '../support/fault-server.ts';
import { leg } from '../support/leg.ts';
import { type CommandTest, LinkProxy } from '../support/proxy.ts';

/** This call, as a function or as a script, with such an argument. */
function isCall(call: EngineCall, test: (args: string[]) => boolean = () => true): CommandTest {
  const names = new Set([functionName(call), scriptFor(call, true).sha, scriptFor(call, true).source]);
  return ([, name, ...args]) => names.has(name ?? '') && test(args);
}

const isAdd = isCall(addManyCall);
// Without an item there is nothing but a fetch.
const isFetch = isCall(exchangeCall, (args) => !args.includes('complete-') && !args.includes('retry'));
const isComplete = isCall(exchangeCall, (args) => args.includes('complete-'));
const isCompleteOne = isCall(completeOneCall);
const isLoad: CommandTest = ([name, verb]) => /^function load$/i.test(`${name} ${verb}`);
const isRenewal = isCall(extendManyCall);
const isRetry = isCall(exchangeCall, (args) => args.includes('retry'));

const LEASE_MS = 10_000;
const SETTINGS = { callTimeout: 300 };

describeFaults('a lost reply', () => {
  let server: FaultServer;
  let proxy: LinkProxy;
  let queue: Queue;
  let direct: Queue;
  let worker: Worker | undefined;
  let count = 0;

  beforeAll(async () => {
    server = await startFaultServer();
  });
  afterEach(async () => {
    await worker?.close();
    worker = undefined;
    await queue?.close();
    await direct?.close();
    await proxy?.stop();
  });
  afterAll(async () => {
    await server?.stop();
  });

  async function setup(): Promise<void> {
    proxy = await LinkProxy.start(server.connection);
    const name = `lost-${++count}`;
    direct = new Queue(name, { connection: server.connection });
    queue = new Queue(name, { connection: proxy.connection, ...SETTINGS });
    queue.on('error', () => {});
    await queue.waitUntilReady();
  }

  function startWorker(handler: Processor, opts: WorkerOptions = {}): Worker {
    const own = { connection: proxy.connection, lockDuration: LEASE_MS, ...SETTINGS, ...opts };
    worker = new Worker(queue.name, handler, own);
    worker.on('error', () => {});
    return worker;
  }

  async function violations(): Promise<string[]> {
    await whenIdle(direct);
    const report = await check({
      queue: direct,
      admin: server.admin,
      history: [],
      faults: [],
      leaseMs: LEASE_MS,
    });
    return report.violations;
  }

  for (const link of ['cut', 'black-hole'] as const) {
    it(`an add whose reply is lost and its link ${link} is there once, and its promise resolves`, async () => {
      await setup();
      const lost = proxy.loseReply(isAdd, { link });

      const jobs = await Promise.all([queue.add('work', { n: 1 }), queue.add('work', { n: 2 })]);

      await lost;
      expect(await direct.getJobCounts('waiting')).toEqual({ waiting: 2 });
      for (const job of jobs) expect((await direct.getJob(job.id!))?.data).toEqual(job.data);
    });

    it(`a fetch whose reply is lost and its link ${link} delivers its jobs, once and without a stall`, async () => {
      await setup();
      await direct.addBulk([1, 2, 3].map((n) => ({ name: 'work', data: { n } })));
      const lost = proxy.loseReply(isFetch, { link });
      const started: number[] = [];
      startWorker(async (job) => {
        started.push(job.data.n);
        return { n: job.data.n };
      });

      await lost;
      expect(await violations()).toEqual([]);
      expect(started.sort()).toEqual([1, 2, 3]);
      for (const job of await direct.getCompleted()) {
        expect(job).toMatchObject({ attemptsStarted: 1, attemptsMade: 1, stalledCounter: 0 });
      }
    });

    it(`a fetch that rode with an add delivers its job once where its reply is lost and that link ${link}`, async () => {
      await setup();
      const started: number[] = [];
      const handle: Processor = async ({ data }) => {
        started.push(data.n);
        return { n: data.n };
      };
      startWorker(handle, { connection: server.connection });
      await nextEvent(worker!, 'drained');
      const lost = proxy.loseReply(isFetch, { link });
      await queue.add('work', { n: 1 });

      await lost;
      expect(await violations()).toEqual([]);
      expect(started).toEqual([1]);
      const [job] = await direct.getCompleted();
      expect(job).toMatchObject({ attemptsStarted: 1, attemptsMade: 1, stalledCounter: 0 });
    });

    it(`a finish whose reply is lost and its link ${link} counts once, and the worker hears that it was accepted`, async () => {
      await setup();
      const lost = proxy.loseReply(isComplete, { link });
      const completed: number[] = [];
      const failed: number[] = [];
      const starts: number[] = [];
      startWorker(async (job) => {
        starts.push(job.data.n);
        return { n: job.data.n };
      });
      worker!.on('completed', (job) => completed.push(job.data.n));
      worker!.on('failed', (job) => failed.push(job!.data.n));
      await direct.addBulk([1, 2, 3, 4].map((n) => ({ name: 'work', data: { n } })));

      await lost;
      expect(await violations()).toEqual([]);
      // The reply that was sent again brings the last of them.
      while (completed.length < 4) await nextEvent(worker!, 'completed');
      expect(starts.sort()).toEqual([1, 2, 3, 4]);
      expect(completed.sort()).toEqual([1, 2, 3, 4]);
      expect(failed).toEqual([]);
      for (const job of await direct.getCompleted())
        expect(job).toMatchObject({ attemptsMade: 1, attemptsStarted: 1 });
    });

    it(`a job that is completed by itself, its reply lost and its link ${link}, is completed once and before the next begins`, async () => {
      await setup();
      // Behind so many quick ones a worker takes jobs ahead, and most calls only finish.
      const jobCount = 1000;
      await direct.addBulk(Array.from({ length: jobCount }, (_, n) => ({ name: 'work', data: { n } })));
      const lost = proxy.loseReply(isCompleteOne, { link });
      const told: string[] = [];
      startWorker(
        async (job) => {
          told.push(`begins ${job.data.n}`);
          return { n: job.data.n };
        },
        { concurrency: 1 },
      );
      worker!.on('completed', (job) => told.push(`completed ${job.data.n}`));

      await lost;
      expect(await violations()).toEqual([]);
      while (told.length < 2 * jobCount) await nextEvent(worker!, 'completed');
      expect(told).toEqual(
        Array.from({ length: jobCount }, (_, n) => [`begins ${n}`, `completed ${n}`]).flat(),
      );
      for (const job of await direct.getCompleted())
        expect(job).toMatchObject({ attemptsMade: 1, attemptsStarted: 1 });
    });

    it(`a failed attempt whose reply is lost and its link ${link} is charged once`, async () => {
      await setup();
      const lost = proxy.loseReply(isRetry, { link });
      const attempts: number[] = [];
      startWorker(async (job) => {
        attempts.push(job.attemptsMade);
        if (job.attemptsMade < 2) throw new Error('on purpose');
        return { n: job.data.n };
      });
      await direct.add('work', { n: 1, fails: 2, attempts: 3 }, { attempts: 3 });

      await lost;
      expect(await violations()).toEqual([]);
      expect(attempts).toEqual([0, 1, 2]);
    });
  }

  it.each(['cut', 'black-hole'] as const)(
    'a worker that loses the reply to the load of the engine, and its link by a %s, works all the same',
    async (link) => {
      await setup();
      const lost = proxy.loseReply(isLoad, { link });
      startWorker(async (job) => ({ n: job.data.n }));
      const completed = nextEvent(worker!, 'completed');
      // Scripts are loaded by the calls themselves.
      if (leg !== 'scripts') await lost;
      await direct.add('work', { n: 1 });

      await completed;
      await worker!.waitUntilReady();
      expect(await violations()).toEqual([]);
    },
  );

  // Each of its two connections asks twice: the client library and the check of the server.
  it.each([1, 2, 3, 4])(
    'a worker whose link dies on question %i about the server works all the same',
    async (n) => {
      await setup();
      const lost = proxy.loseReply(([name]) => /^info$/i.test(name ?? ''), { link: 'black-hole', n });
      startWorker(async (job) => ({ n: job.data.n }));
      const completed = nextEvent(worker!, 'completed');
      await lost;
      await direct.add('work', { n: 1 });

      await completed;
      await worker!.waitUntilReady();
      expect(await violations()).toEqual([]);
    },
  );

  it('a fetch that is answered after its lease ran out starts nothing that runs elsewhere', async () => {
    await setup();
    const { id } = await direct.add('work', { n: 1 });
    const lost = proxy.loseReply(isFetch, { link: 'cut' });
    const late: string[] = [];
    const leaseMs = 1000;
    startWorker(
      async (job) => {
        late.push(job.id!);
        return { n: 1 };
      },
      { lockDuration: leaseMs, skipStalledCheck: true },
    );
    await lost;
    proxy.refuse();
    const other = new Worker(queue.name, async () => ({ n: 1 }), {
      connection: server.connection,
      stalledInterval: 200,
    });

    await nextEvent(other, 'completed');
    proxy.heal();
    // The late worker is back when it takes a new job.
    const next = await direct.add('work', { n: 2 });
    await other.close();
    await whenIdle(direct);

    expect(late.filter((one) => one === id)).toEqual([]);
    expect(await direct.getJobState(next.id!)).toBe('completed');
  });

  it('a late fetch whose renewal is answered too late as well starts nothing that runs elsewhere', async () => {
    await setup();
    const { id } = await direct.add('work', { n: 1 });
    const fetched = proxy.loseReply(isFetch, { link: 'black-hole' });
    const renewed = proxy.loseReply(isRenewal, { link: 'cut' });
    const late: string[] = [];
    // The deadline of the fetch is more than a quarter of the lease.
    startWorker(
      async (job) => {
        late.push(job.id!);
        return { n: job.data.n };
      },
      { lockDuration: 1000, skipStalledCheck: true },
    );
    await fetched;
    await renewed;
    proxy.refuse();
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const other = new Worker(
      queue.name,
      async (job) => {
        await released;
        return { n: job.data.n };
      },
      { connection: server.connection, stalledInterval: 200 },
    );
    await nextEvent(other, 'active');

    proxy.heal();
    // The other one is busy: this job is taken when the late worker is back.
    const next = await direct.add('work', { n: 2 });
    while (!late.includes(next.id!)) await nextEvent(worker!, 'active');
    release();
    await nextEvent(other, 'completed');
    await other.close();

    expect(late).toEqual([next.id]);
    expect(await direct.getJob(id!)).toMatchObject({ attemptsMade: 1, stalledCounter: 1 });
    expect(await violations()).toEqual([]);
  });

  it('jobs that arrive late start with a full lease', async () => {
    await setup();
    await direct.add('work', { n: 1 });
    const leaseMs = 6000;
    const lost = proxy.loseReply(isFetch, { link: 'cut' });
    const remaining = new Promise<number>((resolve) => {
      startWorker(
        async (job) => {
          resolve(await server.admin.pttl(`${queue.qualifiedName}:${job.id}:lock`));
          return { n: 1 };
        },
        { lockDuration: leaseMs },
      );
    });
    await lost;
    proxy.refuse();
    // The lease that the server gave has to run down before the late reply comes.
    await sleep(leaseMs / 3);
    proxy.heal();

    expect(await remaining).toBeGreaterThan((leaseMs * 2) / 3);
    expect(await violations()).toEqual([]);
  });
});
