// What must and must not compile around groups. Checked by the compiler; nothing here runs.

import {
  type CompensationData,
  type FinalGroupState,
  FlowProducer,
  type GroupJobEntry,
  type GroupNode,
  GroupNotFoundError,
  type GroupOptions,
  type GroupState,
  type GroupStateName,
  InvalidGroupStateError,
  type Job,
  JobGroup,
  Queue,
  type QueueEvents,
  Worker,
  type YokeError,
} from '../../src/index.ts';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_isSame: Same<A, B>): void {}

const jobs: GroupOptions['jobs'] = [
  { name: 'pay', queueName: 'payments', data: { amount: 5 }, opts: { delay: 5 } },
];

export async function producing(flow: FlowProducer): Promise<void> {
  const node: GroupNode = await flow.addGroup({
    name: 'order',
    jobs,
    compensation: { pay: { name: 'refund', data: 1, opts: { attempts: 5 }, onFailed: true } },
    groupId: 'order-17',
    queueName: 'orders',
    timeoutMs: 5,
    compensationOrder: 'reverse',
  });
  same<Job, (typeof node.jobs)[number]>(true);
  same<JobGroup, typeof node.group>(true);
  // @ts-expect-error a group has jobs
  await flow.addGroup({ name: 'order' });
  // @ts-expect-error a job of a group says which queue it is for
  await flow.addGroup({ name: 'order', jobs: [{ name: 'pay' }] });
  // @ts-expect-error there are two orders
  await flow.addGroup({ name: 'order', jobs, compensationOrder: 'random' });
  // @ts-expect-error when a compensation runs is the group's matter
  await flow.addGroup({ name: 'order', jobs, compensation: { pay: { name: 'refund', opts: { delay: 5 } } } });
}

export async function asking(queue: Queue, events: QueueEvents): Promise<void> {
  same<GroupState | null, Awaited<ReturnType<typeof queue.getGroupState>>>(true);
  same<GroupJobEntry[], Awaited<ReturnType<typeof queue.getGroupJobs>>>(true);
  same<Record<GroupStateName, number>, Awaited<ReturnType<typeof queue.getGroupCounts>>>(true);
  const group = queue.getGroup('order-17');
  same<GroupState, Awaited<ReturnType<typeof group.waitUntilFinished>>>(true);
  await group.waitUntilFinished(events, 1000);
  await queue.cancelGroup('order-17', 'no stock');
  await queue.cleanGroups(5, 10, 'FAILED');
  await queue.getGroups({ state: 'ACTIVE', start: 0, end: 9 });
  // @ts-expect-error only groups that have ended can be cleaned
  await queue.cleanGroups(5, 10, 'ACTIVE');
  // @ts-expect-error a state is one of five
  await queue.getGroups({ state: 'active' });
  // @ts-expect-error a job becomes a member by addGroup alone
  await queue.add('pay', {}, { group: 5 });
  new Queue('q', { keepGroups: { age: 3600, count: 100 } });
}

export function hearing(events: QueueEvents): void {
  events.on('group:completed', ({ groupId, groupName }) => [groupId.length, groupName.length]);
  events.on('group:compensating', ({ failedJobId, reason }) => [failedJobId.length, reason.length]);
  events.on('group:failed', ({ state, compensationResults }) => {
    same<Exclude<FinalGroupState, 'COMPLETED'>, typeof state>(true);
    for (const { jobId, originalJobKey, status } of compensationResults) void [jobId, originalJobKey, status];
  });
  events.on('group:recovered', ({ groupId }) => groupId.length);
  // @ts-expect-error nothing has failed in a group that completed
  events.on('group:completed', ({ failedJobId }) => failedJobId);
}

export function undoing(): void {
  new Worker<CompensationData>('payments:compensation', async ({ data }) => {
    same<string, typeof data.groupId>(true);
    return [data.originalJobName, data.originalJobId, data.originalReturnValue, data.compensationData];
  });
}

export async function refusing(job: Job): Promise<void> {
  const group = await job.getGroup();
  if (group) await group.cancel();
  const errors: (new (...args: never[]) => YokeError)[] = [GroupNotFoundError, InvalidGroupStateError];
  void [errors, JobGroup, FlowProducer];
}
