// The validation contract of transactional groups, through the public API.

import { describe, expect, it } from 'vitest';
import type { Job, Processor, QueueEvents } from '../../../src/index.ts';
import { eventually, nextEvent } from '../../support/eventually.ts';
import { complete, fail, gate, useGroups } from './support.ts';

const groups = useGroups();
const { bundle } = groups;

async function listen(home: string): Promise<QueueEvents> {
  const events = bundle.events(home);
  await events.waitUntilReady();
  return events;
}

describe('creating', () => {
  it('VAL-01 a group is created with its jobs on different queues', async () => {
    const [payments, inventory, mails] = groups.names(3) as [string, string, string];
    const compensation = {
      charge: { name: 'refund', data: { orderId: '123' } },
      reserve: { name: 'release', data: { orderId: '123', sku: 'W-1' } },
    };
    const node = await groups.add({
      name: 'order-123',
      jobs: [
        { name: 'charge', queueName: payments, data: { orderId: '123', amount: 99.99 } },
        { name: 'reserve', queueName: inventory, data: { orderId: '123', sku: 'W-1' } },
        { name: 'notify', queueName: mails, data: { orderId: '123' } },
      ],
      compensation,
    });

    expect(node.groupId).toMatch(/^[0-9a-f-]{36}$/);
    expect(node.groupName).toBe('order-123');
    expect(node.jobs.map(({ name, queueName }) => [name, queueName])).toEqual([
      ['charge', payments],
      ['reserve', inventory],
      ['notify', mails],
    ]);
    const hash = await bundle.server.admin.hgetall(`bull:${payments}:groups:${node.groupId}`);
    expect(hash).toMatchObject({
      name: 'order-123',
      state: 'ACTIVE',
      totalJobs: '3',
      completedCount: '0',
      failedCount: '0',
      cancelledCount: '0',
    });
    expect(JSON.parse(hash.compensation!)).toEqual(compensation);
    expect(await bundle.server.admin.zscore(`bull:${payments}:groups`, node.groupId)).toBe(hash.createdAt);
    expect(await bundle.server.admin.hgetall(`bull:${payments}:groups:${node.groupId}:jobs`)).toEqual(
      Object.fromEntries(node.jobs.map((job) => [`bull:${job.queueName}:${job.id}`, 'pending'])),
    );
    for (const job of node.jobs) {
      const membership = { id: node.groupId, name: 'order-123' };
      expect(job.opts.group).toEqual(membership);
      const stored = await groups.queue(job.queueName).getJob(job.id!);
      expect(stored?.opts.group).toEqual(membership);
      expect(stored?.data).toEqual(job.data);
      expect(await stored?.getState()).toBe('waiting');
    }
  });

  it('VAL-02 an empty jobs array is refused and nothing is created', async () => {
    const [home] = groups.names(1) as [string];
    await expect(groups.add({ name: 'empty', queueName: home, jobs: [] })).rejects.toMatchObject({
      message: 'Group must contain at least one job',
    });
    expect(await groups.keyspace(home)).toEqual({});
  });

  it('VAL-03 a compensation key that matches no job is refused and nothing is created', async () => {
    const [home] = groups.names(1) as [string];
    await expect(
      groups.add({
        name: 'order',
        jobs: [{ name: 'charge', queueName: home }],
        compensation: { charge: { name: 'refund' }, reserve: { name: 'release' } },
      }),
    ).rejects.toMatchObject({ message: 'Compensation key "reserve" does not match any job name' });
    expect(await groups.keyspace(home)).toEqual({});
  });

  it('VAL-18 a job with opts.parent is refused and nothing is created', async () => {
    const [home, other] = groups.names(2) as [string, string];
    await expect(
      groups.add({
        name: 'order',
        jobs: [
          { name: 'plain', queueName: home },
          { name: 'child', queueName: other, opts: { parent: { id: '1', queue: `bull:${home}` } } },
        ],
      }),
    ).rejects.toMatchObject({ message: 'A job cannot belong to both a group and a flow' });
    expect(await groups.keyspace(home, other)).toEqual({});
  });
});

describe('completing', () => {
  it('VAL-04 a group completes when all jobs succeed', async () => {
    const names = groups.names(3);
    const events = await listen(names[0]!);
    const told = nextEvent(events, 'group:completed');
    for (const name of names) bundle.worker(name, async (job) => `${job.name} done`);
    const node = await groups.addPlain(names);

    const [payload] = await told;
    expect(payload).toEqual({ groupId: node.groupId, groupName: 'order' });
    expect(await groups.queue(names[0]!).getGroupState(node.groupId)).toMatchObject({
      state: 'COMPLETED',
      totalJobs: 3,
      completedCount: 3,
      failedCount: 0,
      cancelledCount: 0,
    });
    expect(await groups.eventNames(names[0]!)).toEqual(['group:completed']);
  });

  it('VAL-05 three workers that finish at once complete a group, told exactly once', async () => {
    const [name] = groups.names(1) as [string];
    // Many rounds, because it is a race that must not be lost once.
    for (let round = 0; round < 10; round++) {
      const go = gate();
      let running = 0;
      const all = gate();
      const handler: Processor = async () => {
        if (++running === 3) all.open();
        await go.opened;
      };
      const workers = [1, 2, 3].map(() => bundle.worker(name, handler));
      const node = await groups.addPlain([name, name, name]);
      await all.opened;
      go.open();
      expect((await groups.until(node, 'COMPLETED')).completedCount).toBe(3);
      expect(await groups.eventNames(name, node.groupId)).toEqual(['group:completed']);
      await Promise.all(workers.map((worker) => worker.close()));
    }
  });
});

describe('compensating', () => {
  it('VAL-06 a job that fails for good triggers compensation of its completed siblings', async () => {
    const [one, two, three] = groups.names(3) as [string, string, string];
    const events = await listen(one);
    const told = nextEvent(events, 'group:compensating');
    const isReady = gate();
    bundle.worker(one, async () => ({ charged: 1 }));
    bundle.worker(two, async () => ({ reserved: 2 }));
    let attempts = 0;
    bundle.worker(three, async () => {
      attempts++;
      await isReady.opened;
      throw new Error('no stock');
    });
    const node = await groups.addPlain([one, two, three], { opts: [undefined, undefined, { attempts: 2 }] });
    await eventually(async () =>
      expect((await groups.statuses(node)).slice(0, 2)).toEqual(['completed', 'completed']),
    );
    isReady.open();

    const [payload] = await told;
    const [a, b, c] = node.jobs as [Job, Job, Job];
    expect(payload).toEqual({
      groupId: node.groupId,
      groupName: 'order',
      failedJobId: c.id,
      reason: 'no stock',
    });
    expect(attempts).toBe(2);
    expect(await node.group.getState()).toMatchObject({
      state: 'COMPENSATING',
      completedCount: 2,
      failedCount: 1,
      reason: 'no stock',
      failedJobId: c.id,
    });
    for (const [member, value, i] of [
      [a, { charged: 1 }, 0],
      [b, { reserved: 2 }, 1],
    ] as const) {
      const [undo, ...more] = await groups.queue(`${member.queueName}:compensation`).getWaiting();
      expect(more).toEqual([]);
      expect(undo).toMatchObject({
        id: `${node.groupId}-${i}`,
        name: `undo-${member.name}`,
        data: {
          groupId: node.groupId,
          originalJobName: member.name,
          originalJobId: member.id,
          originalReturnValue: value,
          compensationData: { undoes: member.name },
        },
      });
    }
    expect(await groups.queue(`${three}:compensation`).getJobCountByTypes('waiting', 'delayed')).toBe(0);
    expect(await groups.eventNames(one)).toEqual(['group:compensating']);
  });

  it('VAL-07 a group whose first job fails is FAILED at once, without compensation', async () => {
    const names = groups.names(3);
    const events = await listen(names[0]!);
    const told = nextEvent(events, 'group:failed');
    const node = await groups.addPlain(names);
    bundle.worker(names[0]!, async () => {
      throw new Error('declined');
    });

    const [payload] = await told;
    expect(payload).toEqual({
      groupId: node.groupId,
      groupName: 'order',
      state: 'FAILED',
      compensationResults: [],
    });
    expect(await node.group.getState()).toMatchObject({
      state: 'FAILED',
      completedCount: 0,
      failedCount: 1,
      cancelledCount: 2,
    });
    expect(await groups.statuses(node)).toEqual(['failed', 'cancelled', 'cancelled']);
    for (const name of names) {
      expect(await groups.keyspace(`${name}:compensation`)).toEqual({});
    }
    for (const job of node.jobs.slice(1)) {
      expect(await groups.queue(job.queueName).getJob(job.id!)).toBeUndefined();
      expect(await groups.queue(job.queueName).getWaitingCount()).toBe(0);
    }
    expect(await groups.eventNames(names[0]!)).toEqual(['group:failed']);
  });

  it('VAL-08 compensation jobs run with retry, and the group is FAILED when all have succeeded', async () => {
    const [one, two] = groups.names(2) as [string, string];
    const events = await listen(one);
    const told = nextEvent(events, 'group:failed');
    const node = await groups.addPlain([one, two, one], {
      compensation: {
        a: { name: 'undo-a', opts: { attempts: 3, backoff: { type: 'fixed', delay: 1 } } },
        b: { name: 'undo-b' },
      },
    });
    await complete(await groups.claim(one));
    await complete(await groups.claim(two));
    await fail(await groups.claim(one));
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING' });

    const runs: string[] = [];
    const handler: Processor = async (job) => {
      runs.push(job.name);
      if (job.name === 'undo-a' && runs.filter((name) => name === 'undo-a').length === 1)
        throw new Error('not yet');
    };
    for (const name of [one, two]) bundle.worker(`${name}:compensation`, handler);

    const [payload] = await told;
    expect(payload).toEqual({
      groupId: node.groupId,
      groupName: 'order',
      state: 'FAILED',
      compensationResults: [
        {
          jobId: `${node.groupId}-0`,
          originalJobKey: `bull:${one}:${node.jobs[0]!.id}`,
          status: 'completed',
        },
        {
          jobId: `${node.groupId}-1`,
          originalJobKey: `bull:${two}:${node.jobs[1]!.id}`,
          status: 'completed',
        },
      ],
    });
    expect(runs.sort()).toEqual(['undo-a', 'undo-a', 'undo-b']);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
    expect(await groups.eventNames(one)).toEqual(['group:compensating', 'group:failed']);
  });

  it('VAL-09 a compensation that fails for good makes the group FAILED_COMPENSATION', async () => {
    const [name] = groups.names(1) as [string];
    const events = await listen(name);
    const told = nextEvent(events, 'group:failed');
    const node = await groups.addPlain([name, name], {
      compensation: { a: { name: 'undo-a', opts: { attempts: 2 } } },
    });
    await complete(await groups.claim(name));
    await fail(await groups.claim(name));
    let runs = 0;
    bundle.worker(`${name}:compensation`, async () => {
      throw new Error(`bank closed ${++runs}`);
    });

    const [payload] = await told;
    expect(payload).toEqual({
      groupId: node.groupId,
      groupName: 'order',
      state: 'FAILED_COMPENSATION',
      compensationResults: [
        {
          jobId: `${node.groupId}-0`,
          originalJobKey: `bull:${name}:${node.jobs[0]!.id}`,
          status: 'failed',
          failedReason: 'bank closed 2',
        },
      ],
    });
    expect(runs).toBe(2);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED_COMPENSATION' });
    expect(await groups.eventNames(name)).toEqual(['group:compensating', 'group:failed']);
  });

  it('VAL-16 a delayed job of a failed group is cancelled', async () => {
    const [one, two] = groups.names(2) as [string, string];
    const node = await groups.addPlain([one, two], { opts: [undefined, { delay: 60_000 }] });
    expect(await groups.queue(two).getDelayedCount()).toBe(1);
    await fail(await groups.claim(one));

    expect(await groups.queue(two).getDelayedCount()).toBe(0);
    expect(await groups.queue(two).getJob(node.jobs[1]!.id!)).toBeUndefined();
    expect(await groups.statuses(node)).toEqual(['failed', 'cancelled']);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', cancelledCount: 1 });
  });

  it('VAL-17 a prioritized job of a failed group is cancelled', async () => {
    const [one, two] = groups.names(2) as [string, string];
    const node = await groups.addPlain([one, two], { opts: [undefined, { priority: 5 }] });
    expect(await groups.queue(two).getPrioritizedCount()).toBe(1);
    await fail(await groups.claim(one));

    expect(await groups.queue(two).getPrioritizedCount()).toBe(0);
    expect(await groups.queue(two).getJob(node.jobs[1]!.id!)).toBeUndefined();
    expect(await groups.statuses(node)).toEqual(['failed', 'cancelled']);
  });

  it('VAL-19 a compensation job has the return value of the job it undoes', async () => {
    const [one, two] = groups.names(2) as [string, string];
    bundle.worker(one, async () => ({ transactionId: 'tx-456' }));
    const node = await groups.addPlain([one, two]);
    await eventually(async () => expect(await groups.statuses(node)).toEqual(['completed', 'pending']));
    await fail(await groups.claim(two));

    const [undo] = await groups.queue(`${one}:compensation`).getWaiting();
    expect(undo?.data.originalReturnValue).toEqual({ transactionId: 'tx-456' });
  });

  it('VAL-20 a job that runs while its group is compensated finishes, and changes nothing of the state', async () => {
    const [one, two, three] = groups.names(3) as [string, string, string];
    const go = gate();
    const isRunning = gate();
    let wasAborted = false;
    const worker = bundle.worker(two, async (_job, _token, signal) => {
      isRunning.open();
      await go.opened;
      wasAborted = signal?.aborted ?? false;
      return 'finished anyway';
    });
    const node = await groups.addPlain([one, two, three]);
    await complete(await groups.claim(one));
    await isRunning.opened;
    await fail(await groups.claim(three));
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING', cancelledCount: 0 });

    const completed = nextEvent(worker, 'completed');
    go.open();
    expect((await completed)[1]).toBe('finished anyway');
    expect(wasAborted).toBe(false);
    expect(await groups.statuses(node)).toEqual(['completed', 'completed', 'failed']);
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING', completedCount: 2 });
    expect(await node.jobs[1]!.getState()).toBe('completed');
    expect(await groups.eventNames(one)).toEqual(['group:compensating']);
  });
});

describe('cancelling', () => {
  it('VAL-10 cancelling a group with a completed job compensates it and takes out the rest', async () => {
    const names = groups.names(3);
    const node = await groups.addPlain(names, { opts: [undefined, undefined, { delay: 60_000 }] });
    await complete(await groups.claim(names[0]!), 'paid');
    await groups.queue(names[0]!).cancelGroup(node.groupId);

    expect(await groups.queue(names[1]!).getWaitingCount()).toBe(0);
    expect(await groups.queue(names[2]!).getDelayedCount()).toBe(0);
    expect(await groups.queue(`${names[0]}:compensation`).getWaitingCount()).toBe(1);
    expect(await node.group.getState()).toMatchObject({
      state: 'COMPENSATING',
      completedCount: 1,
      cancelledCount: 2,
      reason: 'cancelled',
    });
    expect(await groups.events(names[0]!)).toEqual([
      {
        event: 'group:compensating',
        groupId: node.groupId,
        groupName: 'order',
        failedJobId: '',
        reason: 'cancelled',
      },
    ]);
  });

  it('VAL-11 cancelling a group of which nothing has completed makes it FAILED', async () => {
    const names = groups.names(3);
    const node = await groups.addPlain(names);
    await groups.queue(names[0]!).cancelGroup(node.groupId);

    for (const name of names) {
      expect(await groups.queue(name).getWaitingCount()).toBe(0);
      expect(await groups.keyspace(`${name}:compensation`)).toEqual({});
    }
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', cancelledCount: 3 });
    expect(await groups.eventNames(names[0]!)).toEqual(['group:failed']);
  });

  it('VAL-12 a completed group cannot be cancelled', async () => {
    const [name] = groups.names(1) as [string];
    const node = await groups.addPlain([name]);
    await complete(await groups.claim(name));
    await expect(groups.queue(name).cancelGroup(node.groupId)).rejects.toMatchObject({
      name: 'InvalidGroupStateError',
      message: 'Cannot cancel a completed group',
    });
    expect(await node.group.getState()).toMatchObject({ state: 'COMPLETED' });
  });
});

describe('asking', () => {
  it('VAL-13 the state of a group with two completed jobs and an active one', async () => {
    const names = groups.names(3);
    const before = Date.now();
    const node = await groups.addPlain(names);
    await complete(await groups.claim(names[0]!));
    await complete(await groups.claim(names[1]!));
    await groups.claim(names[2]!);

    const state = await groups.queue(names[0]!).getGroupState(node.groupId);
    expect(state).toEqual({
      id: node.groupId,
      name: 'order',
      state: 'ACTIVE',
      createdAt: expect.any(Number),
      updatedAt: expect.any(Number),
      totalJobs: 3,
      completedCount: 2,
      failedCount: 0,
      cancelledCount: 0,
    });
    expect(state!.createdAt).toBeGreaterThanOrEqual(before);
    expect(state!.updatedAt).toBeGreaterThanOrEqual(state!.createdAt);
  });

  it('VAL-14 the state of a group that does not exist is null', async () => {
    const [name] = groups.names(1) as [string];
    expect(await groups.queue(name).getGroupState('nonexistent')).toBeNull();
  });

  it('VAL-15 the jobs of a group with their statuses', async () => {
    const names = groups.names(3);
    const node = await groups.addPlain(names);
    await complete(await groups.claim(names[0]!));
    await groups.claim(names[1]!);

    expect(await groups.queue(names[0]!).getGroupJobs(node.groupId)).toEqual(
      node.jobs.map((job, i) => ({
        jobId: job.id,
        jobKey: `bull:${names[i]}:${job.id}`,
        status: ['completed', 'active', 'pending'][i],
        queueName: names[i],
      })),
    );
  });
});
