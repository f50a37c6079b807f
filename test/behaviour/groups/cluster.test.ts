// Groups on a cluster: one transition is one slot.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FlowProducer, Queue, QueueEvents, Worker } from '../../../src/index.ts';
import { startCluster, type TestCluster } from '../../support/cluster.ts';
import { hasNative } from '../../support/leg.ts';

describe.runIf(hasNative)('on a cluster', () => {
  let cluster: TestCluster;

  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(async () => {
    await cluster.stop();
  });

  async function allKeys(): Promise<string[]> {
    const client = cluster.connect();
    await client.ping();
    return (await Promise.all(client.nodes('master').map((node) => node.keys('*')))).flat();
  }

  it('members in more than one slot are refused, and the message says how to choose a tag', async () => {
    const producer = new FlowProducer({ connection: cluster.connect() });
    const jobs = ['payments', 'inventory'].map((queueName) => ({ name: queueName, queueName }));
    await expect(producer.addGroup({ name: 'order', jobs })).rejects.toMatchObject({
      key: 'GROUP_SPANS_SLOTS',
      message: expect.stringContaining('{shop}-payments'),
    });
    await expect(
      producer.addGroup({ name: 'order', jobs: [jobs[0]!], queueName: 'home' }),
    ).rejects.toMatchObject({ key: 'GROUP_SPANS_SLOTS' });
    expect(await allKeys()).toEqual([]);
    await producer.close();
  });

  it('queues with a common tag work: a group is undone', async () => {
    const names = ['{shop}-payments', '{shop}-inventory'];
    const connection = () => ({ connection: cluster.connect() });
    const producer = new FlowProducer(connection());
    const events = new QueueEvents(names[0]!, connection());
    const queue = new Queue(names[0]!, connection());
    await events.waitUntilReady();
    const undone: unknown[] = [];
    const workers = [
      new Worker(names[0]!, async () => 'paid', connection()),
      new Worker(
        names[1]!,
        async (job) => {
          // The charge goes first.
          for (;;) {
            const [charge] = await job.getGroup()!.getJobs();
            if (charge?.status === 'completed') throw new Error('no stock');
          }
        },
        connection(),
      ),
      new Worker(
        `${names[0]}:compensation`,
        async (job) => undone.push(job.data.originalReturnValue),
        connection(),
      ),
    ];
    const node = await producer.addGroup({
      name: 'order',
      jobs: names.map((queueName, i) => ({ name: `job${i}`, queueName })),
      compensation: { job0: { name: 'refund' } },
    });
    const state = await node.group.waitUntilFinished(events, 20_000);
    expect(state).toMatchObject({ state: 'FAILED', completedCount: 1, failedCount: 1, reason: 'no stock' });
    expect(await queue.getGroupState(node.groupId)).toEqual(state);
    expect(undone).toEqual(['paid']);
    for (const object of [...workers, events, queue, producer]) await object.close();
  });
});
