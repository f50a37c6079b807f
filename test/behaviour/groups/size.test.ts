// Groups as large as they may be, and long queues: cancelling must not hold the server.

import { describe, expect, it } from 'vitest';
import type { GroupJobDefinition } from '../../../src/index.ts';
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
