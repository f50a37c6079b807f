// Odd states: what older clients, crashes and deleted keys leave behind, and where BullMQ is known to slip.

import { scenario, useServer } from './scenario.ts';
import {
  add,
  checkStalled,
  complete,
  fail,
  fetch,
  step,
  wait,
  withHeld,
  withJob,
  withQueue,
} from './steps.ts';

useServer();

const takeMarker = step('a worker takes the markers', (side) => side.redis.del(side.key('marker')));
const forget = (id: string, name = 'main') =>
  step(`the record of ${id} is lost`, (side) => side.redis.del(side.key(id, name)));
const flowOf = (children: string[], opts: object = {}, parentQueue = 'other') =>
  step(`a flow with ${children.join(', ')}`, async (side) => {
    await side.flows.add({
      name: 'parent',
      queueName: parentQueue,
      opts: { jobId: 'parent' },
      children: children.map((id) => ({
        name: id,
        queueName: 'main',
        data: {},
        opts: { jobId: id, ...opts },
      })),
    });
  });

scenario('getters answer alike', {
  steps: [
    ...[1, 2, 3].map((n) => add(`wait ${n}`, { n })),
    ...[1, 2, 3].map((n) => add(`delayed ${n}`, { n }, { delay: 1000 * n })),
    ...[1, 2, 3].map((n) => add(`prioritized ${n}`, { n }, { priority: n })),
    fetch(),
    complete('1', 1, { fetchNext: true }),
    fail('2', 'x', { fetchNext: true }),
    withJob('log', '3', (job) => job.log('a row')),
    withQueue('getJobCounts', (queue) => queue.getJobCounts()),
    withQueue('getJobCountByTypes', (queue) => queue.getJobCountByTypes('waiting', 'delayed', 'failed')),
    withQueue('count', (queue) => queue.count()),
    withQueue('getCountsPerPriority', (queue) => queue.getCountsPerPriority([0, 1, 2, 3, 4])),
    withQueue('getJobLogs', (queue) => queue.getJobLogs('3')),
    withQueue('getJobState', (queue) =>
      Promise.all(['1', '2', '3', '4', '7', 'none'].map((id) => queue.getJobState(id))),
    ),
    ...(['waiting', 'delayed', 'prioritized', 'completed', 'failed', 'active'] as const).flatMap((state) =>
      [true, false].flatMap((asc) =>
        [
          [0, -1],
          [0, 0],
          [1, 2],
          [5, 9],
        ].map(([first, last]) =>
          withQueue(`getJobs ${state} ${first} ${last} ${asc}`, async (queue) =>
            (await queue.getJobs([state], first, last, asc)).map(({ id }) => id),
          ),
        ),
      ),
    ),
    withQueue('getJobs of several states', async (queue) => (await queue.getJobs()).map(({ id }) => id)),
    withQueue('getMeta', async (queue) => ({
      ...(await queue.getMeta()),
      version: undefined,
      'yoke.layout': undefined,
    })),
    withQueue('getJob of nobody', (queue) => queue.getJob('none')),
  ],
});

scenario('all delayed jobs are promoted, with priorities', {
  tolerates: ['promoteJobsResetsDelay', 'bulkKeepsPriority'],
  steps: [
    add('a', {}, { delay: 1000, priority: 5 }),
    add('b', {}, { delay: 2000 }),
    takeMarker,
    withQueue('promoteJobs', (queue) => queue.promoteJobs()),
  ],
});

scenario('a prioritized job that is given back wakes a worker', {
  tolerates: ['markerForGivenBack'],
  steps: [
    add('a', {}, { priority: 5 }),
    add('b', {}, { priority: 5 }),
    fetch(),
    takeMarker,
    withHeld('moveToWait', '1', (job) => job.moveToWait('token')),
    fetch(),
  ],
});

scenario('a job fetched without a lease is taken for stalled', {
  steps: [add('a', {}), fetch({ token: '0' }), checkStalled(), checkStalled(), fetch()],
});

scenario('a job that only fails does not use up the rate', {
  steps: [
    add('a', {}),
    add('b', {}),
    fetch(),
    checkStalled(),
    checkStalled({ expired: ['1'], worker: { maxStalledCount: 0 } }),
    fetch({ worker: { limiter: { max: 1, duration: 60_000 } } }),
    fetch({ worker: { limiter: { max: 1, duration: 60_000 } } }),
  ],
});

scenario('a marker of a very old client in the list is skipped', {
  steps: [add('a', {}), step('the marker', (side) => side.redis.rpush(side.key('wait'), '0:123')), fetch()],
});

scenario('children whose parent is gone finish like any other job', {
  queues: ['main', 'other'],
  steps: [
    flowOf(['a', 'b', 'c', 'd'], { failParentOnFailure: true }),
    step('the parent is lost', async (side) => {
      await side.redis.del(side.key('parent', 'other'), side.key('parent:dependencies', 'other'));
      await side.redis.zrem(side.key('waiting-children', 'other'), 'parent');
    }),
    fetch(),
    complete('a', 1, { fetchNext: true }),
    fail('b', 'x', { fetchNext: true }),
    withHeld('moveToWait', 'c', (job) => job.moveToWait('token')),
    withJob('remove', 'c', (job) => job.remove()),
    withJob('retry', 'b', (job) => job.retry()),
    withJob('retry', 'a', (job) => job.retry('completed')),
    withQueue('drain', (queue) => queue.drain()),
  ],
});

scenario('the queue of the parents is obliterated', {
  tolerates: ['obliterateTakesAll'],
  queues: ['main', 'other'],
  steps: [
    flowOf(['a', 'b']),
    withQueue('rateLimit', (queue) => queue.rateLimit(60_000), 'other'),
    withQueue('obliterate', (queue) => queue.obliterate(), 'other'),
  ],
});

scenario('a parked job takes a new priority', {
  tolerates: ['parkedPriority'],
  steps: [
    add('a', {}),
    withQueue('pause', (queue) => queue.pause()),
    step('an older client parks it', async (side) => {
      await side.redis.rename(side.key('wait'), side.key('paused'));
    }),
    withJob('changePriority', '1', (job) => job.changePriority({ priority: 4 })),
  ],
});

scenario('draining around a scheduled job keeps that one', {
  tolerates: ['drainKeepsScheduled'],
  steps: [
    add('a', {}),
    step('BullMQ schedules', async (side) => {
      await side.reference().upsertJobScheduler('s', { every: 1000 });
    }),
    add('b', {}),
    withQueue('drain', (queue) => queue.drain()),
  ],
});

scenario('an id without a record is not run', {
  tolerates: ['noGhosts'],
  steps: [
    add('a', {}),
    forget('1'),
    step('fetch', async (side) => {
      await side.worker().getNextJob('token', { block: false });
    }),
    add('b', {}),
  ],
});

scenario('the event log is trimmed alike', {
  steps: [
    step('a short event log', async (side) => {
      // Trimming drops whole nodes of the log; by default they also end by size, which depends on the time of day.
      await side.redis.config('SET', 'stream-node-max-bytes', 0);
      await side.redis.hset(side.key('meta'), 'opts.maxLenEvents', 10);
    }),
    step('many adds', async (side) => {
      for (let n = 0; n < 130; n++) await side.queue().add('job', {});
    }),
    step('many finishes', async (side) => {
      for (let n = 0; n < 60; n++) {
        const job = await side.worker().getNextJob('token', { block: false });
        await job!.moveToCompleted(1, 'token', false);
      }
    }),
    withQueue('trimEvents', (queue) => queue.trimEvents(5)),
  ],
});

scenario('records outside of every collection are removed', {
  steps: [
    add('a', {}),
    add('b', {}),
    add('c', {}, { delay: 10 }),
    step('an id is lost from its list', (side) => side.redis.lrem(side.key('wait'), 0, '2')),
    withQueue('removeOrphanedJobs', (queue) => queue.removeOrphanedJobs()),
  ],
});

scenario('many jobs due in one millisecond keep their order', {
  steps: [
    ...[1, 2, 3, 4].map((n) =>
      add(`job ${n}`, {}, { timestamp: 1_893_499_200_000, delay: 5000, priority: n % 2 }),
    ),
    withJob('changeDelay', '1', (job) => job.changeDelay(4950)),
    wait(10_000),
    fetch(),
    fetch(),
    fetch(),
    fetch(),
  ],
});
