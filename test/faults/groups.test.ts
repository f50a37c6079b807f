// Groups where it breaks: replies that are lost, workers that are killed with their finish on the wire or wake up
// too late, a server that is full or dies. A member's finish and its group are one transition, so there is never one
// without the other.

import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import {
  FlowProducer,
  type GroupNode,
  type GroupOptions,
  type GroupState,
  Queue,
  Worker,
} from '../../src/index.ts';
import { addGroupsCall, cancelGroupCall, exchangeCall } from '../../src/store/generated/engine.ts';
import { type EngineCall, functionName, scriptFor } from '../../src/store/lua-source.ts';
import { eventually } from '../support/eventually.ts';
import { describeFaults, type FaultServer, startFaultServer } from '../support/fault-server.ts';
import { snapshot } from '../support/keyspace.ts';
import { type Child, Processes } from '../support/processes.ts';
import { type CommandTest, LinkProxy } from '../support/proxy.ts';

/** This call, as a function or as a script, with such an argument. */
function isCall(call: EngineCall, test: (args: string[]) => boolean = () => true): CommandTest {
  const names = new Set([functionName(call), scriptFor(call, true).sha, scriptFor(call, true).source]);
  return ([, name, ...args]) => names.has(name ?? '') && test(args);
}

// An item without its usual arguments has a dash behind its verb.
const isFinish = (verb: string) =>
  isCall(exchangeCall, (args) => args.includes(verb) || args.includes(`${verb}-`));
const LEASE_MS = 1000;
const links = ['cut', 'black-hole'] as const;

describeFaults('groups', () => {
  let server: FaultServer;
  let processes: Processes;
  let proxy: LinkProxy;
  let producer: FlowProducer;
  let open: { close(): Promise<unknown> }[] = [];
  let count = 0;

  beforeAll(async () => {
    server = await startFaultServer({ persistence: true });
    processes = await Processes.start();
  });
  afterEach(async () => {
    await processes.clear();
    for (const one of open.reverse()) await one.close();
    open = [];
    await proxy?.stop();
  });
  afterAll(async () => {
    await processes?.stop();
    await server?.stop();
  });

  function track<T extends { close(): Promise<unknown>; on(event: 'error', listener: () => void): unknown }>(
    object: T,
  ): T {
    object.on('error', () => {});
    open.push(object);
    return object;
  }

  async function setup(): Promise<{ home: string; other: string }> {
    proxy = await LinkProxy.start(server.connection);
    producer = track(new FlowProducer({ connection: server.connection }));
    count++;
    return { home: `faulty-home-${count}`, other: `faulty-other-${count}` };
  }

  const direct = (name: string): Queue => track(new Queue(name, { connection: server.connection }));

  function groupOf(queues: readonly string[], more: Partial<GroupOptions> = {}): GroupOptions {
    const jobs = queues.map((queueName, n) => ({ name: `job${n}`, queueName, data: { n } }));
    const compensation = Object.fromEntries(
      jobs.map(({ name }) => [name, { name: `undo-${name}`, opts: { attempts: 1 } }]),
    );
    return { name: 'order', jobs, compensation, ...more };
  }

  async function events(home: string): Promise<string[]> {
    const rows = await server.admin.xrange(`bull:${home}:events`, '-', '+');
    return rows.map(([, fields]) => fields[1]!).filter((event) => event.startsWith('group:'));
  }

  const statuses = async ({ group }: GroupNode): Promise<string[]> =>
    (await group.getJobs()).map(({ status }) => status);

  const until = ({ group }: GroupNode, state: string): Promise<GroupState> =>
    eventually(async () => {
      const now = await group.getState();
      expect(now?.state).toBe(state);
      return now!;
    });

  function undo(name: string): { runs: string[] } {
    const runs: string[] = [];
    const handler = async (job: { data: { originalJobName: string } }) => {
      runs.push(job.data.originalJobName);
    };
    track(new Worker(`${name}:compensation`, handler, { connection: server.connection }));
    return { runs };
  }

  function spawnWorker(queue: string, options: object = {}, connection: object = server.connection): Child {
    const own = { lockDuration: LEASE_MS, stalledInterval: 200, maxStalledCount: 10, callTimeout: 1000 };
    return processes.spawn('worker', { connection, queue, options: { ...own, ...options } });
  }

  for (const link of links) {
    it(`addGroup whose reply is lost and its link ${link}: one group, and the promise resolves`, async () => {
      const { home, other } = await setup();
      const distant = track(new FlowProducer({ connection: proxy.connection, callTimeout: 300 }));
      await distant.waitUntilReady();
      const lost = proxy.loseReply(isCall(addGroupsCall), { link });
      const node = await distant.addGroup(groupOf([home, other]));
      await lost;

      expect(node.jobs.map(({ name }) => name)).toEqual(['job0', 'job1']);
      for (const name of [home, other]) expect(await direct(name).getWaitingCount()).toBe(1);
      const queue = direct(home);
      expect(await queue.getGroupCounts()).toMatchObject({ ACTIVE: 1 });
      expect(await queue.getGroupJobs(node.groupId)).toMatchObject(
        node.jobs.map(({ id, queueName }) => ({ jobId: id, queueName, status: 'pending' })),
      );
    });

    it(`the last finish whose reply is lost and its link ${link}: the group completes, once`, async () => {
      const { home } = await setup();
      const completed: unknown[] = [];
      const worker = track(
        new Worker(home, async () => 'done', {
          connection: proxy.connection,
          callTimeout: 300,
          lockDuration: 10_000,
        }),
      );
      worker.on('completed', (job) => completed.push(job.id));
      await worker.waitUntilReady();
      const lost = proxy.loseReply(isFinish('complete'), { link });
      const node = await producer.addGroup(groupOf([home]));
      await lost;

      await until(node, 'COMPLETED');
      await eventually(() => expect(completed).toEqual([node.jobs[0]!.id]));
      expect(await node.group.getState()).toMatchObject({ completedCount: 1 });
      expect(await events(home)).toEqual(['group:completed']);
    });

    it(`a failure whose reply is lost and its link ${link}: one compensation cycle`, async () => {
      const { home, other } = await setup();
      const node = await producer.addGroup(groupOf([other, home], { queueName: home }));
      const first = track(new Worker(other, async () => 'paid', { connection: server.connection }));
      await eventually(async () => expect(await statuses(node)).toEqual(['completed', 'pending']));
      await first.close();
      const failing = new Worker(
        home,
        async () => {
          throw new Error('broken');
        },
        { connection: proxy.connection, callTimeout: 300, lockDuration: 10_000 },
      );
      const lost = proxy.loseReply(isFinish('fail'), { link });
      track(failing);
      await lost;
      const { runs } = undo(other);
      await until(node, 'FAILED');
      expect(runs).toEqual(['job0']);
      expect(await node.group.getState()).toMatchObject({ completedCount: 1, failedCount: 1 });
      expect(await events(home)).toEqual(['group:compensating', 'group:failed']);
    });

    it(`cancelGroup whose reply is lost and its link ${link}: cancelled once, and the promise resolves`, async () => {
      const { home, other } = await setup();
      const node = await producer.addGroup(groupOf([home, other]));
      const worker = track(new Worker(home, async () => 'paid', { connection: server.connection }));
      await eventually(async () => expect(await statuses(node)).toEqual(['completed', 'pending']));
      await worker.close();
      const distant = track(new Queue(home, { connection: proxy.connection, callTimeout: 300 }));
      await distant.waitUntilReady();
      const lost = proxy.loseReply(isCall(cancelGroupCall), { link });
      await distant.cancelGroup(node.groupId, 'customer left');
      await lost;
      expect(await node.group.getState()).toMatchObject({
        state: 'COMPENSATING',
        cancelledCount: 1,
        reason: 'customer left',
      });
      const { runs } = undo(home);
      await until(node, 'FAILED');
      expect(runs).toEqual(['job0']);
      expect(await events(home)).toEqual(['group:compensating', 'group:failed']);
    });

    it(`a compensation's finish whose reply is lost and its link ${link}: the group ends, once`, async () => {
      const { home } = await setup();
      const node = await producer.addGroup(groupOf([home, home]));
      const worker = track(
        new Worker(
          home,
          async (job) => {
            if (job.name === 'job1') throw new Error('broken');
          },
          { connection: server.connection },
        ),
      );
      await until(node, 'COMPENSATING');
      await worker.close();
      let runs = 0;
      const lost = proxy.loseReply(isFinish('complete'), { link });
      track(
        new Worker(`${home}:compensation`, async () => ++runs, {
          connection: proxy.connection,
          callTimeout: 300,
          lockDuration: 10_000,
        }),
      );
      await lost;
      await until(node, 'FAILED');
      expect(runs).toBe(1);
      expect(await events(home)).toEqual(['group:compensating', 'group:failed']);
    });
  }

  it('a worker killed when its last finish has arrived: all of it happened', async () => {
    const { home } = await setup();
    const lost = proxy.loseReply(isFinish('complete'), { link: 'black-hole' });
    const doomed = spawnWorker(home, {}, proxy.connection);
    await doomed.heard('ready');
    const node = await producer.addGroup(groupOf([home]));
    await lost;
    await doomed.kill();

    expect(await node.group.getState()).toMatchObject({ state: 'COMPLETED', completedCount: 1 });
    expect(await node.jobs[0]!.getState()).toBe('completed');
    expect(await events(home)).toEqual(['group:completed']);
  });

  it('a worker killed when its failure has arrived: all of it happened, compensation is on its way', async () => {
    const { home, other } = await setup();
    const options = groupOf([other, home], { queueName: home });
    options.jobs[1]!.data = { n: 1, fails: 1 };
    const node = await producer.addGroup(options);
    const first = track(new Worker(other, async () => 'paid', { connection: server.connection }));
    await eventually(async () => expect(await statuses(node)).toEqual(['completed', 'pending']));
    await first.close();
    const lost = proxy.loseReply(isFinish('fail'), { link: 'black-hole' });
    const doomed = spawnWorker(home, {}, proxy.connection);
    await lost;
    await doomed.kill();

    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING', failedCount: 1 });
    expect(await direct(`${other}:compensation`).getWaitingCount()).toBe(1);
    const { runs } = undo(other);
    await until(node, 'FAILED');
    expect(runs).toEqual(['job0']);
    expect(await events(home)).toEqual(['group:compensating', 'group:failed']);
  });

  it('a worker killed when its finish was sent and has not arrived: nothing happened, and it runs elsewhere', async () => {
    const { home } = await setup();
    const doomed = spawnWorker(home, {}, proxy.connection);
    await doomed.heard('ready');
    const options = groupOf([home, home]);
    options.jobs[0]!.data = { n: 0, firstMs: 300 };
    const node = await producer.addGroup(options);
    await doomed.heard('start');
    proxy.blackHole();
    await doomed.heard('end');
    await doomed.kill();

    expect(await node.group.getState()).toMatchObject({ state: 'ACTIVE', completedCount: 0 });
    expect((await statuses(node))[0]).toBe('active');
    const survivor = spawnWorker(home);
    await survivor.heard('completed', ({ n }) => n === 0);
    await until(node, 'COMPLETED');
    expect(await events(home)).toEqual(['group:completed']);
  });

  it('workers killed as they hand in: never a finished member that its group does not know', async () => {
    const { home, other } = await setup();
    const nodes: GroupNode[] = [];
    for (let i = 0; i < 40; i++) {
      const options = groupOf([home, other, home], { groupId: `k${count}-${i}` });
      // Every fourth one fails.
      for (const job of options.jobs) job.data = { ms: 20 + i };
      if (i % 4 === 0) options.jobs[2]!.data.fails = 1;
      nodes.push(await producer.addGroup(options));
    }
    const undone = [home, other].map(undo);
    const queue = direct(home);
    for (let kills = 0; kills < 6; kills++) {
      const doomed = spawnWorker(kills % 2 ? other : home, { concurrency: 2 });
      await doomed.heard('end');
      await doomed.kill();
      expect((await queue.auditGroups()).findings).toEqual([]);
    }
    for (const name of [home, other]) spawnWorker(name, { concurrency: 4 });
    for (const node of nodes) {
      await eventually(async () =>
        expect(['COMPLETED', 'FAILED']).toContain((await node.group.getState())?.state),
      );
    }
    const expected: string[] = [];
    for (const [i, node] of nodes.entries()) {
      const { state } = (await node.group.getState())!;
      expect(state).toBe(i % 4 === 0 ? 'FAILED' : 'COMPLETED');
      const jobs = await node.group.getJobs();
      for (const [n, { status }] of jobs.entries()) {
        if (state === 'FAILED' && status === 'completed') expected.push(`job${n}`);
      }
    }
    expect(undone.flatMap(({ runs }) => runs).sort()).toEqual(expected.sort());
    const names = await events(home);
    expect(names.filter((event) => event === 'group:completed')).toHaveLength(30);
    expect(names.filter((event) => event === 'group:failed')).toHaveLength(10);
  });

  it.each(['completes', 'is undone'])(
    'a frozen worker whose lease is lost finishes for nobody, and the group %s once',
    async (how) => {
      const { home, other } = await setup();
      const frozen = spawnWorker(home);
      await frozen.heard('ready');
      const options = groupOf([home, other]);
      options.jobs[0]!.data = { n: 0, untilAborted: true };
      const node = await producer.addGroup(options);
      await frozen.heard('start');
      frozen.freeze();
      const rest = track(
        new Worker(
          other,
          async () => {
            if (how === 'is undone') throw new Error('broken');
          },
          { connection: server.connection },
        ),
      );
      await rest.waitUntilReady();
      if (how === 'is undone') await until(node, 'COMPENSATING');
      const survivor = spawnWorker(home);
      await survivor.heard('completed', ({ n }) => n === 0);
      const { runs } = undo(home);
      await until(node, how === 'completes' ? 'COMPLETED' : 'FAILED');
      frozen.thaw();
      await frozen.heard('aborted');
      await frozen.heard('end');
      await frozen.heard('error', ({ key }) => String(key).startsWith('JOB_'));

      expect(await node.group.getState()).toMatchObject({ completedCount: how === 'completes' ? 2 : 1 });
      expect(runs).toEqual(how === 'completes' ? [] : ['job0']);
      expect(await events(home)).toEqual(
        how === 'completes' ? ['group:completed'] : ['group:compensating', 'group:failed'],
      );
    },
  );

  it('a server that is full refuses a group whole; what has begun is finished and undone', async () => {
    const { home, other } = await setup();
    const node = await producer.addGroup(groupOf([home, other]));
    await direct(home).getJobCounts();
    const worker = track(
      new Worker(home, async () => 'paid', { connection: server.connection, autorun: false }),
    );
    const failing = track(
      new Worker(
        other,
        async () => {
          throw new Error('broken');
        },
        { connection: server.connection, autorun: false },
      ),
    );
    await Promise.all([worker.waitUntilReady(), failing.waitUntilReady()]);
    await server.admin.config('SET', 'maxmemory', '1mb');
    try {
      const before = await snapshot(server.admin, `bull:${home}:`);
      await expect(producer.addGroup(groupOf([home, other]))).rejects.toMatchObject({
        key: 'SERVER_OUT_OF_MEMORY',
      });
      expect(await snapshot(server.admin, `bull:${home}:`)).toEqual(before);
      void worker.run();
      await eventually(async () => expect((await statuses(node))[0]).toBe('completed'));
      void failing.run();
      await until(node, 'COMPENSATING');
      const { runs } = undo(home);
      await until(node, 'FAILED');
      expect(runs).toEqual(['job0']);
    } finally {
      await server.admin.config('SET', 'maxmemory', '0');
    }
  });

  it('a server that is killed and restarted has groups as they were', async () => {
    const { home, other } = await setup();
    const node = await producer.addGroup(groupOf([home, other]));
    const worker = track(new Worker(home, async () => 'paid', { connection: server.connection }));
    await eventually(async () => expect(await statuses(node)).toEqual(['completed', 'pending']));
    const before = await node.group.getState();
    await server.kill();
    await server.start();
    expect(await node.group.getState()).toEqual(before);
    await node.group.cancel();
    const { runs } = undo(home);
    await until(node, 'FAILED');
    expect(runs).toEqual(['job0']);
    expect(await events(home)).toEqual(['group:compensating', 'group:failed']);
    await worker.close();
  });
});
