// Groups whose members and compensations are finished, retried, removed and swept by BullMQ. A stock worker tells
// nobody, so the group hears of it from the upkeep of any Yoke worker.

import { describe, expect, it } from 'vitest';
import { FlowProducer, type GroupNode, type GroupOptions, type GroupState } from '../../src/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';
import { type Keyspace, snapshot } from '../support/keyspace.ts';
import { board } from './board.ts';
import { type Any, gate, type Library, useLibraries } from './libraries.ts';

const bundle = useBundle();
const { yoke, six, five } = useLibraries(bundle);

const TOKEN = 'by-hand';
const stocks = [{ stock: six }, { stock: five }];

const names = (count: number): string[] => Array.from({ length: count }, () => bundle.name());

/** One job per queue, a, b, c and so on, each with a compensation. */
function addGroup(queues: readonly string[], more: Partial<GroupOptions> = {}): Promise<GroupNode> {
  const producer = bundle.track(new FlowProducer({ connection: bundle.server.connection }));
  const jobs = queues.map((queueName, i) => ({ name: String.fromCharCode(97 + i), queueName, data: { i } }));
  const compensation = Object.fromEntries(
    jobs.map(({ name }) => [name, { name: `undo-${name}`, data: { undoes: name }, opts: { attempts: 1 } }]),
  );
  return producer.addGroup({ name: 'order', jobs, compensation, ...more });
}

/** A Yoke worker that runs nothing and looks after the queue's groups. */
function upkeep(name: string): void {
  void bundle.worker(name, null, { stalledInterval: 50 }).startStalledCheckTimer();
}

async function claim(name: string): Promise<Any> {
  const job = await bundle.worker(name, null, { lockDuration: 60_000 }).getNextJob(TOKEN, { block: false });
  if (!job) throw new Error(`nothing to fetch in ${name}`);
  return job;
}

const statuses = async ({ group }: GroupNode): Promise<string[]> =>
  (await group.getJobs()).map(({ status }) => status);

const until = ({ group }: GroupNode, state: string): Promise<GroupState> =>
  eventually(async () => {
    const now = await group.getState();
    expect(now?.state).toBe(state);
    return now!;
  });

async function eventNames(home: string): Promise<string[]> {
  const rows = await bundle.server.admin.xrange(`bull:${home}:events`, '-', '+');
  return rows.map(([, fields]) => fields[1]!).filter((event) => event.startsWith('group:'));
}

/** How stock tools reach `<name>:compensation`. */
const stockCompensation = (name: string, opts: object = {}) =>
  ['compensation', { prefix: `bull:${name}`, ...opts }] as const;

describe.each(stocks)('$stock.name', ({ stock }: { stock: Library }) => {
  const keeps = [
    ['without retention', {}],
    ['with retention', { removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } }],
  ] as const;

  it.each(keeps)('finishes all members, %s: the group completes, once', async (_how, opts) => {
    const queues = names(2);
    const node = await addGroup(queues);
    for (const name of queues) stock.worker(name, async () => 'done', opts);
    upkeep(queues[0]!);
    await until(node, 'COMPLETED');
    expect(await eventNames(queues[0]!)).toEqual(['group:completed']);
  });

  it.each(keeps)(
    'completes one member and fails another, %s: the completed one is undone',
    async (_how, opts) => {
      const queues = names(2);
      const node = await addGroup(queues);
      stock.worker(queues[0]!, async () => ({ transaction: 'tx-1' }), opts);
      await eventually(async () => expect(await node.jobs[0]!.getState()).toBe('completed'));
      stock.worker(
        queues[1]!,
        async () => {
          throw new Error('no stock');
        },
        opts,
      );
      upkeep(queues[1]!);

      expect(await until(node, 'COMPENSATING')).toMatchObject({
        reason: 'no stock',
        failedJobId: node.jobs[1]!.id,
        completedCount: 1,
        failedCount: 1,
      });
      const undo = await claim(`${queues[0]}:compensation`);
      expect(undo.data).toEqual({
        groupId: node.groupId,
        originalJobName: 'a',
        originalJobId: node.jobs[0]!.id,
        originalReturnValue: { transaction: 'tx-1' },
        compensationData: { undoes: 'a' },
      });
      await undo.moveToCompleted(null, TOKEN, false);
      expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
      expect(await eventNames(queues[0]!)).toEqual(['group:compensating', 'group:failed']);
    },
  );

  it.each(keeps)('finishes compensations as queue `compensation`, %s', async (_how, opts) => {
    const queues = names(3);
    const node = await addGroup(queues);
    for (const name of queues.slice(0, 2)) {
      await (await claim(name)).moveToCompleted(`${name} paid`, TOKEN, false);
    }
    await (await claim(queues[2]!)).moveToFailed(new Error('broken'), TOKEN);
    const seen: Any[] = [];
    for (const name of queues.slice(0, 2)) {
      const [queue, reached] = stockCompensation(name, opts);
      stock.worker(
        queue,
        async (job) => {
          seen.push([job.name, job.data.originalReturnValue, job.opts.attempts]);
          if (job.name === 'undo-b') throw new Error('bank closed');
        },
        reached,
      );
    }
    upkeep(queues[2]!);
    await until(node, 'FAILED_COMPENSATION');
    expect(seen.sort()).toEqual([
      ['undo-a', `${queues[0]} paid`, 1],
      ['undo-b', `${queues[1]} paid`, 1],
    ]);
    expect((await node.group.getJobs()).map(({ compensation }) => compensation?.status)).toEqual([
      'completed',
      'failed',
      undefined,
    ]);
    expect((await node.group.getJobs())[1]?.compensation?.failedReason).toBe('bank closed');
    expect(await eventNames(queues[0]!)).toEqual(['group:compensating', 'group:failed']);
  });

  it('trims members and compensations with other jobs before anybody looks: their ends are known all the same', async () => {
    const queues = names(2);
    const [name] = queues as [string];
    const node = await addGroup(queues);
    const opts = { removeOnComplete: { count: 1 }, removeOnFail: { count: 1 } };
    /** One job of the group, and two others that push it out. */
    const run = async (queue: Any, handler: (job: Any) => Promise<unknown>, more: object = {}) => {
      await queue.addBulk(['plain', 'plain'].map((job) => ({ name: job, data: {} })));
      const worker = stock.worker(queue.name, handler, { ...opts, ...more });
      await eventually(async () =>
        expect(await queue.getJobCounts('wait', 'active')).toEqual({ wait: 0, active: 0 }),
      );
      await worker.close();
    };
    await run(stock.queue(name), async () => ({ transaction: 1 }));
    expect(await yoke.queue(name).getJob(node.jobs[0]!.id)).toBeUndefined();
    await run(stock.queue(queues[1]!), async () => {
      throw new Error('no stock');
    });
    expect(await yoke.queue(queues[1]!).getJob(node.jobs[1]!.id)).toBeUndefined();
    expect((await yoke.queue(name).auditGroups()).findings).toMatchObject([
      { recorded: 'pending', found: 'completed' },
      { recorded: 'pending', found: 'failed' },
    ]);
    upkeep(name);
    expect(await until(node, 'COMPENSATING')).toMatchObject({ reason: 'no stock', completedCount: 1 });

    const [queue, reached] = stockCompensation(name);
    const seen: unknown[] = [];
    const handler = async (job: Any) => seen.push(job.data.originalReturnValue);
    await run(stock.queue(queue, reached), handler, reached);
    expect(seen[0]).toEqual({ transaction: 1 });
    await until(node, 'FAILED');
    expect(await eventNames(name)).toEqual(['group:compensating', 'group:failed']);
  });

  it('tries a compensation again as often as its options say', async () => {
    const queues = names(1);
    const [name] = queues as [string];
    const node = await addGroup([name, name], {
      compensation: { a: { name: 'undo-a', opts: { attempts: 3, backoff: { type: 'fixed', delay: 1 } } } },
    });
    await (await claim(name)).moveToCompleted(1, TOKEN, false);
    await (await claim(name)).moveToFailed(new Error('broken'), TOKEN);
    let runs = 0;
    stock.worker(
      ...([
        stockCompensation(name)[0],
        async () => {
          if (++runs < 3) throw new Error('not yet');
        },
        stockCompensation(name)[1],
      ] as const),
    );
    upkeep(name);
    await until(node, 'FAILED');
    expect(runs).toBe(3);
  });

  it('holds a member when the group fails: it finishes, and is undone', async () => {
    const queues = names(2);
    const node = await addGroup(queues);
    const held = gate();
    const worker = stock.worker(queues[0]!, async () => {
      await held.opened;
      return 'late';
    });
    await nextEvent(worker, 'active');
    await (await claim(queues[1]!)).moveToFailed(new Error('broken'), TOKEN);
    // Its status is pending, where it lies says that it runs.
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING', cancelledCount: 0 });
    upkeep(queues[1]!);
    held.open();
    await eventually(async () => expect(await statuses(node)).toEqual(['completed', 'failed']));
    const undo = await claim(`${queues[0]}:compensation`);
    expect(undo.data.originalReturnValue).toBe('late');
    await undo.moveToCompleted(null, TOKEN, false);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it('retries settled members: they do not run again, and lie where they lay', async () => {
    const [name, other] = names(2) as [string, string];
    const node = await addGroup([name, name, other]);
    await (await claim(name)).moveToCompleted('once', TOKEN, false);
    const peer = stock.queue(name);
    await (await peer.getJob(node.jobs[0]!.id)).retry('completed');
    expect(await node.jobs[0]!.getState()).toBe('waiting');
    const ran: string[] = [];
    yoke.worker(name, async (job) => {
      ran.push(job.name);
      throw new Error('broken');
    });
    await until(node, 'COMPENSATING');
    expect(ran).toEqual(['b']);
    await eventually(async () => expect(await node.jobs[0]!.getState()).toBe('completed'));
    expect(await node.group.getState()).toMatchObject({
      completedCount: 1,
      failedCount: 1,
      cancelledCount: 1,
    });

    await (await peer.getJob(node.jobs[1]!.id)).retry('failed');
    await eventually(async () => expect(await node.jobs[1]!.getState()).toBe('failed'));
    expect(ran).toEqual(['b']);
    expect(await statuses(node)).toEqual(['completed', 'failed', 'cancelled']);
    expect(await bundle.server.admin.llen(`bull:${name}:compensation:wait`)).toBe(1);
  });

  it('removes a pending member: the group is cancelled, and what has completed is undone', async () => {
    const queues = names(2);
    const node = await addGroup(queues);
    await (await claim(queues[0]!)).moveToCompleted('paid', TOKEN, false);
    await (await stock.queue(queues[1]!).getJob(node.jobs[1]!.id)).remove();
    upkeep(queues[0]!);
    expect(await until(node, 'COMPENSATING')).toMatchObject({ reason: 'member missing', cancelledCount: 1 });
    expect((await claim(`${queues[0]}:compensation`)).data.originalReturnValue).toBe('paid');
  });

  it('fails a marked member without running it, and upkeep erases what is left', async () => {
    const [name, home] = names(2) as [string, string];
    const producer = bundle.track(new FlowProducer({ connection: bundle.server.connection }));
    const jobs = Array.from({ length: 850 }, (_, i) => ({ name: 'member', queueName: name, data: { i } }));
    const node = await producer.addGroup({ name: 'long', queueName: home, jobs });
    const ran: string[] = [];
    const queue = yoke.queue(name);
    await queue.add('plain', {});
    await node.group.cancel();
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', cancelledCount: 850 });
    expect(await queue.getWaitingCount()).toBe(851);
    stock.worker(name, async (job) => ran.push(job.name), { concurrency: 50 });
    upkeep(name);
    await eventually(async () =>
      expect(await queue.getJobCounts('waiting', 'active', 'failed', 'completed')).toEqual({
        waiting: 0,
        active: 0,
        failed: 0,
        completed: 1,
      }),
    );
    expect(ran).toEqual(['plain']);
    expect(await eventNames(home)).toEqual(['group:failed']);
  });

  it('reads a member’s options and its events as those of any job', async () => {
    const [name] = names(1) as [string];
    const node = await addGroup([name], {
      jobs: [
        {
          name: 'a',
          queueName: name,
          data: { x: 1 },
          opts: { attempts: 4, removeOnComplete: true, priority: 3 },
        },
      ],
      compensation: {},
    });
    const job = await stock.queue(name).getJob(node.jobs[0]!.id);
    expect(job).toMatchObject({
      name: 'a',
      data: { x: 1 },
      priority: 3,
      opts: { attempts: 4, removeOnComplete: false },
    });
    const events = stock.events(name);
    await events.waitUntilReady();
    const told = nextEvent(events, 'group:completed');
    yoke.worker(name, async () => 'done');
    expect((await told)[0]).toMatchObject({ groupId: node.groupId, groupName: 'order' });
    // Ours does what the user asked for.
    expect(await stock.queue(name).getJob(job.id)).toBeUndefined();
  });
});

describe('the sweep of bullmq 6', () => {
  const everything = async (...queues: string[]): Promise<Keyspace> =>
    Object.assign(
      {},
      ...(await Promise.all(
        queues.map(async (name) =>
          Object.fromEntries(
            Object.entries(await snapshot(bundle.server.admin, `bull:${name}:`, { ignore: () => false })).map(
              ([key, value]) => [`${name}:${key}`, value],
            ),
          ),
        ),
      )),
    );

  /** Sweeps these queues, and the compensation queue of the last one; what is gone afterwards. */
  async function sweep(...queues: string[]): Promise<string[]> {
    const bearing = queues.at(-1)!;
    const sweepers = [...queues.map((name) => six.queue(name)), six.queue(...stockCompensation(bearing))];
    for (const queue of sweepers) await queue.waitUntilReady();
    for (const name of [...queues, `${bearing}:compensation`]) {
      await eventually(async () =>
        expect(await bundle.server.admin.hget(`bull:${name}:meta`, 'version')).toContain('bullmq'),
      );
    }
    const before = await everything(...queues);
    for (const queue of sweepers) await queue.removeOrphanedJobs();
    const after = await everything(...queues);
    expect(before).toMatchObject(after);
    return Object.keys(before).filter((key) => !(key in after));
  }

  it('loses nothing of open groups: a home, a member queue, a queue with compensations', async () => {
    const [home, member, bearing] = names(3) as [string, string, string];
    const active = await addGroup([member, bearing], { queueName: home });
    const done = await addGroup([home]);
    await (await claim(home)).moveToCompleted(1, TOKEN, false);
    const undone = await addGroup([bearing, member], { queueName: home, compensationOrder: 'reverse' });
    // `bearing` holds a member of each group; both complete.
    for (let i = 0; i < 2; i++) await (await claim(bearing)).moveToCompleted('paid', TOKEN, false);
    await undone.group.cancel();
    expect(await undone.group.getState()).toMatchObject({ state: 'COMPENSATING' });
    expect(await bundle.server.admin.llen(`bull:${bearing}:compensation:wait`)).toBe(1);
    const listed = (await yoke.queue(home).getGroups()).map(({ id }: GroupState) => id).sort();

    // The list of groups can be made again, from the records; nothing else may go.
    const gone = await sweep(home, member, bearing);
    expect(gone.filter((key) => key !== `${home}:groups`)).toEqual([]);

    upkeep(member);
    await eventually(async () =>
      expect((await yoke.queue(home).getGroups()).map(({ id }: GroupState) => id).sort()).toEqual(listed),
    );
    for (const name of [home, member, bearing, `${bearing}:compensation`])
      yoke.worker(name, async () => 'ok');
    await until(active, 'COMPLETED');
    await until(undone, 'FAILED');
    expect(await done.group.getState()).toMatchObject({ state: 'COMPLETED' });
    expect(await yoke.queue(home).getGroupCounts()).toMatchObject({ COMPLETED: 2, FAILED: 1 });
  });

  it('and a compensation that has failed can still be tried again', async () => {
    const [home, bearing] = names(2) as [string, string];
    const node = await addGroup([bearing, home], { queueName: home });
    await (await claim(bearing)).moveToCompleted('paid', TOKEN, false);
    await node.group.cancel();
    await (await claim(`${bearing}:compensation`)).moveToFailed(new Error('bank closed'), TOKEN);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED_COMPENSATION' });

    await sweep(home, bearing);
    expect(await yoke.queue(home).retryGroupCompensation(node.groupId)).toBe(1);
    const again = await claim(`${bearing}:compensation`);
    expect(again.data.originalReturnValue).toBe('paid');
    await again.moveToCompleted(null, TOKEN, false);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });
});

describe('bull-board', () => {
  it('lists, counts and retries the jobs of a compensation queue, by either library’s queue', async () => {
    const [name] = names(1) as [string];
    const node = await addGroup([name, name]);
    await (await claim(name)).moveToCompleted('paid', TOKEN, false);
    await (await claim(name)).moveToFailed(new Error('broken'), TOKEN);
    for (const queue of [yoke.queue(`${name}:compensation`), six.queue(...stockCompensation(name))]) {
      const ask = board(queue);
      const query = { activeQueue: queue.name, status: 'waiting', page: '1', jobsPerPage: '10' };
      const { body } = await ask('get', '/api/queues', { query });
      expect(body.queues[0].counts).toMatchObject({ waiting: 1 });
      expect(body.queues[0].jobs).toMatchObject([
        { id: `${node.groupId}-0`, name: 'undo-a', data: { originalReturnValue: 'paid' } },
      ]);
    }
    await (await claim(`${name}:compensation`)).moveToFailed(new Error('bank closed'), TOKEN);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED_COMPENSATION' });
    const undoing = yoke.queue(`${name}:compensation`);
    const ask = board(undoing);
    const path = `/api/queues/${encodeURIComponent(undoing.name)}/${node.groupId}-0/retry`;
    expect((await ask('put', path)).status).toBe(204);
    await (await claim(`${name}:compensation`)).moveToCompleted(null, TOKEN, false);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
    expect(await eventNames(name)).toEqual(['group:compensating', 'group:failed', 'group:recovered']);
  });

  it('is refused when it retries or removes a member', async () => {
    const [name] = names(1) as [string];
    const node = await addGroup([name, name]);
    await (await claim(name)).moveToCompleted('paid', TOKEN, false);
    const ask = board(yoke.queue(name));
    const job = (i: number, what: string) => `/api/queues/${name}/${node.jobs[i]!.id}/${what}`;
    await expect(ask('put', job(0, 'retry/completed'))).rejects.toThrow();
    await ask('put', job(1, 'clean')).catch(() => {});
    expect(await statuses(node)).toEqual(['completed', 'pending']);
    expect(await node.jobs[1]!.getState()).toBe('waiting');
  });
});
