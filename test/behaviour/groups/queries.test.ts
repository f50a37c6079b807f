// Asking for groups, waiting for them, cleaning them up, and what an operator does.

import { describe, expect, it } from 'vitest';
import {
  type GroupNode,
  GroupNotFoundError,
  type GroupState,
  JobGroup,
  type QueueEvents,
} from '../../../src/index.ts';
import { eventually } from '../../support/eventually.ts';
import { complete, fail, useGroups } from './support.ts';

const groups = useGroups();
const { bundle } = groups;

type Final = 'COMPLETED' | 'FAILED' | 'FAILED_COMPENSATION';

/** Brings a group of two, on one queue, to its end. */
async function end(name: string, state: Final, more: object = {}): Promise<GroupNode> {
  const node = await groups.addPlain([name, name], more);
  await complete(await groups.claim(name));
  const last = await groups.claim(name);
  if (state === 'COMPLETED') await complete(last);
  else await fail(last);
  if (state === 'FAILED') await groups.undoAll(name);
  if (state === 'FAILED_COMPENSATION') await fail(await groups.claim(`${name}:compensation`), 'stuck');
  expect(await node.group.getState()).toMatchObject({ state });
  return node;
}

async function listen(name: string): Promise<QueueEvents> {
  const events = bundle.events(name);
  await events.waitUntilReady();
  return events;
}

describe('waitUntilFinished', () => {
  it.each(['COMPLETED', 'FAILED', 'FAILED_COMPENSATION'] as const)(
    'resolves to %s, before and after the fact',
    async (state) => {
      const [name] = groups.names(1) as [string];
      const events = await listen(name);
      const node = await groups.addPlain([name, name], { groupId: 'w' });
      const finished = node.group.waitUntilFinished(events, 20_000);
      const job = await groups.claim(name);
      await complete(job);
      if (state === 'COMPLETED') await complete(await groups.claim(name));
      else await fail(await groups.claim(name));
      if (state === 'FAILED') await groups.undoAll(name);
      if (state === 'FAILED_COMPENSATION') await fail(await groups.claim(`${name}:compensation`));
      expect(await finished).toEqual(await node.group.getState());
      expect((await finished).state).toBe(state);
      expect((await groups.queue(name).getGroup('w').waitUntilFinished(events)).state).toBe(state);
      expect(events.listenerCount('group:completed') + events.listenerCount('group:failed')).toBe(0);
    },
  );

  it('rejects after its time and leaves no listener behind', async () => {
    const [name] = groups.names(1) as [string];
    const events = await listen(name);
    const node = await groups.addPlain([name]);
    await expect(node.group.waitUntilFinished(events, 20)).rejects.toMatchObject({
      key: 'GROUP_WAIT_TIMEOUT',
    });
    expect(events.listenerCount('group:completed') + events.listenerCount('group:failed')).toBe(0);
  });

  it('rejects where there is no such group', async () => {
    const [name] = groups.names(1) as [string];
    const events = await listen(name);
    await expect(groups.queue(name).getGroup('none').waitUntilFinished(events, 1000)).rejects.toBeInstanceOf(
      GroupNotFoundError,
    );
  });

  it('rejects when its reader closes', async () => {
    const [name] = groups.names(1) as [string];
    const events = await listen(name);
    const node = await groups.addPlain([name]);
    const waiting = expect(node.group.waitUntilFinished(events)).rejects.toThrow();
    await eventually(() => expect(events.listenerCount('group:completed')).toBe(1));
    await events.close();
    await waiting;
  });
});

describe('job.getGroup', () => {
  it('finds the group from a member and from a compensation, wherever it is at home', async () => {
    const [home, one, two] = groups.names(3) as [string, string, string];
    const node = await groups.addPlain([one, two], { queueName: home });
    const member = await groups.claim(one);
    const found = member.getGroup()!;
    expect(found).toBeInstanceOf(JobGroup);
    expect([found.id, found.home]).toEqual([node.groupId, `bull:${home}`]);
    expect(await found.getState()).toMatchObject({ name: 'order', state: 'ACTIVE' });
    expect((await groups.queue(one).getJob(member.id!))?.getGroup()?.id).toBe(node.groupId);
    expect(node.jobs[0]!.getGroup()?.id).toBe(node.groupId);
    await complete(member);
    await fail(await groups.claim(two));

    const undo = await groups.claim(`${one}:compensation`);
    expect(undo.opts.group).toEqual({ id: node.groupId, name: 'order' });
    const group = undo.getGroup()!;
    expect(await group.getState()).toMatchObject({ state: 'COMPENSATING' });
    const entries = await group.getJobs();
    expect(entries.map(({ queueName, status }) => [queueName, status])).toEqual([
      [one, 'completed'],
      [two, 'failed'],
    ]);
    await complete(undo);
    expect(await group.getState()).toMatchObject({ state: 'FAILED' });
    await group.remove();
    expect(await group.getState()).toBeNull();
  });

  it('is undefined for any other job', async () => {
    const [name] = groups.names(1) as [string];
    expect((await groups.queue(name).add('plain', {})).getGroup()).toBeUndefined();
    expect((await groups.claim(name)).getGroup()).toBeUndefined();
  });

  it('inside a handler, from a team that knows only its queue', async () => {
    const [home, one] = groups.names(2) as [string, string];
    const seen: (GroupState | null)[] = [];
    bundle.worker(one, async (job) => {
      seen.push(await job.getGroup()!.getState());
    });
    const node = await groups.addPlain([home, one]);
    await eventually(() => expect(seen).toHaveLength(1));
    expect(seen[0]).toMatchObject({ id: node.groupId, state: 'ACTIVE', totalJobs: 2 });
  });
});

describe('getGroupJobs', () => {
  it('tells of each compensation where it is, and why it failed', async () => {
    const names = groups.names(3);
    const node = await groups.addPlain(names);
    await complete(await groups.claim(names[0]!));
    await complete(await groups.claim(names[1]!));
    await fail(await groups.claim(names[2]!));
    const undoing = async () => (await node.group.getJobs()).map(({ compensation }) => compensation);
    expect(await undoing()).toEqual([
      { jobId: `${node.groupId}-0`, queueName: `${names[0]}:compensation`, status: 'waiting' },
      { jobId: `${node.groupId}-1`, queueName: `${names[1]}:compensation`, status: 'waiting' },
      undefined,
    ]);
    await groups.undoAll(names[0]!);
    await fail(await groups.claim(`${names[1]}:compensation`), 'bank closed');
    expect(await undoing()).toMatchObject([
      { status: 'completed' },
      { status: 'failed', failedReason: 'bank closed' },
      undefined,
    ]);
  });
});

describe('getGroups and getGroupCounts', () => {
  it('list by state, newest first, in pages', async () => {
    const [name] = groups.names(1) as [string];
    const queue = groups.queue(name);
    expect(await queue.getGroups()).toEqual([]);
    expect(await queue.getGroupCounts()).toEqual({
      ACTIVE: 0,
      COMPENSATING: 0,
      COMPLETED: 0,
      FAILED: 0,
      FAILED_COMPENSATION: 0,
    });
    const ids = async (page?: object) => (await queue.getGroups(page)).map(({ id }) => id);
    // Ages are in milliseconds.
    const nextMs = async () => {
      const now = async () => (await bundle.server.admin.time()).join('.').slice(0, -3);
      const before = await now();
      await eventually(async () => expect(await now()).not.toBe(before));
    };
    await end(name, 'COMPLETED', { groupId: 'done' });
    await nextMs();
    await end(name, 'FAILED', { groupId: 'sorry' });
    await nextMs();
    await end(name, 'FAILED_COMPENSATION', { groupId: 'stuck' });
    await nextMs();
    const undone = await groups.addPlain([name, name], { groupId: 'undone' });
    await complete(await groups.claim(name));
    await undone.group.cancel();
    for (const groupId of ['active-1', 'active-2', 'active-3']) {
      await nextMs();
      await groups.addPlain([name], { groupId });
    }

    expect(await queue.getGroupCounts()).toEqual({
      ACTIVE: 3,
      COMPENSATING: 1,
      COMPLETED: 1,
      FAILED: 1,
      FAILED_COMPENSATION: 1,
    });
    const all = ['active-3', 'active-2', 'active-1', 'undone', 'stuck', 'sorry', 'done'];
    expect(await ids()).toEqual(all);
    expect(await ids({ start: 1, end: 2 })).toEqual(all.slice(1, 3));
    expect(await ids({ start: 5, end: -1 })).toEqual(all.slice(5));
    expect(await ids({ state: 'COMPLETED' })).toEqual(['done']);
    expect(await ids({ state: 'FAILED' })).toEqual(['sorry']);
    expect(await ids({ state: 'FAILED_COMPENSATION' })).toEqual(['stuck']);
    expect(await ids({ state: 'COMPENSATING' })).toEqual(['undone']);
    expect(await ids({ state: 'ACTIVE' })).toEqual(['active-3', 'active-2', 'active-1']);
    expect(await ids({ state: 'ACTIVE', start: 1, end: 1 })).toEqual(['active-2']);
    expect((await queue.getGroups({ state: 'FAILED' }))[0]).toEqual(await queue.getGroupState('sorry'));
  });
});

describe('removeGroup and cleanGroups', () => {
  const groupKeys = async (name: string): Promise<string[]> =>
    Object.keys(await groups.keyspace(name)).filter((key) => key.includes(':groups'));

  it.each(['COMPLETED', 'FAILED', 'FAILED_COMPENSATION'] as const)(
    'a group that is %s is forgotten whole, and its jobs stay',
    async (state) => {
      const [name] = groups.names(1) as [string];
      const node = await end(name, state, { compensationOrder: 'reverse' });
      await groups.queue(name).removeGroup(node.groupId);
      expect(await groupKeys(name)).toEqual([]);
      expect(await groups.queue(name).getGroupState(node.groupId)).toBeNull();
      expect(await groups.queue(name).getGroupJobs(node.groupId)).toEqual([]);
      for (const job of node.jobs) expect(['completed', 'failed']).toContain(await job.getState());
      await expect(groups.queue(name).removeGroup(node.groupId)).rejects.toBeInstanceOf(GroupNotFoundError);
      // The jobs are free of it: they may be removed, and their compensations too.
      for (const job of node.jobs) await job.remove();
      expect(await groups.queue(name).getJobCounts('completed', 'failed')).toEqual({
        completed: 0,
        failed: 0,
      });
    },
  );

  it('cleaning takes those of one state that are old enough, oldest first, up to the limit', async () => {
    const [name] = groups.names(1) as [string];
    const queue = groups.queue(name);
    for (const groupId of ['c1', 'c2', 'c3']) await end(name, 'COMPLETED', { groupId });
    await end(name, 'FAILED', { groupId: 'f1' });
    const open = await groups.addPlain([name], { groupId: 'open' });
    expect(await queue.cleanGroups(60_000)).toEqual([]);
    const [first] = await eventually(async () => {
      const ids = await queue.cleanGroups(0, 1);
      expect(ids).toHaveLength(1);
      return ids;
    });
    expect(['c1', 'c2', 'c3']).toContain(first);
    await eventually(async () => {
      await queue.cleanGroups(0);
      expect(await queue.getGroupCounts()).toMatchObject({ COMPLETED: 0 });
    });
    expect(await queue.getGroupCounts()).toMatchObject({ FAILED: 1, ACTIVE: 1 });
    await eventually(async () => expect(await queue.cleanGroups(0, 10, 'FAILED')).toEqual(['f1']));
    expect(await open.group.getState()).toMatchObject({ state: 'ACTIVE' });
  });

  it('more than one step of cleaning', async () => {
    const [name] = groups.names(1) as [string];
    const nodes = await Promise.all(Array.from({ length: 230 }, () => groups.addPlain([name])));
    await Promise.all(nodes.map(({ group }) => group.cancel()));
    const queue = groups.queue(name);
    const cleaned: string[] = [];
    await eventually(async () => {
      cleaned.push(...(await queue.cleanGroups(0, 0, 'FAILED')));
      expect(cleaned).toHaveLength(230);
    });
    expect(new Set(cleaned)).toEqual(new Set(nodes.map(({ groupId }) => groupId)));
    expect(await groupKeys(name)).toEqual([]);
  });
});

describe('keepGroups', () => {
  it('by count: older terminal groups of the same state go by themselves', async () => {
    const [name] = groups.names(1) as [string];
    const queue = bundle.queue(name, { keepGroups: { count: 2 } });
    await queue.waitUntilReady();
    await eventually(async () =>
      expect(await bundle.server.admin.hget(`bull:${name}:meta`, 'yoke.keepGroups')).not.toBeNull(),
    );
    for (const groupId of ['k1', 'k2', 'k3', 'k4']) await end(name, 'COMPLETED', { groupId });
    await end(name, 'FAILED', { groupId: 'f1' });
    expect(await queue.getGroupCounts()).toMatchObject({ COMPLETED: 2, FAILED: 1 });
    expect((await queue.getGroups({ state: 'COMPLETED' })).map(({ id }) => id).sort()).toEqual(['k3', 'k4']);
    expect(await queue.getGroupState('k1')).toBeNull();
    expect(Object.keys(await groups.keyspace(name)).filter((key) => key.includes(':groups:k1'))).toEqual([]);
  });

  it('none at all: a waiting reader still hears of the end', async () => {
    const [name] = groups.names(1) as [string];
    const queue = bundle.queue(name, { keepGroups: { count: 0 } });
    await eventually(async () =>
      expect(await bundle.server.admin.hget(`bull:${name}:meta`, 'yoke.keepGroups')).not.toBeNull(),
    );
    const events = await listen(name);
    const node = await groups.addPlain([name]);
    const finished = node.group.waitUntilFinished(events, 20_000);
    await eventually(() => expect(events.listenerCount('group:completed')).toBe(1));
    await complete(await groups.claim(name));
    expect(await finished).toMatchObject({ id: node.groupId, state: 'COMPLETED' });
    expect(await queue.getGroups()).toEqual([]);
    expect(await groups.eventNames(name)).toEqual(['group:completed']);
  });

  it('by age', async () => {
    const [name] = groups.names(1) as [string];
    const queue = bundle.queue(name, { keepGroups: { age: 3600 } });
    await eventually(async () =>
      expect(await bundle.server.admin.hget(`bull:${name}:meta`, 'yoke.keepGroups')).not.toBeNull(),
    );
    await end(name, 'COMPLETED', { groupId: 'old' });
    // It ended two hours ago.
    const set = `bull:${name}:meta:groups:COMPLETED`;
    await bundle.server.admin.zadd(set, Date.now() - 7_200_000, 'old');
    await end(name, 'COMPLETED', { groupId: 'new' });
    expect((await queue.getGroups()).map(({ id }) => id)).toEqual(['new']);
  });
});

describe('retryGroupCompensation', () => {
  it('runs failed compensations again; when all have succeeded the group is FAILED and recovered', async () => {
    const names = groups.names(3);
    const node = await groups.addPlain(names);
    await complete(await groups.claim(names[0]!), 'one');
    await complete(await groups.claim(names[1]!), 'two');
    await fail(await groups.claim(names[2]!));
    await fail(await groups.claim(`${names[0]}:compensation`));
    await fail(await groups.claim(`${names[1]}:compensation`));
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED_COMPENSATION' });

    expect(await groups.queue(names[0]!).retryGroupCompensation(node.groupId)).toBe(2);
    const again = await groups.claim(`${names[0]}:compensation`);
    expect(again).toMatchObject({
      attemptsMade: 0,
      attemptsStarted: 1,
      data: { originalReturnValue: 'one' },
    });
    await complete(again);
    // One of two: not yet.
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED_COMPENSATION' });
    await fail(await groups.claim(`${names[1]}:compensation`), 'still closed');
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED_COMPENSATION' });
    expect((await node.group.getJobs())[1]!.compensation).toMatchObject({ failedReason: 'still closed' });

    expect(await node.group.retryCompensation()).toBe(1);
    await complete(await groups.claim(`${names[1]}:compensation`));
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
    expect(await groups.events(names[0]!)).toMatchObject([
      { event: 'group:compensating' },
      { event: 'group:failed', state: 'FAILED_COMPENSATION' },
      { event: 'group:recovered', groupId: node.groupId, groupName: 'order' },
    ]);
    expect(await groups.queue(names[0]!).getGroupCounts()).toMatchObject({
      FAILED: 1,
      FAILED_COMPENSATION: 0,
    });
  });

  it('a compensation that exhausts its attempts, with workers: the operator fixes the handler', async () => {
    const [name] = groups.names(1) as [string];
    const events = await listen(name);
    const recovered = new Promise((resolve) => events.on('group:recovered', resolve));
    const node = await groups.addPlain([name, name], {
      compensation: { a: { name: 'undo-a', opts: { attempts: 2 } } },
    });
    await complete(await groups.claim(name));
    await fail(await groups.claim(name));
    let isFixed = false;
    let runs = 0;
    bundle.worker(`${name}:compensation`, async () => {
      runs++;
      if (!isFixed) throw new Error('bug');
    });
    await groups.until(node, 'FAILED_COMPENSATION');
    expect(runs).toBe(2);
    isFixed = true;
    await groups.queue(name).retryGroupCompensation(node.groupId);
    expect(await recovered).toEqual({ groupId: node.groupId, groupName: 'order' });
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
    expect(runs).toBe(3);
  });

  it('a compensation whose job is gone is made again from what the group knows', async () => {
    const [name] = groups.names(1) as [string];
    const node = await groups.addPlain([name, name], {
      compensation: { a: { name: 'undo-a', data: { a: 1 }, opts: { attempts: 1, removeOnFail: true } } },
    });
    await complete(await groups.claim(name), { paid: 1 });
    await fail(await groups.claim(name));
    const first = await groups.claim(`${name}:compensation`);
    await fail(first);
    expect(await groups.queue(`${name}:compensation`).getJob(first.id!)).toBeUndefined();
    expect(await groups.queue(name).retryGroupCompensation(node.groupId)).toBe(1);
    const again = await groups.claim(`${name}:compensation`);
    expect(again).toMatchObject({ id: first.id, name: 'undo-a', data: first.data, attemptsMade: 0 });
    expect(again.opts).toMatchObject({ attempts: 1 });
    await complete(again);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
    expect(await groups.eventNames(name)).toEqual(['group:compensating', 'group:failed', 'group:recovered']);
  });

  it('retry of a failed compensation job, as a dashboard does it, recovers the group too', async () => {
    const [name] = groups.names(1) as [string];
    const node = await end(name, 'FAILED_COMPENSATION');
    const undo = (await groups.queue(`${name}:compensation`).getJob(`${node.groupId}-0`))!;
    await undo.retry('failed');
    expect((await node.group.getJobs())[0]!.compensation).toMatchObject({ status: 'waiting' });
    await groups.undoAll(name);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
    expect((await groups.eventNames(name)).at(-1)).toBe('group:recovered');
  });

  it('twice in a row runs nothing twice', async () => {
    const [name] = groups.names(1) as [string];
    const node = await end(name, 'FAILED_COMPENSATION');
    const queue = groups.queue(name);
    expect(await queue.retryGroupCompensation(node.groupId)).toBe(1);
    expect(await queue.retryGroupCompensation(node.groupId)).toBe(0);
    expect(await groups.undoAll(name)).toHaveLength(1);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });
});

describe('events', () => {
  it('come in order through QueueEvents, with the payloads of their types, once each', async () => {
    const [name] = groups.names(1) as [string];
    const events = await listen(name);
    const told: unknown[] = [];
    for (const event of [
      'group:completed',
      'group:compensating',
      'group:failed',
      'group:recovered',
    ] as const) {
      events.on(event, (args: object, id: string) => {
        expect(id).toMatch(/^\d+-\d+$/);
        told.push([event, args]);
      });
    }
    const ids = { groupId: 'e1', groupName: 'order' };
    await end(name, 'FAILED_COMPENSATION', { groupId: 'e1' });
    const failedJobId = (await groups.queue(name).getGroupState('e1'))!.failedJobId!;
    const [member] = await groups.queue(name).getGroupJobs('e1');
    await groups.queue(name).retryGroupCompensation('e1');
    await groups.undoAll(name);
    await end(name, 'COMPLETED', { groupId: 'e2' });
    await eventually(() => expect(told).toHaveLength(4));
    expect(told).toEqual([
      ['group:compensating', { ...ids, failedJobId, reason: 'broken' }],
      [
        'group:failed',
        {
          ...ids,
          state: 'FAILED_COMPENSATION',
          compensationResults: [
            { jobId: 'e1-0', originalJobKey: member!.jobKey, status: 'failed', failedReason: 'stuck' },
          ],
        },
      ],
      ['group:recovered', ids],
      ['group:completed', { groupId: 'e2', groupName: 'order' }],
    ]);
  });

  it('odd names and reasons reach the listener unchanged', async () => {
    const [name] = groups.names(1) as [string];
    const events = await listen(name);
    const odd = 'Müller "&" Söhne \\ \n 😀';
    const told = new Promise((resolve) => events.on('group:compensating', resolve));
    const node = await groups.addPlain([name, name], { name: odd });
    await complete(await groups.claim(name));
    await node.group.cancel(odd);
    expect(await told).toEqual({ groupId: node.groupId, groupName: odd, failedJobId: '', reason: odd });
    expect(await node.group.getState()).toMatchObject({ name: odd, reason: odd });
  });
});
