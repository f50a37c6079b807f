// The options of a group: its id, its home, its time limit, the order and the terms of its compensation.

import { describe, expect, it } from 'vitest';
import type { GroupNode, Job, Processor } from '../../../src/index.ts';
import { eventually } from '../../support/eventually.ts';
import { complete, fail, gate, useGroups } from './support.ts';

const groups = useGroups();
const { bundle } = groups;

describe('groupId', () => {
  it('given twice returns the group that exists and adds nothing', async () => {
    const names = groups.names(2);
    const first = await groups.addPlain(names, { groupId: 'order-7' });
    await complete(await groups.claim(names[0]!));
    const before = await groups.keyspace(...names);
    const second = await groups.addPlain(names, { groupId: 'order-7' });

    expect(await groups.keyspace(...names)).toEqual(before);
    expect(second.groupId).toBe('order-7');
    expect(second.jobs.map(({ id, queueName, name }) => [id, queueName, name])).toEqual(
      first.jobs.map(({ id, queueName, name }) => [id, queueName, name]),
    );
    expect(await second.group.getState()).toMatchObject({ state: 'ACTIVE', completedCount: 1 });
  });

  it('given again with other jobs, or after the group has ended, is the same group still', async () => {
    const names = groups.names(2);
    await groups.addPlain([names[0]!], { groupId: 'done' });
    await complete(await groups.claim(names[0]!));
    const again = await groups.addPlain([names[0]!, names[1]!], { groupId: 'done' });
    expect(again.jobs).toHaveLength(1);
    expect(await again.group.getState()).toMatchObject({ state: 'COMPLETED', totalJobs: 1 });
    expect(await groups.keyspace(names[1]!)).toEqual({});
  });

  it('given many times at once, over several connections, is one group', async () => {
    const names = groups.names(2);
    const producers = [1, 2, 3].map(() => groups.producer());
    const nodes = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        producers[i % 3]!.addGroup({
          name: 'order',
          groupId: 'once',
          jobs: names.map((queueName, n) => ({ name: `j${n}`, queueName, opts: { jobId: `once-${n}` } })),
        }),
      ),
    );
    for (const { jobs } of nodes) expect(jobs.map(({ id }) => id)).toEqual(['once-0', 'once-1']);
    for (const name of names) expect(await groups.queue(name).getWaitingCount()).toBe(1);
    expect(await groups.queue(names[0]!).getGroupCounts()).toMatchObject({ ACTIVE: 1 });
    for (const name of names) await complete(await groups.claim(name));
    expect(await groups.eventNames(names[0]!)).toEqual(['group:completed']);
  });

  it('may be used in different homes', async () => {
    const names = groups.names(2);
    const nodes = await Promise.all(names.map((name) => groups.addPlain([name], { groupId: 'same' })));
    await complete(await groups.claim(names[0]!));
    expect(await nodes[0]!.group.getState()).toMatchObject({ state: 'COMPLETED' });
    expect(await nodes[1]!.group.getState()).toMatchObject({ state: 'ACTIVE' });
  });
});

describe('queueName', () => {
  it('is the home: the group, its events and its queries are there', async () => {
    const [home, one, two] = groups.names(3) as [string, string, string];
    const node = await groups.addPlain([one, two], { queueName: home });
    expect(node.group.home).toBe(`bull:${home}`);
    expect(await groups.queue(home).getGroupState(node.groupId)).toMatchObject({ state: 'ACTIVE' });
    expect(await groups.queue(one).getGroupState(node.groupId)).toBeNull();
    await complete(await groups.claim(one));
    await fail(await groups.claim(two));
    expect(await groups.undoAll(one)).toHaveLength(1);
    expect(await groups.eventNames(home)).toEqual(['group:compensating', 'group:failed']);
    expect(await groups.eventNames(one)).toEqual([]);
    expect(await groups.queue(home).getJobCounts()).toMatchObject({ waiting: 0, completed: 0, failed: 0 });
  });
});

describe('timeoutMs', () => {
  it('cancels the group by itself: reason timeout, what has completed is undone', async () => {
    const names = groups.names(2);
    const node = await groups.addPlain(names, { timeoutMs: 100 });
    expect((await node.group.getState())!.timeoutAt).toBe((await node.group.getState())!.createdAt + 100);
    await complete(await groups.claim(names[0]!));
    // Any member queue's worker looks after it.
    groups.upkeep(names[1]!);
    const state = await groups.until(node, 'COMPENSATING');
    expect(state).toMatchObject({ reason: 'timeout', cancelledCount: 1 });
    expect(state.updatedAt - state.createdAt).toBeGreaterThanOrEqual(100);
    expect(await groups.events(names[0]!)).toMatchObject([
      { event: 'group:compensating', failedJobId: '', reason: 'timeout' },
    ]);
    await groups.undoAll(names[0]!);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it('waits for a member that runs, and undoes it', async () => {
    const names = groups.names(1);
    const node = await groups.addPlain(names, { timeoutMs: 50 });
    const job = await groups.claim(names[0]!);
    groups.upkeep(names[0]!);
    await groups.until(node, 'COMPENSATING');
    await complete(job, 'late');
    expect(await groups.undoAll(names[0]!)).toHaveLength(1);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it('does nothing to a group that has completed in time', async () => {
    const names = groups.names(2);
    const done = await groups.addPlain([names[0]!], { timeoutMs: 50 });
    await complete(await groups.claim(names[0]!));
    // Another one that times out later shows that the time has passed.
    const other = await groups.addPlain([names[0]!], { timeoutMs: 100 });
    groups.upkeep(names[0]!);
    await groups.until(other, 'FAILED');
    expect(await done.group.getState()).toMatchObject({ state: 'COMPLETED' });
    expect(await groups.eventNames(names[0]!, done.groupId)).toEqual(['group:completed']);
  });
});

describe('compensationOrder: reverse', () => {
  async function setup(count: number): Promise<{ names: string[]; node: GroupNode; jobs: Job[] }> {
    const names = groups.names(count);
    const node = await groups.addPlain(names, { compensationOrder: 'reverse' });
    const jobs: Job[] = [];
    for (const name of names) jobs.push(await groups.claim(name));
    return { names, node, jobs };
  }

  const waitingIn = async (names: readonly string[]): Promise<number[]> =>
    Promise.all(names.map((name) => groups.queue(`${name}:compensation`).getWaitingCount()));

  it('undoes one at a time, last completed first', async () => {
    const { names, node, jobs } = await setup(4);
    await complete(jobs[1]!, 'one');
    await complete(jobs[0]!, 'two');
    await complete(jobs[2]!, 'three');
    await fail(jobs[3]!);

    expect(await waitingIn(names)).toEqual([0, 0, 1, 0]);
    const order: string[] = [];
    for (const i of [2, 0, 1]) {
      const undo = await groups.claim(`${names[i]}:compensation`);
      order.push(undo.data.originalReturnValue);
      // Nothing else begins while one runs.
      expect(await waitingIn(names)).toEqual([0, 0, 0, 0]);
      expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING' });
      await complete(undo);
    }
    expect(order).toEqual(['three', 'two', 'one']);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
    expect(await groups.eventNames(names[0]!)).toEqual(['group:compensating', 'group:failed']);
  });

  it('begins when no member runs any more', async () => {
    const { names, node, jobs } = await setup(3);
    await complete(jobs[0]!, 'early');
    await fail(jobs[2]!);
    expect(await waitingIn(names)).toEqual([0, 0, 0]);
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING' });
    await complete(jobs[1]!, 'late');
    expect(await waitingIn(names)).toEqual([0, 1, 0]);
    await groups.undoAll(names[1]!);
    expect(await waitingIn(names)).toEqual([1, 0, 0]);
    await groups.undoAll(names[0]!);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it('goes on when one of them fails, and the group is FAILED_COMPENSATION', async () => {
    const { names, node, jobs } = await setup(3);
    await complete(jobs[0]!);
    await complete(jobs[1]!);
    await fail(jobs[2]!);
    await fail(await groups.claim(`${names[1]}:compensation`), 'cannot undo');
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING' });
    expect(await groups.undoAll(names[0]!)).toHaveLength(1);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED_COMPENSATION' });
    expect((await groups.events(names[0]!)).at(-1)).toMatchObject({
      compensationResults: [{ status: 'completed' }, { status: 'failed', failedReason: 'cannot undo' }],
    });
    expect(await groups.queue(names[0]!).retryGroupCompensation(node.groupId)).toBe(1);
    expect(await groups.undoAll(names[1]!)).toHaveLength(1);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it('a cancelled group is undone in reverse, too, and one without anything to undo ends at once', async () => {
    const names = groups.names(3);
    const node = await groups.addPlain(names, { compensationOrder: 'reverse' });
    await complete(await groups.claim(names[0]!));
    await complete(await groups.claim(names[1]!));
    await node.group.cancel('customer left');
    expect(await waitingIn(names)).toEqual([0, 1, 0]);
    await groups.undoAll(names[1]!);
    await groups.undoAll(names[0]!);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', reason: 'customer left' });

    const empty = await groups.addPlain(names, { compensationOrder: 'reverse' });
    await empty.group.cancel();
    expect(await empty.group.getState()).toMatchObject({ state: 'FAILED', cancelledCount: 3 });
  });
});

describe('onFailed', () => {
  it.each(['parallel', 'reverse'] as const)('undoes the failed member too, with null (%s)', async (order) => {
    const names = groups.names(2);
    const node = await groups.addPlain(names, {
      compensationOrder: order,
      compensation: { b: { name: 'undo-b', data: { b: 1 }, onFailed: true } },
    });
    await complete(await groups.claim(names[0]!));
    const failing = await groups.claim(names[1]!);
    await fail(failing);
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING' });
    const [undo, ...more] = await groups.undoAll(names[1]!);
    expect(more).toEqual([]);
    expect(undo?.data).toEqual({
      groupId: node.groupId,
      originalJobName: 'b',
      originalJobId: failing.id,
      originalReturnValue: null,
      compensationData: { b: 1 },
    });
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it('undoes a member that fails late, and not one that was cancelled', async () => {
    const names = groups.names(3);
    const mapping = { name: 'undo', onFailed: true };
    const node = await groups.addPlain(names, { compensation: { a: mapping, b: mapping, c: mapping } });
    const late = await groups.claim(names[0]!);
    await fail(await groups.claim(names[1]!));
    expect(await groups.undoAll(names[1]!)).toHaveLength(1);
    await fail(late);
    expect(await groups.undoAll(names[0]!)).toHaveLength(1);
    expect(await groups.keyspace(`${names[2]}:compensation`)).toEqual({});
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', failedCount: 2, cancelledCount: 1 });
  });
});

describe('terms of a compensation', () => {
  async function undoOf(opts?: object): Promise<{ name: string; undo: Job; node: GroupNode }> {
    const [name] = groups.names(1) as [string];
    const node = await groups.addPlain([name, name], {
      compensation: { a: { name: 'undo-a', ...(opts && { opts }) } },
    });
    await complete(await groups.claim(name));
    await fail(await groups.claim(name));
    const undo = (await groups.queue(`${name}:compensation`).getJob(`${node.groupId}-0`))!;
    return { name, undo, node };
  }

  it('are three attempts with exponential backoff from a second', async () => {
    const { name, undo } = await undoOf();
    expect(undo.opts).toMatchObject({ attempts: 3, backoff: { type: 'exponential', delay: 1000 } });
    await fail(await groups.claim(`${name}:compensation`));
    const [delayed] = await groups.queue(`${name}:compensation`).getDelayed();
    expect(delayed).toMatchObject({ id: undo.id, delay: 1000, attemptsMade: 1 });
  });

  it('are those of the mapping', async () => {
    const { name, undo, node } = await undoOf({ attempts: 5, backoff: { type: 'fixed', delay: 5 } });
    expect(undo.opts).toMatchObject({ attempts: 5, backoff: { type: 'fixed', delay: 5 } });
    let runs = 0;
    const handler: Processor = async () => {
      if (++runs < 5) throw new Error('again');
    };
    bundle.worker(`${name}:compensation`, handler);
    await groups.until(node, 'FAILED');
    expect(runs).toBe(5);
  });

  it('have nothing to do with those of the member', async () => {
    const [name] = groups.names(1) as [string];
    const node = await groups.addPlain([name, name], {
      opts: [{ attempts: 9, priority: 4, removeOnComplete: true }],
      compensation: { a: { name: 'undo-a' } },
    });
    // `b` waits, so it comes before the prioritized `a`.
    const b = await groups.claim(name);
    await complete(await groups.claim(name));
    await fail(b);
    const undo = await groups.queue(`${name}:compensation`).getJob(`${node.groupId}-0`);
    expect(undo?.opts).toMatchObject({ attempts: 3 });
    expect(undo?.opts.priority).toBeUndefined();
    expect(undo?.opts.removeOnComplete).toBeFalsy();
  });

  it('compensation data that is left out is an empty object', async () => {
    const { undo } = await undoOf();
    expect(undo.data.compensationData).toEqual({});
  });

  it('no worker: compensations wait, and are not lost', async () => {
    const { name, node } = await undoOf();
    expect(await groups.queue(`${name}:compensation`).getWaitingCount()).toBe(1);
    groups.upkeep(name);
    await eventually(async () =>
      expect(await bundle.server.admin.exists(`bull:${name}:stalled-check`)).toBe(1),
    );
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING' });
  });

  it('a compensation queue has events, counts and a pause of its own', async () => {
    const { name, node } = await undoOf();
    const undoing = `${name}:compensation`;
    const events = bundle.events(undoing);
    await events.waitUntilReady();
    const told = gate();
    events.on('completed', ({ jobId }) => {
      expect(jobId).toBe(`${node.groupId}-0`);
      told.open();
    });
    await groups.queue(undoing).pause();
    expect(await groups.tryClaim(undoing)).toBeUndefined();
    await groups.queue(undoing).resume();
    await groups.undoAll(name);
    await told.opened;
    expect(await groups.queue(undoing).getCompletedCount()).toBe(1);
  });
});
