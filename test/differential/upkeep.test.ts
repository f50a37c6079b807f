// What people do to queues and jobs from outside: pause, change, promote, retry, remove, clean.

import { scenario, useServer } from './scenario.ts';
import { add, complete, fail, fetch, step, wait, withHeld, withJob, withQueue } from './steps.ts';

useServer();

const pause = withQueue('pause', (queue) => queue.pause());
const resume = withQueue('resume', (queue) => queue.resume());

scenario('a paused queue takes jobs and hands none out', {
  steps: [
    add('a', {}),
    pause,
    withQueue('isPaused', (queue) => queue.isPaused()),
    add('b', {}),
    add('c', {}, { priority: 2 }),
    add('d', {}, { delay: 100 }),
    fetch(),
    wait(200),
    fetch(),
    pause,
    resume,
    fetch(),
    pause,
    complete('1', 1, { fetchNext: true }),
    resume,
    resume,
    fetch(),
  ],
});

scenario('an empty queue is paused and resumed', {
  steps: [pause, resume, add('a', {}, { delay: 100 }), pause, resume],
});

scenario('running jobs end while the queue is paused', {
  steps: [
    add('a', {}, { attempts: 3 }),
    add('b', {}, { attempts: 2, backoff: 10 }),
    add('c', {}, { priority: 1, attempts: 2 }),
    add('d', {}),
    add('e', {}),
    fetch(),
    fetch(),
    fetch(),
    fetch(),
    fetch(),
    pause,
    fail('1', 'now'),
    fail('2', 'later'),
    fail('3', 'now'),
    complete('4', 1),
    withHeld('moveToWait', '5', (job) => job.moveToWait('token')),
    resume,
    fetch(),
  ],
});

const legacy = (...ids: string[]) =>
  step('an older client has parked jobs', async (side) => {
    for (const id of ids) {
      await side.redis.lrem(side.key('wait'), 0, id);
      await side.redis.lpush(side.key('paused'), id);
    }
  });

scenario('jobs parked by an older client come back', {
  steps: [
    add('a', {}),
    add('b', {}),
    add('c', {}),
    pause,
    legacy('1', '2'),
    withQueue('counts', (queue) => queue.getJobCounts('waiting', 'active')),
    withJob('state', '1', (job) => job.getState()),
    resume,
    fetch(),
    pause,
    legacy('3', '2'),
    resume,
    fetch(),
  ],
});

scenario('parked jobs are removed, drained and cleaned', {
  steps: [
    add('a', {}),
    add('b', {}),
    add('c', {}),
    add('d', {}),
    pause,
    legacy('1', '2', '3'),
    withJob('remove', '1', (job) => job.remove()),
    withQueue('clean', async (queue) => (await queue.clean(0, 1, 'paused' as never)).sort()),
    withQueue('drain', (queue) => queue.drain()),
    resume,
  ],
});

scenario('the delay of a delayed job changes', {
  steps: [
    add('a', {}, { delay: 1000 }),
    add('b', {}, { delay: 2000 }),
    add('c', {}),
    withJob('changeDelay', '1', (job) => job.changeDelay(5000)),
    withJob('changeDelay', '2', (job) => job.changeDelay(10)),
    withJob('changeDelay to the same time as another', '1', (job) => job.changeDelay(0)),
    withJob('changeDelay of a waiting job', '3', (job) => job.changeDelay(10)),
    wait(100),
    fetch(),
    fetch(),
    withHeld('changeDelay of an active job', '3', (job) => job.changeDelay(10)),
    step('remove', (side) => side.queue().remove('2')),
  ],
});

const changes = [
  { priority: 0 },
  { priority: 3 },
  { priority: 0, lifo: true },
  { priority: 3, lifo: true },
  {},
  { lifo: true },
  { priority: 9 },
];

scenario('the priority of jobs changes, in every combination', {
  steps: [
    add('a', {}),
    add('b', {}),
    add('c', {}, { priority: 3 }),
    add('d', {}, { priority: 3 }),
    add('e', {}, { delay: 100 }),
    add('f', {}, { delay: 100, priority: 3 }),
    add('g', {}, { lifo: true }),
    fetch(),
    ...['1', '3', '5', '6', '7'].flatMap((id) =>
      changes.map((change) =>
        withJob(`changePriority ${JSON.stringify(change)} of`, id, (job) => job.changePriority(change)),
      ),
    ),
    wait(200),
    fetch(),
    fetch(),
    fetch(),
    fetch(),
    fetch(),
    fetch(),
    fetch(),
  ],
});

scenario('priorities change while the queue is paused', {
  steps: [
    add('a', {}),
    add('b', {}, { priority: 2 }),
    pause,
    withJob('changePriority', '1', (job) => job.changePriority({ priority: 4 })),
    withJob('changePriority', '2', (job) => job.changePriority({ priority: 0 })),
    resume,
  ],
});

scenario('a delayed job is promoted', {
  steps: [
    add('a', {}, { delay: 1000 }),
    add('b', {}, { delay: 2000, priority: 4 }),
    add('c', {}, { delay: 3000, lifo: true }),
    add('d', {}),
    withJob('promote', '1', (job) => job.promote()),
    withJob('promote', '2', (job) => job.promote()),
    withJob('promote', '3', (job) => job.promote()),
    withJob('promote a waiting job', '4', (job) => job.promote()),
    fetch(),
    withHeld('promote an active job', '1', (job) => job.promote()),
  ],
});

scenario('all delayed jobs are promoted', {
  tolerates: ['promoteJobsResetsDelay'],
  steps: [
    add('a', {}, { delay: 3000 }),
    add('b', {}, { delay: 1000 }),
    add('c', {}, { delay: 2000, lifo: true }),
    withQueue('promoteJobs, two at a time', (queue) => queue.promoteJobs({ count: 2 })),
    withQueue('promoteJobs with nothing to do', (queue) => queue.promoteJobs()),
    fetch({ idOnly: true }),
  ],
});

scenario('finished jobs run again', {
  steps: [
    add('a', {}),
    add('b', {}),
    add('c', {}, { priority: 6 }),
    add('d', {}, { lifo: true }),
    add('e', {}, { attempts: 2 }),
    fetch(),
    fail('4', 'x', { fetchNext: true }),
    complete('1', { r: 1 }, { fetchNext: true }),
    fail('2', 'x', { fetchNext: true }),
    fail('5', 'x'),
    fetch(),
    fail('5', 'y'),
    fetch(),
    fail('3', 'x'),
    withJob('retry', '2', (job) => job.retry()),
    withJob('retry a completed job as failed', '1', (job) => job.retry()),
    withJob('retry completed', '1', (job) => job.retry('completed')),
    withJob('retry lifo', '4', (job) => job.retry('failed')),
    withJob('retry prioritized', '3', (job) => job.retry('failed', { resetAttemptsMade: true })),
    withJob('retry with resets', '5', (job) =>
      job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true }),
    ),
    withJob('retry a waiting job', '5', (job) => job.retry('failed')),
    fetch(),
    fail('4', 'again'),
    step('remove', (side) => side.queue().remove('4')),
    withHeld('retry what is gone', '4', (job) => job.retry('failed')),
  ],
});

scenario('all finished jobs run again', {
  tolerates: ['bulkKeepsPriority'],
  steps: [
    add('a', {}),
    add('b', {}),
    add('c', {}, { priority: 6 }),
    add('d', {}, { lifo: true }),
    add('e', {}),
    fetch(),
    fail('4', 'x', { fetchNext: true }),
    fail('1', 'x', { fetchNext: true }),
    complete('2', 'x', { fetchNext: true }),
    complete('5', 'x', { fetchNext: true }),
    fail('3', 'x'),
    withQueue('retryJobs before a moment', (queue) => queue.retryJobs({ timestamp: Date.now() - 40 })),
    withQueue('retryJobs, one at a time', (queue) => queue.retryJobs({ count: 1 })),
    withQueue('retryJobs of completed', (queue) => queue.retryJobs({ state: 'completed' })),
    fetch(),
  ],
});

scenario('jobs are removed from every state', {
  steps: [
    add('wait', {}),
    add('wait', {}),
    add('prioritized', {}, { priority: 1 }),
    add('delayed', {}, { delay: 1000 }),
    add('a', {}),
    add('b', {}),
    add('c', {}),
    withJob('remove', '1', (job) => job.remove()),
    withJob('remove', '3', (job) => job.remove()),
    withJob('remove', '4', (job) => job.remove()),
    withJob('log', '2', (job) => job.log('a row')),
    withQueue('remove by id', (queue) => queue.remove('2')),
    fetch(),
    complete('5', 1, { fetchNext: true }),
    fail('6', 'x', { fetchNext: true }),
    withJob('remove completed', '5', (job) => job.remove()),
    withJob('remove failed', '6', (job) => job.remove()),
    withQueue('remove what a worker holds', (queue) => queue.remove('7')),
    withJob('remove what a worker holds', '7', (job) => job.remove()),
    withQueue('remove nobody', (queue) => queue.remove('none')),
    step('the lease runs out', (side) => side.redis.del(side.key('7:lock'))),
    withJob('remove active without lease', '7', (job) => job.remove()),
  ],
});

const oneOfEach = [
  add('wait', {}),
  add('prioritized', {}, { priority: 1 }),
  add('delayed', {}, { delay: 1000 }),
  add('completed', {}, { lifo: true }),
  fetch(),
  complete('4', 1),
  add('failed', {}, { lifo: true }),
  fetch(),
  fail('5', 'x'),
  add('active', {}, { lifo: true }),
  fetch(),
];

scenario('a queue is drained', { steps: [...oneOfEach, withQueue('drain', (queue) => queue.drain())] });
scenario('a queue is drained with its delayed jobs', {
  steps: [...oneOfEach, withQueue('drain', (queue) => queue.drain(true))],
});
scenario('a paused queue is drained', {
  steps: [...oneOfEach, pause, withQueue('drain', (queue) => queue.drain(true)), resume],
});

scenario('an empty queue is drained', { steps: [withQueue('drain', (queue) => queue.drain(true))] });

for (const state of ['wait', 'paused', 'prioritized', 'delayed', 'active', 'completed', 'failed'] as const) {
  scenario(`${state} jobs are cleaned`, {
    steps: [
      ...oneOfEach,
      ...oneOfEach.map(({ name, run }) => step(`again: ${name}`, run)).filter(({ name }) => /add/.test(name)),
      withQueue('clean the young', async (queue) => (await queue.clean(10_000, 0, state as never)).sort()),
      wait(20_000),
      withQueue('clean one', async (queue) => (await queue.clean(5000, 1, state as never)).sort()),
      withQueue('clean all', async (queue) => (await queue.clean(5000, 0, state as never)).sort()),
      step('the lease runs out', (side) => side.redis.del(side.key('6:lock'))),
      withQueue('clean again', async (queue) => (await queue.clean(0, 100, state as never)).sort()),
    ],
  });
}

scenario('cleaning takes the limit from the old end', {
  steps: [
    ...[1, 2, 3, 4, 5].map((n) => add(`wait ${n}`, {})),
    ...[1, 2, 3, 4, 5].map((n) => add(`delayed ${n}`, {}, { delay: 10_000 - n })),
    ...[1, 2, 3, 4, 5].map((n) => add(`prioritized ${n}`, {}, { priority: (n % 3) + 1 })),
    withQueue('clean waiting', async (queue) => (await queue.clean(0, 2, 'wait')).sort()),
    withQueue('clean delayed', (queue) => queue.clean(0, 2, 'delayed')),
    withQueue('clean prioritized', (queue) => queue.clean(0, 2, 'prioritized')),
    withQueue('clean waiting, all', async (queue) => (await queue.clean(0, 0, 'wait')).sort()),
  ],
});

scenario('a queue is obliterated', {
  steps: [
    ...oneOfEach,
    withQueue('obliterate with an active job', (queue) => queue.obliterate()),
    withQueue('obliterate by force', (queue) => queue.obliterate({ force: true })),
    withQueue('obliterate again', (queue) => queue.obliterate()),
    add('after', {}),
  ],
});

scenario('a queue is obliterated in small steps', {
  steps: [...oneOfEach, complete('6', 1), withQueue('obliterate', (queue) => queue.obliterate({ count: 2 }))],
});
