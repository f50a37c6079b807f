// Flows are created by BullMQ and run by Yoke, alone and together with BullMQ: children release their parents,
// parents see their children's values, and every failure policy does what it says.

import { describe, expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { eventually } from '../support/eventually.ts';
import { type Any, type Library, useLibraries } from './libraries.ts';

const bundle = useBundle();
const { yoke, six, five } = useLibraries(bundle);

interface Names {
  readonly parents: string;
  readonly children: string;
}

const names = (): Names => ({ parents: bundle.name(), children: bundle.name() });

/** Runs children: `fail` in the data throws, everything else returns its value. */
const child = async (job: Any) => {
  if (job.data.fail) throw new Error(`${job.name} failed`);
  return job.data.value;
};

/** What a parent can see of its children when it runs. */
const view = async (job: Any) => ({
  values: Object.values(await job.getChildrenValues()).sort(),
  ignored: Object.values(await job.getIgnoredChildrenFailures()).sort(),
  left: (await job.getDependenciesCount()).unprocessed ?? 0,
});

describe.each([
  { maker: six, children: yoke, parents: yoke },
  { maker: six, children: yoke, parents: six },
  { maker: six, children: six, parents: yoke },
  { maker: five, children: yoke, parents: yoke },
])(
  '$maker.name makes the flow, $children.name runs the children, $parents.name the parents:',
  ({ maker, children, parents }) => {
    async function run(
      flow: (queues: Names) => object,
    ): Promise<{ parent: Any; queues: Names; tree: Any; peer: Any }> {
      const queues = names();
      const tree = await maker.flows().add(flow(queues) as never);
      children.worker(queues.children, child, { concurrency: 3 });
      parents.worker(queues.parents, view);
      const queue = yoke.queue(queues.parents);
      return { parent: () => queue.getJob(tree.job.id), queues, tree, peer: maker.queue(queues.parents) };
    }

    it('a parent runs after all its children and sees their values', async () => {
      const { parent, queues } = await run(({ parents: queueName, children: childQueue }) => ({
        name: 'parent',
        queueName,
        children: [1, 2, 3].map((value) => ({
          name: `child-${value}`,
          queueName: childQueue,
          data: { value },
          opts: value === 2 ? { delay: 60 } : value === 3 ? { removeOnComplete: true } : { priority: 2 },
        })),
      }));

      await eventually(async () => expect(await (await parent()).getState()).toBe('completed'));

      const finished = await parent();
      expect(finished.returnvalue).toEqual({ values: [1, 2, 3], ignored: [], left: 0 });
      expect(await yoke.queue(queues.children).getJobCounts()).toMatchObject({
        completed: 2,
        waiting: 0,
        delayed: 0,
        active: 0,
      });
      expect(Object.keys((await finished.getDependencies()).processed)).toHaveLength(3);
      // Both libraries read the same of it.
      const peer = await maker.queue(queues.parents).getJob(finished.id);
      expect(await peer.getChildrenValues()).toEqual(await finished.getChildrenValues());
    });

    it('a parent with a delay or a priority of its own goes where its options say', async () => {
      const queues = names();
      const producer = maker.flows();
      const flow = (name: string, opts: object) => ({
        name,
        queueName: queues.parents,
        opts,
        children: [{ name: 'child', queueName: queues.children, data: { value: name } }],
      });
      const late = await producer.add(flow('late', { delay: 300_000 }));
      const urgent = await producer.add(flow('urgent', { priority: 4 }));
      const queue = yoke.queue(queues.parents);
      children.worker(queues.children, child);

      await eventually(async () => {
        expect(await queue.getJobState(late.job.id)).toBe('delayed');
        expect(await queue.getJobState(urgent.job.id)).toBe('prioritized');
      });
      await (await queue.getJob(late.job.id)).promote();
      parents.worker(queues.parents, view);
      await eventually(async () => expect(await queue.getCompletedCount()).toBe(2));
      expect((await queue.getJob(late.job.id)).returnvalue.values).toEqual(['late']);
    });

    it('a failed child takes its parent and its grandparent down with failParentOnFailure', async () => {
      const { parent, queues, tree } = await run(({ parents: queueName, children: childQueue }) => ({
        name: 'grandparent',
        queueName,
        children: [
          {
            name: 'parent',
            queueName,
            opts: { failParentOnFailure: true },
            children: [
              {
                name: 'bad',
                queueName: childQueue,
                data: { fail: true },
                opts: { failParentOnFailure: true, attempts: 2 },
              },
              { name: 'good', queueName: childQueue, data: { value: 1 } },
            ],
          },
        ],
      }));

      await eventually(async () => expect(await (await parent()).getState()).toBe('failed'));

      const middle = tree.children[0];
      const bad = middle.children[0].job;
      const queue = yoke.queue(queues.parents);
      expect((await parent()).failedReason).toBe(`child bull:${queues.parents}:${middle.job.id} failed`);
      expect((await queue.getJob(middle.job.id)).failedReason).toBe(
        `child bull:${queues.children}:${bad.id} failed`,
      );
      expect((await yoke.queue(queues.children).getJob(bad.id)).attemptsMade).toBe(2);
      await eventually(async () => {
        expect(await yoke.queue(queues.children).getJobCounts('completed', 'failed')).toEqual({
          completed: 1,
          failed: 1,
        });
      });
    });

    it('ignored and removed dependencies release the parent; ignored ones tell it why', async () => {
      const { parent } = await run(({ parents: queueName, children: childQueue }) => ({
        name: 'parent',
        queueName,
        children: [
          {
            name: 'ignored',
            queueName: childQueue,
            data: { fail: true },
            opts: { ignoreDependencyOnFailure: true },
          },
          {
            name: 'dropped',
            queueName: childQueue,
            data: { fail: true },
            opts: { removeDependencyOnFailure: true },
          },
          { name: 'good', queueName: childQueue, data: { value: 'kept' } },
        ],
      }));

      await eventually(async () => expect(await (await parent()).getState()).toBe('completed'));

      expect((await parent()).returnvalue).toEqual({
        values: ['kept'],
        ignored: ['ignored failed'],
        left: 0,
      });
    });

    it('continueParentOnFailure starts the parent at the first failure; it may remove what is left', async () => {
      const queues = names();
      const tree = await maker.flows().add({
        name: 'parent',
        queueName: queues.parents,
        children: [
          {
            name: 'bad',
            queueName: queues.children,
            data: { fail: true },
            opts: { continueParentOnFailure: true },
          },
          { name: 'far', queueName: queues.children, data: { value: 1 }, opts: { delay: 300_000 } },
        ],
      });
      children.worker(queues.children, child);
      parents.worker(queues.parents, async (job) => {
        const seen = await view(job);
        await job.removeUnprocessedChildren();
        return seen;
      });
      const queue = yoke.queue(queues.parents);

      await eventually(async () => expect(await queue.getJobState(tree.job.id)).toBe('completed'));

      expect((await queue.getJob(tree.job.id)).returnvalue).toEqual({
        values: [],
        ignored: ['bad failed'],
        left: 1,
      });
      expect(await yoke.queue(queues.children).getDelayedCount()).toBe(0);
    });

    it('without a policy the parent waits until the failed child is retried and succeeds', async () => {
      const queues = names();
      const tree = await maker.flows().add({
        name: 'parent',
        queueName: queues.parents,
        children: [{ name: 'moody', queueName: queues.children, data: {} }],
      });
      let isGood = false;
      children.worker(queues.children, async () => {
        if (!isGood) throw new Error('not yet');
        return 'now';
      });
      parents.worker(queues.parents, view);
      const childQueue = yoke.queue(queues.children);
      const queue = yoke.queue(queues.parents);
      const id = tree.children[0].job.id;
      await eventually(async () => expect(await childQueue.getJobState(id)).toBe('failed'));
      expect(await queue.getJobState(tree.job.id)).toBe('waiting-children');

      isGood = true;
      await (await childQueue.getJob(id)).retry();

      await eventually(async () => expect(await queue.getJobState(tree.job.id)).toBe('completed'));
      expect((await queue.getJob(tree.job.id)).returnvalue.values).toEqual(['now']);
    });
  },
);

describe.each([yoke, six])(
  '$name runs a flow whose handler waits for children that it finds late:',
  (library: Library) => {
    it('moveToWaitingChildren lets the job come back when they are done', async () => {
      const queues = names();
      const childQueue = six.queue(queues.children);
      const queue = yoke.queue(queues.parents);
      const { WaitingChildrenError } = await import('bullmq');
      const steps: string[] = [];
      library.worker(queues.parents, async (job, token) => {
        steps.push(job.data.step ?? 'first');
        if (!job.data.step) {
          for (const value of [1, 2]) {
            await childQueue.add(
              'child',
              { value },
              { parent: { id: job.id, queue: job.queueQualifiedName } },
            );
          }
          await job.updateData({ step: 'second' });
        }
        if (await job.moveToWaitingChildren(token)) throw new WaitingChildrenError();
        return view(job);
      });
      const job = await queue.add('parent', {});
      await eventually(async () => expect(await queue.getJobState(job.id)).toBe('waiting-children'));
      yoke.worker(queues.children, child);

      await eventually(async () => expect(await queue.getJobState(job.id)).toBe('completed'));

      expect(steps).toEqual(['first', 'second']);
      expect((await queue.getJob(job.id)).returnvalue).toEqual({ values: [1, 2], ignored: [], left: 0 });
    });
  },
);

it('removing a child with yoke releases its parent, and removing the parent takes its children', async () => {
  const queues = names();
  const producer = six.flows();
  const make = () =>
    producer.add({
      name: 'parent',
      queueName: queues.parents,
      children: [{ name: 'only', queueName: queues.children, data: { value: 1 } }],
    });
  const [freed, gone] = [await make(), await make()];
  const queue = yoke.queue(queues.parents);
  const childQueue = yoke.queue(queues.children);

  await childQueue.remove(freed.children![0]!.job.id);
  expect(await queue.getJobState(freed.job.id)).toBe('waiting');
  await queue.remove(gone.job.id);
  expect(await childQueue.getJob(gone.children![0]!.job.id)).toBeUndefined();

  yoke.worker(queues.parents, view);
  await eventually(async () => expect(await queue.getJobState(freed.job.id)).toBe('completed'));
  expect(await six.queue(queues.parents).getJobCounts('waiting-children', 'waiting')).toEqual({
    'waiting-children': 0,
    waiting: 0,
  });
});

describe.each([
  { parents: yoke, children: six },
  { parents: yoke, children: yoke },
  { parents: six, children: six },
])('$parents.name runs the parent, $children.name the child:', ({ parents, children }) => {
  it('a child that a running job was given fails for it, and keeps it from completing when it is retried', async () => {
    const queues = names();
    const peer = six.queue(queues.children);
    children.worker(queues.children, child);
    let runs = 0;
    parents.worker(queues.parents, async (job: Any) => {
      runs++;
      if (runs > 1) return;
      const parent = { id: job.id, queue: job.queueQualifiedName };
      const given = await peer.add('late', { fail: true }, { parent, failParentOnFailure: true });
      await eventually(async () => expect(await given.getState()).toBe('failed'));
    });
    const job = await six.queue(queues.parents).add('parent', {});
    const read = () => six.queue(queues.parents).getJob(job.id);
    await eventually(async () => expect(await job.getState()).toBe('failed'));
    const { failedReason } = await read();

    // Its counters say that it has never begun; of its first run only the stack trace is left.
    await (await read()).retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true });
    await eventually(async () => expect((await read()).attemptsMade).toBe(1));
    expect({ runs, state: await job.getState() }).toEqual({ runs: 2, state: 'failed' });
    for (const reason of [failedReason, (await read()).failedReason]) {
      expect(reason).toContain('at least one failed child');
    }
  });
});
