// Groups added together share a call: each is added whole or refused whole, whatever becomes of those beside it.

import { describe, expect, it } from 'vitest';
import type { GroupNode } from '../../../src/index.ts';
import { complete, useGroups } from './support.ts';

const groups = useGroups();
const { bundle } = groups;

/** How many calls of the engine the server carries out meanwhile. */
async function calls(act: () => Promise<unknown>): Promise<number> {
  const { admin } = bundle.server;
  const total = async () => {
    const rows = String(await admin.info('commandstats')).matchAll(
      /cmdstat_(?:fcall|eval|evalsha):calls=(\d+)/g,
    );
    return [...rows].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const before = await total();
  await act();
  return (await total()) - before;
}

const jobsOn = (names: readonly string[], ids: readonly string[] = []) =>
  names.map((queueName, i) => ({
    name: 'work',
    queueName,
    data: { i },
    ...(ids[i] && { opts: { jobId: ids[i] } }),
  }));

describe('groups added together', () => {
  it('go to their home in one call, and keep their order', async () => {
    const names = groups.names(3);
    const producer = groups.producer();
    await producer.addGroup({ name: 'first', jobs: jobsOn(names) });
    let nodes: GroupNode[] = [];
    const add = async () => {
      nodes = await Promise.all(
        Array.from({ length: 10 }, (_, i) => producer.addGroup({ name: `g${i}`, jobs: jobsOn(names) })),
      );
    };
    expect(await calls(add)).toBe(1);
    expect(nodes.map(({ jobs }) => jobs.map(({ id }) => id))).toEqual(
      nodes.map((_, i) => names.map(() => String(i + 2))),
    );
    for (const node of nodes) expect(await groups.statuses(node)).toEqual(['pending', 'pending', 'pending']);
  });

  it('with different homes are calls of their own', async () => {
    const names = groups.names(2);
    const producer = groups.producer();
    for (const name of names) await producer.addGroup({ name: 'first', jobs: jobsOn([name]) });
    const add = () =>
      Promise.all([0, 1, 0, 1].map((i) => producer.addGroup({ name: 'g', jobs: jobsOn([names[i]!]) })));
    expect(await calls(add)).toBe(2);
    for (const name of names) expect(await groups.queue(name).getGroupCounts()).toMatchObject({ ACTIVE: 3 });
  });

  it('one with an id that is taken is refused, with nothing of it added; the others are there', async () => {
    const [home, other] = groups.names(2) as [string, string];
    await groups.queue(other).add('there', {}, { jobId: 'taken' });
    const producer = groups.producer();
    const [first, second, third] = await Promise.allSettled([
      producer.addGroup({ name: 'a', jobs: jobsOn([home, other], ['a1', 'a2']) }),
      producer.addGroup({ name: 'b', groupId: 'b', jobs: jobsOn([home, other], ['b1', 'taken']) }),
      producer.addGroup({ name: 'c', jobs: jobsOn([home, other], ['c1', 'c2']) }),
    ]);
    expect([first.status, third.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'GROUP_JOB_TAKEN' } });
    expect(await groups.queue(home).getGroupState('b')).toBeNull();
    expect(await groups.queue(home).getJob('b1')).toBeUndefined();
    expect(await groups.queue(home).getGroupCounts()).toMatchObject({ ACTIVE: 2 });
  });

  it('one that the server cannot write is refused with its reason; the others are there', async () => {
    const [home, other] = groups.names(2) as [string, string];
    await bundle.server.admin.set(`bull:${other}:wait`, 'no list');
    const producer = groups.producer();
    const [first, second] = await Promise.allSettled([
      producer.addGroup({ name: 'a', jobs: jobsOn([home]) }),
      producer.addGroup({ name: 'b', groupId: 'b', jobs: jobsOn([home, other]) }),
    ]);
    expect(first.status).toBe('fulfilled');
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'CALL_REFUSED' } });
    expect(String((second as PromiseRejectedResult).reason)).toContain('WRONGTYPE');
    expect(await groups.queue(home).getGroupState('b')).toBeNull();
    expect(await groups.queue(home).getWaitingCount()).toBe(1);
  });

  it('the same id twice is one group, told twice', async () => {
    const [home] = groups.names(1) as [string];
    const producer = groups.producer();
    const [first, second] = await Promise.all([
      producer.addGroup({ name: 'a', groupId: 'same', jobs: jobsOn([home, home]) }),
      producer.addGroup({ name: 'a', groupId: 'same', jobs: jobsOn([home]) }),
    ]);
    expect(second!.jobs.map(({ id }) => id)).toEqual(first!.jobs.map(({ id }) => id));
    expect(await groups.queue(home).getWaitingCount()).toBe(2);
  });

  it('more than one call may carry: none is split, none is lost', async () => {
    const names = groups.names(2);
    const producer = groups.producer();
    const sizes = [1, 100, 60, 3, 400, 2, ...Array.from({ length: 60 }, () => 3)];
    const nodes = await Promise.all(
      sizes.map((size) =>
        producer.addGroup({
          name: 'many',
          jobs: jobsOn(Array.from({ length: size }, (_, i) => names[i % 2]!)),
        }),
      ),
    );
    expect(nodes.map(({ jobs }) => jobs.length)).toEqual(sizes);
    expect(await groups.queue(names[0]!).getGroupCounts()).toMatchObject({ ACTIVE: sizes.length });
    const states = await Promise.all(nodes.map(({ group }) => group.getState()));
    expect(states.map((state) => state?.totalJobs)).toEqual(sizes);
  });

  it('a close that follows at once waits for them', async () => {
    const [home] = groups.names(1) as [string];
    const producer = groups.producer();
    const added = Promise.all([1, 2, 3].map(() => producer.addGroup({ name: 'g', jobs: jobsOn([home]) })));
    await producer.close();
    expect(await added).toHaveLength(3);
    expect(await groups.queue(home).getGroupCounts()).toMatchObject({ ACTIVE: 3 });
  });

  it('each ends on its own', async () => {
    const [home] = groups.names(1) as [string];
    const nodes = await Promise.all([1, 2].map(() => groups.add({ name: 'g', jobs: jobsOn([home]) })));
    await complete(await groups.claim(home));
    expect(await nodes[0]!.group.getState()).toMatchObject({ state: 'COMPLETED' });
    expect(await nodes[1]!.group.getState()).toMatchObject({ state: 'ACTIVE', completedCount: 0 });
  });
});
