// What the members of a group may do to each other: late, at once, stalled, stepping aside. Whatever happens, a group
// ends once, and everything that completed is undone once.

import { describe, expect, it, vi } from 'vitest';
import { DelayedError, type GroupNode, type Job, WaitingError, Worker } from '../../../src/index.ts';
import { expireLeases } from '../../../src/testing/index.ts';
import { eventually, nextEvent } from '../../support/eventually.ts';
import { complete, fail, gate, TOKEN, useGroups } from './support.ts';

const groups = useGroups();
const { bundle } = groups;

/** Jobs named in `fails` fail, all others complete, when all of them have begun: their finishes go out together. */
async function finishTogether(fails: readonly string[]): Promise<{ name: string; node: GroupNode }> {
  const [name] = groups.names(1) as [string];
  const go = gate();
  const all = gate();
  let running = 0;
  const worker = bundle.worker(
    name,
    async (job) => {
      if (++running === 2) all.open();
      await go.opened;
      if (fails.includes(job.name)) throw new Error(`${job.name} broke`);
      return `${job.name} done`;
    },
    { concurrency: 2 },
  );
  const exchange = vi.spyOn(worker.leases, 'post');
  const node = await groups.addPlain([name, name]);
  await all.opened;
  go.open();
  await eventually(async () => expect(await groups.statuses(node)).not.toContain('active'));
  const finishes = exchange.mock.calls.map(
    ([argv]) => argv.filter((word) => ['complete', 'complete-', 'fail', 'fail-'].includes(word)).length,
  );
  expect(Math.max(...finishes)).toBe(2);
  return { name, node };
}

describe('in one batch', () => {
  it('the two last members complete: the group completes, once', async () => {
    const { name, node } = await finishTogether([]);
    expect(await node.group.getState()).toMatchObject({ state: 'COMPLETED', completedCount: 2 });
    expect(await groups.eventNames(name)).toEqual(['group:completed']);
  });

  it.each(['a', 'b'])('one member completes while %s fails: the completed one is undone', async (failing) => {
    const { name, node } = await finishTogether([failing]);
    const completing = failing === 'a' ? 'b' : 'a';
    expect(await node.group.getState()).toMatchObject({
      state: 'COMPENSATING',
      completedCount: 1,
      failedCount: 1,
      cancelledCount: 0,
    });
    const undos = await groups.undoAll(name);
    expect(undos.map((job) => job.data)).toMatchObject([
      { originalJobName: completing, originalReturnValue: `${completing} done` },
    ]);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
    expect(await groups.eventNames(name)).toEqual(['group:compensating', 'group:failed']);
  });

  it('both members fail: one compensation cycle, one end', async () => {
    const { name, node } = await finishTogether(['a', 'b']);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', failedCount: 2 });
    expect(await groups.eventNames(name)).toEqual(['group:compensating', 'group:failed']);
    expect(await groups.keyspace(`${name}:compensation`)).toEqual({});
  });
});

describe('a member that was running when its group failed', () => {
  /** `a` has completed, `b` runs, `c` has failed. */
  async function setup(opts: object = {}): Promise<{ names: string[]; node: GroupNode; late: Job }> {
    const names = groups.names(3);
    const node = await groups.addPlain(names, { opts: [undefined, opts] });
    await complete(await groups.claim(names[0]!), 'first');
    const late = await groups.claim(names[1]!);
    await fail(await groups.claim(names[2]!));
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING' });
    return { names, node, late };
  }

  it('is undone when it completes, and the group waits for it', async () => {
    const { names, node, late } = await setup();
    expect(await groups.undoAll(names[0]!)).toHaveLength(1);
    // All compensations so far have settled; the group may not end.
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING' });

    await complete(late, { late: true });
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING', completedCount: 2 });
    const [undo, ...more] = await groups.undoAll(names[1]!);
    expect(more).toEqual([]);
    expect(undo).toMatchObject({ data: { originalJobName: 'b', originalReturnValue: { late: true } } });
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', completedCount: 2, failedCount: 1 });
    expect(await groups.eventNames(names[0]!)).toEqual(['group:compensating', 'group:failed']);
  });

  it('and that nothing undoes, only delays the end', async () => {
    const names = groups.names(2);
    const node = await groups.addPlain(names, { compensation: {} });
    const late = await groups.claim(names[0]!);
    await fail(await groups.claim(names[1]!));
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING' });
    await complete(late);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', completedCount: 1 });
    expect(await groups.eventNames(names[0]!)).toEqual(['group:compensating', 'group:failed']);
  });

  it('may fail too: it is counted, and there is no second cycle', async () => {
    const { names, node, late } = await setup();
    await fail(late, 'late trouble');
    expect(await node.group.getState()).toMatchObject({
      state: 'COMPENSATING',
      failedCount: 2,
      reason: 'broken',
    });
    expect(await groups.keyspace(`${names[1]}:compensation`)).toEqual({});
    expect(await groups.undoAll(names[0]!)).toHaveLength(1);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
    expect(await groups.eventNames(names[0]!)).toEqual(['group:compensating', 'group:failed']);
  });

  it.each([
    ['at once', { attempts: 3 }],
    ['after a backoff', { attempts: 3, backoff: 60_000 }],
  ])('gets no further attempt, %s: it fails with its own reason', async (_when, opts) => {
    const { names, node, late } = await setup(opts);
    await fail(late, 'first attempt');
    expect(await groups.statuses(node)).toEqual(['completed', 'failed', 'failed']);
    const stored = await groups.queue(names[1]!).getJob(late.id!);
    expect(stored).toMatchObject({ failedReason: 'first attempt', attemptsMade: 1 });
    expect(await stored?.getState()).toBe('failed');
    await groups.undoAll(names[0]!);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', failedCount: 2 });
  });

  it('and that a worker would try again is told as failed', async () => {
    const names = groups.names(2);
    const go = gate();
    const isRunning = gate();
    const worker = bundle.worker(names[0]!, async () => {
      isRunning.open();
      await go.opened;
      throw new Error('attempt one');
    });
    const node = await groups.addPlain(names, { opts: [{ attempts: 5 }] });
    await isRunning.opened;
    await fail(await groups.claim(names[1]!));
    const failed = nextEvent(worker, 'failed');
    go.open();
    const [job, error] = await failed;
    expect([job.id, error.message]).toEqual([node.jobs[0]!.id, 'attempt one']);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', failedCount: 2 });
  });

  it.each([
    ['delayed', (job: Job) => job.moveToDelayed(Date.now() + 60_000, TOKEN)],
    ['wait', (job: Job) => job.moveToWait(TOKEN)],
  ])('and moves itself to %s is cancelled', async (_to, move) => {
    const { names, node, late } = await setup();
    await move(late);
    expect(await groups.statuses(node)).toEqual(['completed', 'cancelled', 'failed']);
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING', cancelledCount: 1 });
    expect(await groups.queue(names[1]!).getJob(late.id!)).toBeUndefined();
    expect(await groups.queue(names[1]!).getJobCounts('waiting', 'delayed', 'active')).toEqual({
      waiting: 0,
      delayed: 0,
      active: 0,
    });
    await groups.undoAll(names[0]!);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it.each(['delayed', 'wait', 'rate limit'])(
    'and steps aside from a handler (%s) is cancelled, and its worker goes on',
    async (how) => {
      const names = groups.names(2);
      const go = gate();
      const isRunning = gate();
      const worker: Worker = bundle.worker(names[0]!, async (job, token) => {
        if (job.name !== 'a') return 'next';
        isRunning.open();
        await go.opened;
        if (how === 'delayed') {
          await job.moveToDelayed(Date.now() + 60_000, token);
          throw new DelayedError();
        }
        if (how === 'wait') {
          await job.moveToWait(token);
          throw new WaitingError();
        }
        await worker.rateLimit(1);
        throw Worker.RateLimitError();
      });
      const errors: Error[] = [];
      worker.on('error', (error) => errors.push(error));
      const node = await groups.addPlain(names);
      await isRunning.opened;
      await fail(await groups.claim(names[1]!));
      go.open();
      await groups.until(node, 'FAILED');
      expect(await groups.statuses(node)).toEqual(['cancelled', 'failed']);

      const completed = nextEvent(worker, 'completed');
      await groups.queue(names[0]!).add('plain', {});
      expect((await completed)[1]).toBe('next');
      expect(errors).toEqual([]);
    },
  );

  it('while the group is still fine, stepping aside makes it pending again', async () => {
    const names = groups.names(2);
    const node = await groups.addPlain(names);
    await (await groups.claim(names[0]!)).moveToDelayed(Date.now() + 60_000, TOKEN);
    expect(await groups.statuses(node)).toEqual(['pending', 'pending']);
    await (await groups.claim(names[1]!)).moveToWait(TOKEN);
    expect(await groups.statuses(node)).toEqual(['pending', 'pending']);
    await groups.queue(names[0]!).cancelGroup(node.groupId);
    expect(await groups.statuses(node)).toEqual(['cancelled', 'cancelled']);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it('a failed attempt of a group that is fine makes the member pending again', async () => {
    const names = groups.names(2);
    const node = await groups.addPlain(names, { opts: [{ attempts: 2 }, { attempts: 2, backoff: 60_000 }] });
    await fail(await groups.claim(names[0]!));
    await fail(await groups.claim(names[1]!));
    expect(await groups.statuses(node)).toEqual(['pending', 'pending']);
    expect(await node.group.getState()).toMatchObject({ state: 'ACTIVE', failedCount: 0 });
    await complete(await groups.claim(names[0]!));
    await groups.queue(names[0]!).cancelGroup(node.groupId);
    expect(await groups.statuses(node)).toEqual(['completed', 'cancelled']);
    expect(await groups.queue(names[1]!).getDelayedCount()).toBe(0);
  });
});

describe('racing', () => {
  it('cancel against the last completion: one of two outcomes, never both', async () => {
    const outcomes = new Set<string>();
    for (let round = 0; round < 30; round++) {
      const [name] = groups.names(1) as [string];
      const node = await groups.addPlain([name]);
      const job = await groups.claim(name);
      const queue = groups.queue(name);
      await queue.waitUntilReady();
      // Whoever is sent first tends to win; both orders are tried.
      const calls = [() => complete(job), () => queue.cancelGroup(node.groupId)];
      if (round % 2) calls.reverse();
      const results = await Promise.allSettled(calls.map((call) => call()));
      if (round % 2) results.reverse();
      const [completed, cancelled] = results as [
        PromiseSettledResult<unknown>,
        PromiseSettledResult<unknown>,
      ];

      expect(completed.status).toBe('fulfilled');
      const { state } = (await node.group.getState())!;
      outcomes.add(state);
      if (state === 'COMPLETED') {
        expect(cancelled).toMatchObject({ reason: { name: 'InvalidGroupStateError' } });
        expect(await groups.eventNames(name)).toEqual(['group:completed']);
        expect(await groups.keyspace(`${name}:compensation`)).toEqual({});
      } else {
        expect(state).toBe('COMPENSATING');
        expect(cancelled.status).toBe('fulfilled');
        expect(await groups.undoAll(name)).toHaveLength(1);
        expect(await groups.eventNames(name)).toEqual(['group:compensating', 'group:failed']);
      }
    }
    expect([...outcomes].sort()).toEqual(['COMPENSATING', 'COMPLETED']);
  });

  it('two failures on different workers: one compensation cycle', async () => {
    for (let round = 0; round < 10; round++) {
      const names = groups.names(3);
      const node = await groups.addPlain(names);
      await complete(await groups.claim(names[0]!));
      const failing = [await groups.claim(names[1]!), await groups.claim(names[2]!)];
      await Promise.all(failing.map((job) => fail(job, `${job.name} broke`)));
      expect(await groups.undoAll(names[0]!)).toHaveLength(1);
      expect(await node.group.getState()).toMatchObject({ state: 'FAILED', failedCount: 2 });
      const events = await groups.events(names[0]!, node.groupId);
      expect(events.map(({ event }) => event)).toEqual(['group:compensating', 'group:failed']);
      expect(['b broke', 'c broke']).toContain(events[0]!.reason);
    }
  });

  it('many cancels at once: one is right, the others are told so', async () => {
    const [name] = groups.names(1) as [string];
    const node = await groups.addPlain([name, name]);
    await complete(await groups.claim(name));
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, () => groups.queue(name).cancelGroup(node.groupId)),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await groups.undoAll(name)).toHaveLength(1);
    expect(await groups.eventNames(name)).toEqual(['group:compensating', 'group:failed']);
  });
});

describe('a stalled member', () => {
  it('over its limit fails the group, with its reason', async () => {
    const names = groups.names(2);
    const node = await groups.addPlain(names);
    await complete(await groups.claim(names[1]!));
    const stalled = await groups.claim(names[0]!);
    expect(await expireLeases(groups.queue(names[0]!))).toEqual([stalled.id]);
    let runs = 0;
    bundle.worker(names[0]!, async () => runs++, { stalledInterval: 50, maxStalledCount: 0 });

    const reason = 'job stalled more than allowable limit';
    expect(await groups.until(node, 'COMPENSATING')).toMatchObject({ reason, failedJobId: stalled.id });
    expect(runs).toBe(0);
    expect(await groups.undoAll(names[1]!)).toHaveLength(1);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', completedCount: 1, failedCount: 1 });
    expect(await groups.eventNames(names[0]!)).toEqual(['group:compensating', 'group:failed']);
  });

  it('of a group that compensates runs again, completes and is undone', async () => {
    const names = groups.names(2);
    const node = await groups.addPlain(names);
    const stalled = await groups.claim(names[0]!);
    await fail(await groups.claim(names[1]!));
    await expireLeases(groups.queue(names[0]!));
    bundle.worker(names[0]!, async () => 'second try', { stalledInterval: 50, maxStalledCount: 5 });

    await eventually(async () => expect(await groups.statuses(node)).toEqual(['completed', 'failed']));
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING' });
    const undos = await groups.undoAll(names[0]!);
    expect(undos.map(({ data }) => data.originalReturnValue)).toEqual(['second try']);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
    // The first holder comes too late.
    await expect(complete(stalled)).rejects.toThrow();
    expect(await groups.eventNames(names[0]!)).toEqual(['group:compensating', 'group:failed']);
  });

  it('of a group that compensates, over its limit, fails', async () => {
    const names = groups.names(2);
    const node = await groups.addPlain(names);
    await groups.claim(names[0]!);
    await fail(await groups.claim(names[1]!));
    await expireLeases(groups.queue(names[0]!));
    bundle.worker(names[0]!, async () => 'never', { stalledInterval: 50, maxStalledCount: 0 });
    await groups.until(node, 'FAILED');
    expect(await groups.statuses(node)).toEqual(['failed', 'failed']);
    expect(await groups.keyspace(`${names[0]}:compensation`)).toEqual({});
  });

  it('that lies in wait again when its group fails is not cancelled: what it has done is unknown', async () => {
    const names = groups.names(2);
    const node = await groups.addPlain(names);
    await groups.claim(names[0]!);
    await expireLeases(groups.queue(names[0]!));
    const upkeep = groups.upkeep(names[0]!);
    await nextEvent(upkeep, 'stalled');
    await upkeep.close();
    expect(await groups.statuses(node)).toEqual(['active', 'pending']);
    expect(await groups.queue(names[0]!).getWaitingCount()).toBe(1);

    await fail(await groups.claim(names[1]!));
    expect(await groups.statuses(node)).toEqual(['active', 'failed']);
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING', cancelledCount: 0 });
    await complete(await groups.claim(names[0]!), 'again');
    expect(await groups.undoAll(names[0]!)).toHaveLength(1);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it('whose lease was lost cannot finish a second time for its group', async () => {
    const [name] = groups.names(1) as [string];
    const node = await groups.addPlain([name, name]);
    const first = await groups.claim(name);
    await expireLeases(groups.queue(name));
    const upkeep = groups.upkeep(name);
    await nextEvent(upkeep, 'stalled');
    await upkeep.close();
    await complete(await groups.claim(name), 'one');
    await expect(complete(first, 'two')).rejects.toThrow();
    expect(await node.group.getState()).toMatchObject({ state: 'ACTIVE', completedCount: 1 });
    await complete(await groups.claim(name));
    expect(await groups.eventNames(name)).toEqual(['group:completed']);
  });
});

describe('retention', () => {
  it('a member with removeOnComplete is undone with its return value', async () => {
    const names = groups.names(2);
    const node = await groups.addPlain(names, { opts: [{ removeOnComplete: true }] });
    bundle.worker(names[0]!, async () => ({ transaction: 7 }));
    await eventually(async () => expect(await groups.statuses(node)).toEqual(['completed', 'pending']));
    expect(await groups.queue(names[0]!).getJob(node.jobs[0]!.id!)).toBeUndefined();
    await fail(await groups.claim(names[1]!));

    const [undo] = await groups.undoAll(names[0]!);
    expect(undo?.data).toMatchObject({
      originalJobId: node.jobs[0]!.id,
      originalReturnValue: { transaction: 7 },
    });
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it('a member with removeOnFail fails its group and leaves no record', async () => {
    const names = groups.names(2);
    const node = await groups.addPlain(names, { opts: [undefined, { removeOnFail: true }] });
    await complete(await groups.claim(names[0]!));
    await fail(await groups.claim(names[1]!), 'gone');
    expect(await groups.queue(names[1]!).getJob(node.jobs[1]!.id!)).toBeUndefined();
    expect(await node.group.getState()).toMatchObject({ state: 'COMPENSATING', reason: 'gone' });
    expect(await groups.undoAll(names[0]!)).toHaveLength(1);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it('all members removed on completion: the group completes all the same', async () => {
    const [name] = groups.names(1) as [string];
    const opts = { removeOnComplete: true };
    const node = await groups.addPlain([name, name, name], { opts: [opts, opts, opts] });
    bundle.worker(name, async () => {}, { concurrency: 3 });
    await groups.until(node, 'COMPLETED');
    expect(await groups.queue(name).getCompletedCount()).toBe(0);
    expect(await groups.eventNames(name)).toEqual(['group:completed']);
  });

  it('the worker option is honoured for members, and for compensations the option of their own', async () => {
    const names = groups.names(2);
    const node = await groups.addPlain(names, {
      compensation: {
        a: { name: 'undo-a', opts: { attempts: 1, removeOnComplete: true } },
      },
    });
    bundle.worker(names[0]!, async () => 'kept nowhere', { removeOnComplete: { count: 0 } });
    await eventually(async () => expect(await groups.statuses(node)).toEqual(['completed', 'pending']));
    expect(await groups.queue(names[0]!).getCompletedCount()).toBe(0);
    await fail(await groups.claim(names[1]!));
    const [undo] = await groups.undoAll(names[0]!);
    expect(undo?.data.originalReturnValue).toBe('kept nowhere');
    expect(await groups.queue(`${names[0]}:compensation`).getCompletedCount()).toBe(0);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });
});

describe('members', () => {
  it('with the same name share one compensation mapping and are each undone', async () => {
    const [name] = groups.names(1) as [string];
    const jobs = [1, 2, 3].map((n) => ({ name: 'charge', queueName: name, data: { n } }));
    const node = await groups.add({
      name: 'order',
      jobs,
      compensation: { charge: { name: 'refund', data: { shop: 1 } } },
    });
    await complete(await groups.claim(name), 'one');
    await complete(await groups.claim(name), 'two');
    await fail(await groups.claim(name));
    const undos = await groups.undoAll(name);
    expect(
      undos.map(({ id, name: job, data }) => [id, job, data.originalJobId, data.originalReturnValue]),
    ).toEqual([
      [`${node.groupId}-0`, 'refund', node.jobs[0]!.id, 'one'],
      [`${node.groupId}-1`, 'refund', node.jobs[1]!.id, 'two'],
    ]);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it('in wait, prioritized, delayed and on a paused queue complete as one', async () => {
    const names = groups.names(4);
    await groups.queue(names[3]!).pause();
    const node = await groups.addPlain(names, { opts: [undefined, { priority: 3 }, { delay: 20 }] });
    for (const name of names) bundle.worker(name, async () => 'done');
    await eventually(async () =>
      expect(await groups.statuses(node)).toEqual(['completed', 'completed', 'completed', 'pending']),
    );
    expect(await node.group.getState()).toMatchObject({ state: 'ACTIVE' });
    await groups.queue(names[3]!).resume();
    await groups.until(node, 'COMPLETED');
    expect(await groups.eventNames(names[0]!)).toEqual(['group:completed']);
  });

  it('in wait, prioritized, delayed and on a paused queue are all taken out, and their queues say so', async () => {
    const names = groups.names(5);
    await groups.queue(names[3]!).pause();
    const node = await groups.addPlain(names, {
      opts: [undefined, { priority: 3 }, { delay: 60_000 }, undefined, { lifo: true }],
    });
    const bystanders = await Promise.all(names.map((name) => groups.queue(name).add('other', {})));
    await fail(await groups.claim(names[0]!));
    expect(await groups.statuses(node)).toEqual([
      'failed',
      'cancelled',
      'cancelled',
      'cancelled',
      'cancelled',
    ]);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', cancelledCount: 4 });
    const from = ['prioritized', 'delayed', 'wait', 'wait'];
    for (const [i, job] of node.jobs.slice(1).entries()) {
      const removed = (await groups.stream(job.queueName)).filter(({ event }) => event === 'removed');
      expect(removed).toEqual([{ event: 'removed', jobId: job.id, prev: from[i] }]);
    }
    for (const [i, job] of bystanders.entries()) {
      expect(await job.getState(), names[i]).toBe('waiting');
    }
  });

  it('of several groups on the same queues do not touch each other', async () => {
    const names = groups.names(2);
    const nodes = await Promise.all([1, 2, 3].map(() => groups.addPlain(names)));
    await complete(await groups.claim(names[0]!));
    const first = await groups.claim(names[1]!);
    await fail(first);
    const states = await Promise.all(nodes.map(async ({ group }) => (await group.getState())!.state));
    expect(states.sort()).toEqual(['ACTIVE', 'ACTIVE', 'COMPENSATING']);
    expect(await groups.queue(names[0]!).getGroupCounts()).toMatchObject({ ACTIVE: 2, COMPENSATING: 1 });
  });

  it('without a compensation mapping are skipped when the group is undone', async () => {
    const names = groups.names(3);
    const node = await groups.addPlain(names, { compensation: { b: { name: 'undo-b' } } });
    await complete(await groups.claim(names[0]!));
    await complete(await groups.claim(names[1]!));
    await fail(await groups.claim(names[2]!));
    expect(await groups.keyspace(`${names[0]}:compensation`)).toEqual({});
    expect(await groups.undoAll(names[1]!)).toHaveLength(1);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', completedCount: 2 });
  });

  it('a member that has completed without a mapping, and another that fails: FAILED at once', async () => {
    const names = groups.names(2);
    const node = await groups.addPlain(names, { compensation: { b: { name: 'undo-b' } } });
    await complete(await groups.claim(names[0]!));
    await fail(await groups.claim(names[1]!));
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED', completedCount: 1 });
    expect(await groups.eventNames(names[0]!)).toEqual(['group:failed']);
  });

  it('an unrecoverable error and a deferred failure fail the group at once', async () => {
    const names = groups.names(1);
    const node = await groups.addPlain(names, { opts: [{ attempts: 5 }] });
    bundle.worker(names[0]!, async (job) => {
      job.discard();
      throw new Error('no such account');
    });
    expect(await groups.until(node, 'FAILED')).toMatchObject({ reason: 'no such account' });

    const others = groups.names(1);
    const deferred = await groups.addPlain(others);
    await bundle.server.admin.hset(`bull:${others[0]}:${deferred.jobs[0]!.id}`, 'defa', 'not to run');
    bundle.worker(others[0]!, async () => 'never');
    expect(await groups.until(deferred, 'FAILED')).toMatchObject({ reason: 'not to run' });
  });

  it('large return values and odd data reach the compensation unchanged', async () => {
    const names = groups.names(2);
    const value = { text: 'ü\u0000"\\%1%%\n', list: [[], {}, null, 1.5e300], big: 'x'.repeat(200_000) };
    const data = { text: '%0 %1 \u0000 "', empty: [], nested: { a: [] } };
    const node = await groups.addPlain(names, { compensation: { a: { name: 'undo "a" %1', data } } });
    await complete(await groups.claim(names[0]!), value);
    await fail(await groups.claim(names[1]!));
    const [undo] = await groups.undoAll(names[0]!);
    expect(undo?.name).toBe('undo "a" %1');
    expect(undo?.data.originalReturnValue).toEqual(value);
    expect(undo?.data.compensationData).toEqual(data);
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });
});
