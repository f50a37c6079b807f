// Groups whose jobs are taken away, finished behind their back or lost: sweeps by hand, healing and the audit, lanes.

import { describe, expect, it } from 'vitest';
import type { GroupNode, Job, Queue } from '../../../src/index.ts';
import { eventually, nextEvent } from '../../support/eventually.ts';
import { complete, fail, TOKEN, useGroups } from './support.ts';

const groups = useGroups();
const { bundle } = groups;

/** `a` has completed, `b` waits as its options say. */
async function half(opts?: object, more: object = {}): Promise<{ names: string[]; node: GroupNode }> {
  const names = groups.names(2);
  const node = await groups.addPlain(names, { opts: [undefined, opts], ...more });
  await complete(await groups.claim(names[0]!), 'paid');
  return { names, node };
}

/** The group was cancelled properly: `a` is undone and it ends. */
async function expectUndone(names: readonly string[], node: GroupNode, reason: string): Promise<void> {
  expect(await groups.statuses(node)).toEqual(['completed', 'cancelled']);
  expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING', cancelledCount: 1, reason });
  expect((await groups.undoAll(names[0]!)).map(({ data }) => data.originalReturnValue)).toEqual(['paid']);
  expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  expect(await groups.eventNames(names[0]!)).toEqual(['group:compensating', 'group:failed']);
}

describe('taking jobs away', () => {
  it.each([
    ['drain, waiting', undefined, (queue: Queue) => queue.drain()],
    ['drain, prioritized', { priority: 2 }, (queue: Queue) => queue.drain()],
    ['drain, delayed', { delay: 60_000 }, (queue: Queue) => queue.drain(true)],
    ['clean, waiting', { timestamp: 1 }, (queue: Queue) => queue.clean(0, 0, 'wait')],
    ['clean, prioritized', { priority: 2, timestamp: 1 }, (queue: Queue) => queue.clean(0, 0, 'prioritized')],
    ['clean, delayed', { delay: 4e12, timestamp: 1 }, (queue: Queue) => queue.clean(0, 0, 'delayed')],
    ['obliterate', undefined, (queue: Queue) => queue.obliterate()],
  ] as const)('%s: a group that loses a pending member is undone', async (_how, opts, act) => {
    const { names, node } = await half(opts);
    await act(groups.queue(names[1]!));
    await expectUndone(names, node, 'member removed');
  });

  it('a member that runs when its queue is obliterated by force is cancelled', async () => {
    const { names, node } = await half();
    const job = await groups.claim(names[1]!);
    await groups.queue(names[1]!).obliterate({ force: true });
    await expectUndone(names, node, 'member removed');
    await expect(complete(job)).rejects.toThrow();
  });

  it('cleaning a completed member loses nothing: it is undone with its result', async () => {
    const { names, node } = await half();
    await eventually(async () =>
      expect(await groups.queue(names[0]!).clean(0, 0, 'completed')).toEqual([node.jobs[0]!.id]),
    );
    expect(await node.group.getState()).toMatchObject({ state: 'ACTIVE', completedCount: 1 });
    await fail(await groups.claim(names[1]!));
    expect((await groups.undoAll(names[0]!)).map(({ data }) => data.originalReturnValue)).toEqual(['paid']);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it.each([
    ['drained', (queue: Queue) => queue.drain(true)],
    ['obliterated', (queue: Queue) => queue.obliterate({ force: true })],
  ] as const)('a compensation that is %s before it ran has failed', async (_how, act) => {
    const { names, node } = await half();
    await fail(await groups.claim(names[1]!));
    await act(groups.queue(`${names[0]}:compensation`));
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED_COMPENSATION' });
    expect((await groups.events(names[0]!)).at(-1)).toMatchObject({
      event: 'group:failed',
      compensationResults: [{ status: 'failed', failedReason: 'removed before it ran' }],
    });
    // The operator brings it back.
    expect(await groups.queue(names[0]!).retryGroupCompensation(node.groupId)).toBe(1);
    expect(await groups.undoAll(names[0]!)).toHaveLength(1);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it('a compensation queue that was cleaned of failed ones can still be retried', async () => {
    const { names, node } = await half();
    await fail(await groups.claim(names[1]!));
    await fail(await groups.claim(`${names[0]}:compensation`));
    await eventually(async () =>
      expect(await groups.queue(`${names[0]}:compensation`).clean(0, 0, 'failed')).toHaveLength(1),
    );
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED_COMPENSATION' });
    await groups.queue(names[0]!).retryGroupCompensation(node.groupId);
    expect(await groups.undoAll(names[0]!)).toHaveLength(1);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it('obliterating a home by force undoes its open groups before they are forgotten', async () => {
    const { names, node } = await half();
    const home = groups.queue(names[0]!);
    await home.obliterate({ force: true });
    expect(await node.group.getState()).toBeNull();
    expect(await groups.queue(names[1]!).getWaitingCount()).toBe(0);
    expect(await groups.queue(names[1]!).getJob(node.jobs[1]!.id!)).toBeUndefined();
    // Nobody keeps count any more, but what was done is undone.
    const [undo] = await groups.undoAll(names[0]!);
    expect(undo?.data.originalReturnValue).toBe('paid');
    const left = Object.keys(await groups.keyspace(names[0]!)).filter(
      (key) => !key.startsWith(`${names[0]}:compensation`),
    );
    expect(left).toEqual([]);
  });

  it.each(['ACTIVE', 'COMPENSATING'])(
    'obliterating the home of a group that is %s and undone in reverse order undoes all that is left',
    async (state) => {
      const [home, one, two] = groups.names(3) as [string, string, string];
      const node = await groups.addPlain([one, two, two], { queueName: home, compensationOrder: 'reverse' });
      await complete(await groups.claim(one));
      await complete(await groups.claim(two));
      if (state === 'COMPENSATING') await node.group.cancel();
      await groups.queue(home).obliterate({ force: true });
      expect(await node.group.getState()).toBeNull();
      expect(await groups.undoAll(one)).toHaveLength(1);
      expect(await groups.undoAll(two)).toHaveLength(1);
    },
  );

  it('terminal groups do not keep a home from being obliterated', async () => {
    const { names, node } = await half();
    await complete(await groups.claim(names[1]!));
    expect(await node.group.getState()).toMatchObject({ state: 'COMPLETED' });
    await groups.queue(names[0]!).obliterate();
    expect(await groups.keyspace(names[0]!)).toEqual({});
  });

  it('the sweep for orphans takes nothing of a group', async () => {
    const { names, node } = await half();
    await fail(await groups.claim(names[1]!));
    const all = [names[0]!, names[1]!, `${names[0]}:compensation`];
    for (const name of all) await groups.queue(name).getJobCounts();
    const before = await groups.keyspace(...all);
    for (const name of all) expect(await groups.queue(name).removeOrphanedJobs()).toBe(0);
    expect(await groups.keyspace(...all)).toEqual(before);
    await groups.undoAll(names[0]!);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });
});

describe('healing and the audit', () => {
  /** As a worker of another library would leave it. */
  async function finishBehindBack(
    job: Job,
    set: 'completed' | 'failed',
    fields: Record<string, string>,
  ): Promise<void> {
    const root = `bull:${job.queueName}`;
    const { admin } = bundle.server;
    await admin
      .multi()
      .lrem(`${root}:wait`, 1, job.id!)
      .lrem(`${root}:active`, 1, job.id!)
      .zadd(`${root}:${set}`, Date.now(), job.id!)
      .hset(`${root}:${job.id}`, { ...fields, finishedOn: String(Date.now()) })
      .exec();
  }

  it('nothing is found in groups that know their jobs', async () => {
    const [name] = groups.names(1) as [string];
    expect(await groups.queue(name).auditGroups()).toEqual({ groups: 0, findings: [] });
    await groups.addPlain([name, name]);
    await complete(await groups.claim(name));
    await groups.claim(name);
    expect(await groups.queue(name).auditGroups()).toEqual({ groups: 1, findings: [] });
  });

  it('members finished behind its back are found, and healed by any member queue’s worker', async () => {
    const names = groups.names(2);
    const node = await groups.addPlain(names);
    await finishBehindBack(node.jobs[0]!, 'completed', { returnvalue: '{"stock":1}' });
    await finishBehindBack(node.jobs[1]!, 'failed', { failedReason: 'stock trouble' });
    const before = await groups.keyspace(...names);
    const audit = await groups.queue(names[0]!).auditGroups();
    expect(audit).toEqual({
      groups: 1,
      findings: [
        {
          groupId: node.groupId,
          kind: 'member',
          jobKey: `bull:${names[0]}:${node.jobs[0]!.id}`,
          recorded: 'pending',
          found: 'completed',
        },
        {
          groupId: node.groupId,
          kind: 'member',
          jobKey: `bull:${names[1]}:${node.jobs[1]!.id}`,
          recorded: 'pending',
          found: 'failed',
        },
      ],
    });
    const state = (space: object) =>
      Object.fromEntries(Object.entries(space).filter(([key]) => !key.endsWith(':meta')));
    expect(state(await groups.keyspace(...names))).toEqual(state(before));

    groups.upkeep(names[1]!);
    await groups.until(node, 'COMPENSATING');
    expect(await groups.queue(names[0]!).auditGroups()).toMatchObject({ findings: [] });
    expect(await groups.statuses(node)).toEqual(['completed', 'failed']);
    const [undo] = await groups.undoAll(names[0]!);
    expect(undo?.data.originalReturnValue).toEqual({ stock: 1 });
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', reason: 'stock trouble' });
    expect(await groups.eventNames(names[0]!)).toEqual(['group:compensating', 'group:failed']);
  });

  it('a group whose last member completed behind its back completes', async () => {
    const { names, node } = await half();
    await finishBehindBack(node.jobs[1]!, 'completed', { returnvalue: '1' });
    groups.upkeep(names[0]!);
    await groups.until(node, 'COMPLETED');
    expect(await groups.eventNames(names[0]!)).toEqual(['group:completed']);
  });

  it.each([
    [
      'retention',
      async (queue: Queue) => {
        const job = await queue.add('plain', {}, { removeOnComplete: { count: 1 } });
        const claimed = await groups.claim(queue.name);
        expect(claimed.id).toBe(job.id);
        await complete(claimed);
      },
    ],
    [
      'clean',
      async (queue: Queue) => {
        await eventually(async () => expect(await queue.clean(0, 0, 'completed')).toHaveLength(1));
      },
    ],
  ] as const)('what was finished behind its back is not lost to %s', async (_how, act) => {
    const names = groups.names(2);
    const node = await groups.addPlain(names);
    await finishBehindBack(node.jobs[0]!, 'completed', { returnvalue: '"kept"' });
    await act(groups.queue(names[0]!));
    expect(await groups.queue(names[0]!).getJob(node.jobs[0]!.id!)).toBeUndefined();
    expect(await groups.statuses(node)).toEqual(['completed', 'pending']);
    await fail(await groups.claim(names[1]!));
    expect((await groups.undoAll(names[0]!)).map(({ data }) => data.originalReturnValue)).toEqual(['kept']);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it('the groups of many homes are looked after by one member queue’s worker', async () => {
    const [member] = groups.names(1) as [string];
    const homes = groups.names(45);
    const nodes = await Promise.all(homes.map((queueName) => groups.addPlain([member], { queueName })));
    await bundle.server.admin.del(...nodes.map(({ jobs }) => `bull:${member}:${jobs[0]!.id}`));
    groups.upkeep(member);
    for (const node of nodes) await groups.until(node, 'FAILED');
    // Nothing is left to look after.
    await eventually(async () =>
      expect(await bundle.server.admin.exists(`bull:${member}:meta:homes`)).toBe(0),
    );
  });

  it('a vanished member cancels the group: member missing', async () => {
    const { names, node } = await half();
    await bundle.server.admin.del(`bull:${names[1]}:${node.jobs[1]!.id}`);
    expect((await groups.queue(names[0]!).auditGroups()).findings).toMatchObject([
      { kind: 'member', recorded: 'pending', found: 'missing' },
    ]);
    groups.upkeep(names[1]!);
    await groups.until(node, 'COMPENSATING');
    await expectUndone(names, node, 'member missing');
  });

  it('a vanished member is missing, even where an earlier job of its id had completed', async () => {
    const names = groups.names(2);
    const earlier = await groups.queue(names[1]!).add('earlier', {}, { jobId: 'again' });
    await complete(await groups.claim(names[1]!), 'of another life');
    await earlier.remove();
    const node = await groups.addPlain(names, { opts: [undefined, { jobId: 'again' }] });
    await complete(await groups.claim(names[0]!), 'paid');
    await bundle.server.admin.del(`bull:${names[1]}:again`);
    expect((await groups.queue(names[0]!).auditGroups()).findings).toMatchObject([{ found: 'missing' }]);
    groups.upkeep(names[0]!);
    await groups.until(node, 'COMPENSATING');
    await expectUndone(names, node, 'member missing');
  });

  it('a compensation settled behind its back, or lost, is found and settled', async () => {
    const names = groups.names(3);
    const node = await groups.addPlain(names);
    await complete(await groups.claim(names[0]!));
    await complete(await groups.claim(names[1]!));
    await fail(await groups.claim(names[2]!));
    const undo = (await groups.queue(`${names[0]}:compensation`).getJob(`${node.groupId}-0`))!;
    await finishBehindBack(undo, 'completed', { returnvalue: 'null' });
    await bundle.server.admin.del(`bull:${names[1]}:compensation:${node.groupId}-1`);
    expect((await groups.queue(names[0]!).auditGroups()).findings).toMatchObject([
      {
        kind: 'compensation',
        jobKey: `bull:${names[0]}:compensation:${undo.id}`,
        recorded: 'waiting',
        found: 'completed',
      },
      { kind: 'compensation', recorded: 'waiting', found: 'missing' },
    ]);
    // A worker of a compensation queue looks after its groups, too.
    groups.upkeep(`${names[0]}:compensation`);
    await groups.until(node, 'FAILED_COMPENSATION');
    expect(await groups.queue(names[0]!).auditGroups()).toEqual({ groups: 0, findings: [] });
    expect((await groups.events(names[0]!)).at(-1)).toMatchObject({
      compensationResults: [
        { status: 'completed' },
        { status: 'failed', failedReason: 'its job is missing' },
      ],
    });
  });

  it('many groups are looked after, a bounded number per tick', async () => {
    const names = groups.names(2);
    const nodes = await Promise.all(Array.from({ length: 250 }, () => groups.addPlain(names)));
    for (const node of nodes) await bundle.server.admin.del(`bull:${names[1]}:${node.jobs[1]!.id}`);
    expect(await groups.queue(names[0]!).auditGroups()).toMatchObject({ groups: 250 });
    expect((await groups.queue(names[0]!).auditGroups()).findings).toHaveLength(250);
    groups.upkeep(names[0]!);
    await eventually(async () =>
      expect(await groups.queue(names[0]!).getGroupCounts()).toMatchObject({ ACTIVE: 0, FAILED: 250 }),
    );
    expect(await groups.eventNames(names[0]!)).toHaveLength(250);
  });

  it('a poisoned group costs itself: the others are looked after', async () => {
    const [name] = groups.names(1) as [string];
    const broken = await groups.addPlain([name]);
    const fine = await groups.addPlain([name], { timeoutMs: 50 });
    await bundle.server.admin.del(`bull:${name}:groups:${broken.groupId}:jobs`);
    await bundle.server.admin.set(`bull:${name}:groups:${broken.groupId}:jobs`, 'poison');
    groups.upkeep(name);
    await groups.until(fine, 'FAILED');
  });

  it('upkeep of groups that are fine changes nothing of them', async () => {
    const { names, node } = await half();
    const state = async () =>
      Object.fromEntries(
        Object.entries(await groups.keyspace(...names)).filter(([key]) =>
          key.includes(`:groups:${node.groupId}`),
        ),
      );
    const before = await state();
    const job = await groups.claim(names[1]!);
    await job.moveToWait(TOKEN);
    groups.upkeep(names[1]!, { maxStalledCount: 100 });
    // Two rounds: the second one finds the mutex of the first.
    for (let round = 0; round < 2; round++) {
      const check = `bull:${names[1]}:stalled-check`;
      const at = await eventually(async () => {
        const value = await bundle.server.admin.get(check);
        expect(value).not.toBeNull();
        return value;
      });
      await eventually(async () => expect(await bundle.server.admin.get(check)).not.toBe(at));
    }
    expect(await state()).toEqual(before);
  });
});

describe('lanes', () => {
  it('members in a lane run in its order and complete their group', async () => {
    const [name] = groups.names(1) as [string];
    const lane = { lane: 'customer-1' } as object;
    const node = await groups.addPlain([name, name, name], { opts: [lane, lane, lane] });
    const order: string[] = [];
    bundle.worker(name, async (job) => order.push(job.name), { concurrency: 3 });
    await groups.until(node, 'COMPLETED');
    expect(order).toEqual(['a', 'b', 'c']);
  });

  it('members that rest in their lane are taken out when the group fails, and the lane goes on', async () => {
    const [name] = groups.names(1) as [string];
    const lane = { lane: 'customer-1' } as object;
    const node = await groups.addPlain([name, name, name], {
      opts: [lane, lane, { ...lane, delay: 60_000 }],
    });
    const behind = await groups.queue(name).add('behind', {}, lane);
    const first = await groups.claim(name);
    expect(first.name).toBe('a');
    await fail(first);
    expect(await groups.statuses(node)).toEqual(['failed', 'cancelled', 'cancelled']);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', cancelledCount: 2 });
    expect((await groups.claim(name)).id).toBe(behind.id);
    expect(await groups.queue(name).getJobCounts('waiting', 'delayed')).toEqual({ waiting: 0, delayed: 0 });
  });

  it('the head of a lane that is cancelled lets the next one out', async () => {
    const names = groups.names(2);
    const lane = { lane: 'customer-1' } as object;
    const node = await groups.addPlain(names, { opts: [undefined, lane] });
    const behind = await groups.queue(names[1]!).add('behind', {}, lane);
    const events = bundle.events(names[0]!);
    await events.waitUntilReady();
    const failed = nextEvent(events, 'group:failed');
    await node.group.cancel();
    await failed;
    expect((await groups.claim(names[1]!)).id).toBe(behind.id);
  });
});
