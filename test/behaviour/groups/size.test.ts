// Groups as large as they may be, and long queues: cancelling must not hold the server.

import { describe, expect, it } from 'vitest';
import type { GroupJobDefinition, Job } from '../../../src/index.ts';
import { eventually } from '../../support/eventually.ts';
import { complete, fail, undone, useGroups } from './support.ts';

const groups = useGroups();
const { bundle } = groups;

function members(count: number, names: readonly string[]): GroupJobDefinition[] {
  return Array.from({ length: count }, (_, i) => ({
    name: `job${i}`,
    queueName: names[i % names.length]!,
    data: { i },
  }));
}

describe('a thousand members', () => {
  it('on four queues complete as one', async () => {
    const names = groups.names(4);
    const jobs = members(1000, names);
    const node = await groups.add({ name: 'big', jobs, compensation: undone(jobs) });
    expect(node.jobs).toHaveLength(1000);
    expect(await groups.queue(names[0]!).getGroupJobs(node.groupId)).toHaveLength(1000);
    for (const name of names) bundle.worker(name, async () => null, { concurrency: 50 });
    const state = await groups.until(node, 'COMPLETED');
    expect(state.completedCount).toBe(1000);
    expect(await groups.eventNames(names[0]!)).toEqual(['group:completed']);
  });

  it('of which the last one fails are each undone once', async () => {
    const names = groups.names(2);
    const jobs = members(1000, names);
    const node = await groups.add({ name: 'big', jobs, compensation: undone(jobs) });
    const isLast = (name: string) => name === 'job999';
    const done = new Set<string>();
    let failLast = () => {};
    const all = new Promise<void>((resolve) => {
      failLast = resolve;
    });
    for (const name of names) {
      bundle.worker(
        name,
        async (job) => {
          if (!isLast(job.name)) {
            done.add(job.name);
            return job.data.i;
          }
          await all;
          throw new Error('the last one');
        },
        { concurrency: 50 },
      );
    }
    await eventually(async () =>
      expect(await node.group.getState()).toMatchObject({ state: 'ACTIVE', completedCount: 999 }),
    );
    failLast();
    await groups.until(node, 'COMPENSATING');
    const undoneBy = new Map<string, number>();
    for (const name of names) {
      bundle.worker(
        `${name}:compensation`,
        async (job) => {
          const { originalJobName, originalReturnValue, compensationData } = job.data;
          expect(originalJobName).toBe(`job${originalReturnValue}`);
          expect(compensationData).toEqual({ undoes: originalJobName });
          undoneBy.set(originalJobName, (undoneBy.get(originalJobName) ?? 0) + 1);
        },
        { concurrency: 50 },
      );
    }
    await groups.until(node, 'FAILED');
    expect([...undoneBy.keys()].sort()).toEqual([...done].sort());
    expect(new Set(undoneBy.values())).toEqual(new Set([1]));
    expect(await groups.eventNames(names[0]!)).toEqual(['group:compensating', 'group:failed']);
  });
});

describe('the cost of one job does not grow with its group', () => {
  /** How many commands the server carries out meanwhile, those inside of transitions too. */
  async function commands(act: () => Promise<unknown>): Promise<number> {
    const { admin } = bundle.server;
    const total = async () => {
      const rows = String(await admin.info('commandstats')).matchAll(/cmdstat_(\S+?):calls=(\d+)/g);
      return [...rows].reduce((sum, [, name, calls]) => sum + (name === 'info' ? 0 : Number(calls)), 0);
    };
    const before = await total();
    await act();
    return (await total()) - before;
  }

  // A renewal or a trim may come in between; forty times as many members may not.
  function expectSame([small, large]: Record<string, number>[]): void {
    for (const [what, cost] of Object.entries(large!)) {
      expect(cost / small![what]!, what).toBeLessThan(1.5);
    }
  }

  it.each(['parallel', 'reverse'] as const)('of a group that is undone (%s)', async (compensationOrder) => {
    const costs: Record<string, number>[] = [];
    for (const size of [5, 200]) {
      const [name] = groups.names(1) as [string];
      const jobs = members(size, [name]);
      const node = await groups.add({ name: 'big', jobs, compensation: undone(jobs), compensationOrder });
      const running: Job[] = [];
      for (const _ of jobs) running.push(await groups.claim(name));
      await complete(running[4]!);
      await fail(running[0]!);
      const cost: Record<string, number> = {
        completed: await commands(() => complete(running[1]!)),
        failed: await commands(() => fail(running[2]!)),
        retried: await commands(() => node.jobs[4]!.retry('completed').catch(() => {})),
        removed: await commands(() => node.jobs[2]!.remove()),
      };
      for (const job of running.slice(5)) await complete(job);
      await complete(running[3]!);
      const undo = await groups.claim(`${name}:compensation`);
      cost.undone = await commands(() => complete(undo));
      costs.push(cost);
    }
    expectSame(costs);
  });

  it('of a group that is fine', async () => {
    const costs: Record<string, number>[] = [];
    for (const size of [5, 200]) {
      const [name] = groups.names(1) as [string];
      const jobs = members(size, [name]);
      const node = await groups.add({ name: 'big', jobs, compensation: undone(jobs) });
      const first = await groups.claim(name);
      costs.push({
        completed: await commands(() => complete(first)),
        retried: await commands(() => node.jobs[0]!.retry('completed').catch(() => {})),
        removed: await commands(() => node.jobs[0]!.remove()),
      });
    }
    expectSame(costs);
  });
});

describe('cancelling in a long queue', () => {
  // Members times depth is over what one call may scan: they are only marked.
  const MEMBERS = 800;
  const AHEAD = 200;

  it('nobody runs a marked member, and all others run', async () => {
    const [name, home] = groups.names(2) as [string, string];
    const queue = groups.queue(name);
    const jobs = members(MEMBERS, [name]);
    await queue.addBulk(Array.from({ length: AHEAD }, () => ({ name: 'ahead', data: {} })));
    const node = await groups.add({ name: 'long', queueName: home, jobs, compensation: undone(jobs) });
    const behind = await queue.add('behind', {});
    await groups.queue(home).cancelGroup(node.groupId);

    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', cancelledCount: MEMBERS });
    expect(new Set(await groups.statuses(node))).toEqual(new Set(['cancelled']));
    // Marked, not taken out: this is the case to be tested.
    expect(await queue.getWaitingCount()).toBe(AHEAD + MEMBERS + 1);
    expect((await queue.getJob(node.jobs[0]!.id!))?.deferredFailure).toContain('was cancelled');

    const ran: string[] = [];
    const worker = bundle.worker(
      name,
      async (job) => {
        ran.push(job.name);
      },
      { concurrency: 20, stalledInterval: 50 },
    );
    const failed: unknown[] = [];
    worker.on('failed', (job) => failed.push(job?.id));
    await eventually(async () => expect(await behind.getState()).toBe('completed'));
    await eventually(async () => expect(await queue.getWaitingCount()).toBe(0));
    expect(ran.filter((job) => job === 'ahead')).toHaveLength(AHEAD);
    expect(ran).toHaveLength(AHEAD + 1);
    expect(failed).toEqual([]);
    for (const job of node.jobs) expect(await queue.getJob(job.id!)).toBeUndefined();
    const removed = (await groups.stream(name)).filter(({ event }) => event === 'removed');
    expect(new Set(removed.map(({ jobId }) => jobId))).toEqual(new Set(node.jobs.map(({ id }) => id)));
    // What was noted for upkeep goes as well.
    await eventually(async () =>
      expect(await bundle.server.admin.exists(`bull:${home}:meta:groups:marked`)).toBe(0),
    );
    expect(await groups.eventNames(home)).toEqual(['group:failed']);
  });

  it('a member that fails while its siblings wait in a long queue: completed ones are undone at once', async () => {
    const [name, other] = groups.names(2) as [string, string];
    const jobs = [
      { name: 'first', queueName: other },
      { name: 'second', queueName: other },
      ...members(MEMBERS, [name]),
      { name: 'delayed', queueName: name, opts: { delay: 60_000 } },
      { name: 'urgent', queueName: name, opts: { priority: 1 } },
    ];
    await groups.queue(name).addBulk(Array.from({ length: AHEAD }, () => ({ name: 'ahead', data: {} })));
    const node = await groups.add({ name: 'long', jobs, compensation: undone(jobs.slice(0, 2)) });
    await complete(await groups.claim(other), 'done');
    await fail(await groups.claim(other));
    expect(await node.group.getState()).toMatchObject({
      state: 'COMPENSATING',
      cancelledCount: MEMBERS + 2,
      reason: 'broken',
    });
    // Those that cost nothing to take out are gone.
    const counts = await groups.queue(name).getJobCounts('waiting', 'delayed', 'prioritized');
    expect(counts).toEqual({ waiting: AHEAD + MEMBERS, delayed: 0, prioritized: 0 });
    expect(await groups.undoAll(other)).toHaveLength(1);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });

    // Whatever becomes of the marked ones, the group has ended.
    await groups.queue(name).drain();
    expect(await groups.queue(name).getWaitingCount()).toBe(0);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', cancelledCount: MEMBERS + 2 });
    expect(await groups.eventNames(other)).toEqual(['group:compensating', 'group:failed']);
  });

  it('a member that runs in a long queue is not marked: it finishes and is undone', async () => {
    const [name, other] = groups.names(2) as [string, string];
    const jobs = [{ name: 'first', queueName: other }, ...members(MEMBERS, [name])];
    const node = await groups.add({ name: 'long', jobs, compensation: undone(jobs) });
    const running = await groups.claim(name);
    await groups.queue(name).addBulk(Array.from({ length: AHEAD }, () => ({ name: 'behind', data: {} })));
    await fail(await groups.claim(other));
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING', cancelledCount: MEMBERS - 1 });
    await complete(running, 'late');
    const undos = await groups.undoAll(name);
    expect(undos.map(({ data }) => data.originalReturnValue)).toEqual(['late']);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
    // The next fetch passes over all that was marked.
    expect((await groups.claim(name)).name).toBe('behind');
  });
});
