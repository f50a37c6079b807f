// Retention, rate limits, global concurrency and the stall check.

import { scenario, useServer } from './scenario.ts';
import type { WorkerSettings } from './sides.ts';
import { add, checkStalled, complete, fail, fetch, step, wait, withHeld, withQueue } from './steps.ts';

useServer();

const kinds = [
  true,
  false,
  0,
  1,
  2,
  { count: 1 },
  { age: 0 },
  { age: 1 },
  { age: 1, count: 2 },
  { age: 1, limit: 1 },
  { count: 0 },
];

for (const keep of kinds) {
  scenario(`completed and failed jobs are kept as the job says: ${JSON.stringify(keep)}`, {
    steps: [
      ...[1, 2, 3, 4, 5].flatMap((n) => [
        add(`completed ${n}`, {}, { removeOnComplete: keep }),
        fetch(),
        complete(`${n}`, n),
        wait(400),
      ]),
      ...[6, 7, 8, 9, 10].flatMap((n) => [
        add(`failed ${n}`, {}, { removeOnFail: keep }),
        fetch(),
        fail(`${n}`, 'x'),
        wait(400),
      ]),
    ],
  });
}

for (const [title, worker] of [
  ['by count', { removeOnComplete: { count: 1 }, removeOnFail: { count: 2 } }],
  ['by age', { removeOnComplete: { age: 1 }, removeOnFail: { age: 0 } }],
  ['not at all', { removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } }],
] as [string, WorkerSettings][]) {
  scenario(`the worker keeps jobs ${title}, unless a job says otherwise`, {
    steps: [
      ...[1, 2, 3].flatMap((n) => [
        add('a', {}),
        fetch({ worker }),
        complete(`${n}`, n, { worker }),
        wait(600),
      ]),
      ...[4, 5, 6].flatMap((n) => [
        add('b', {}),
        fetch({ worker }),
        fail(`${n}`, 'x', { worker }),
        wait(600),
      ]),
      add('own', {}, { removeOnComplete: false, removeOnFail: false }),
      fetch({ worker }),
      complete('7', 7, { worker }),
      add('own', {}, { removeOnFail: 5 }),
      fetch({ worker }),
      fail('8', 'x', { worker }),
    ],
  });
}

scenario('a retried job is not subject to retention until it has failed for good', {
  steps: [
    add('a', {}, { attempts: 2, removeOnFail: true }),
    fetch(),
    fail('1', 'one'),
    fetch(),
    fail('1', 'two', { fetchNext: true }),
  ],
});

scenario('logs go with the job', {
  steps: [
    add('a', {}, { removeOnComplete: true }),
    fetch(),
    withHeld('log', '1', (job) => job.log('row')),
    complete('1', 1),
  ],
});

const limited = { limiter: { max: 2, duration: 60_000 } };
const windowEnds = step('the window ends', (side) => side.redis.del(side.key('limiter')));

scenario('a worker limits the rate', {
  steps: [
    ...[1, 2, 3, 4, 5, 6].map((n) => add(`job ${n}`, {})),
    fetch({ worker: limited }),
    complete('1', 1, { worker: limited, fetchNext: true }),
    complete('2', 2, { worker: limited, fetchNext: true }),
    windowEnds,
    wait(60_000),
    fetch({ worker: limited }),
    fail('3', 'x', { worker: limited, fetchNext: true }),
    fail('4', 'x', { worker: limited, fetchNext: true }),
    fetch(),
    withQueue('removeRateLimitKey', (queue) => queue.removeRateLimitKey()),
    complete('5', 5, { fetchNext: true }),
  ],
});

scenario('the queue limits the rate of all workers', {
  steps: [
    withQueue('setGlobalRateLimit', (queue) => queue.setGlobalRateLimit(1, 60_000)),
    ...[1, 2, 3, 4].map((n) => add(`job ${n}`, {})),
    fetch(),
    fetch(),
    windowEnds,
    complete('1', 1, { fetchNext: true }),
    complete('2', 1, { fetchNext: true }),
    withQueue('removeGlobalRateLimit', (queue) => queue.removeGlobalRateLimit()),
    // Another worker: BullMQ's first one waits out by its own clock the limit that it has been told.
    fetch({ worker: { name: 'other' } }),
  ],
});

scenario('the queue and the worker both limit the rate', {
  steps: [
    withQueue('setGlobalRateLimit', (queue) => queue.setGlobalRateLimit(1, 60_000)),
    ...[1, 2, 3].map((n) => add(`job ${n}`, {})),
    fetch({ worker: limited }),
    complete('1', 1, { worker: limited, fetchNext: true }),
  ],
});

scenario('a manual limit holds where a limit is known', {
  steps: [
    add('a', {}),
    add('b', {}),
    add('c', {}),
    withQueue('rateLimit', (queue) => queue.rateLimit(60_000)),
    fetch(),
    withHeld('moveToWait', '1', async (job) => ((await job.moveToWait('token')) as number) > 0),
    withQueue('getRateLimitTtl', async (queue) => (await queue.getRateLimitTtl(3)) > 0),
    fetch({ worker: limited }),
    windowEnds,
    withQueue('getRateLimitTtl', (queue) => queue.getRateLimitTtl()),
  ],
});

scenario('global concurrency holds jobs back and leaves no marker', {
  steps: [
    withQueue('setGlobalConcurrency', (queue) => queue.setGlobalConcurrency(2)),
    ...[1, 2, 3].map((n) => add(`job ${n}`, {})),
    add('urgent', {}, { priority: 1, attempts: 3 }),
    fetch(),
    fetch(),
    withQueue('isMaxed', (queue) => queue.isMaxed()),
    step('a worker takes the marker', (side) => side.redis.del(side.key('marker'))),
    add('while full', {}),
    add('urgent while full', {}, { priority: 2 }),
    fetch(),
    complete('1', 1, { fetchNext: true }),
    fail('2', 'x'),
    withHeld('moveToWait', '3', (job) => job.moveToWait('token')),
    fetch(),
    fetch(),
    fetch(),
    complete('3', 3),
    complete('5', 3),
    fetch(),
    fail('4', 'x'),
    fetch(),
    withQueue('removeGlobalConcurrency', (queue) => queue.removeGlobalConcurrency()),
    fetch(),
  ],
});

scenario('a full queue promotes what is due', {
  steps: [
    withQueue('setGlobalConcurrency', (queue) => queue.setGlobalConcurrency(1)),
    add('a', {}, { attempts: 2 }),
    add('b', {}, { delay: 50 }),
    fetch(),
    step('a worker takes the marker', (side) => side.redis.del(side.key('marker'))),
    wait(100),
    fetch(),
    fail('1', 'x'),
    fetch(),
  ],
});

scenario('a stalled job runs again, and fails when it stalls too often', {
  steps: [
    add('a', {}, { attempts: 3 }),
    add('b', {}, { priority: 2 }),
    add('c', {}),
    fetch(),
    fetch(),
    checkStalled(),
    checkStalled({ expired: ['1'] }),
    withHeld('late finish', '1', (job) => job.moveToCompleted(1, 'token', false)),
    withHeld('extendLock', '3', (job) => job.extendLock('token', 30_000)),
    checkStalled({ expired: ['3'] }),
    fetch({ token: 'second' }),
    checkStalled(),
    checkStalled({ expired: ['1'] }),
    fetch({ token: 'third' }),
    fail('1', 'job stalled more than allowable limit', { token: 'third' }),
    checkStalled(),
  ],
});

scenario('a stalled job with priority runs next', {
  steps: [
    add('a', {}, { priority: 5 }),
    add('b', {}),
    fetch(),
    fetch(),
    checkStalled(),
    checkStalled({ expired: ['1', '2'], worker: { maxStalledCount: 0 } }),
    fetch(),
    fetch(),
  ],
});

scenario('a job that stalled too often and is not kept leaves nothing', {
  steps: [
    add('a', {}, { removeOnFail: true }),
    fetch(),
    checkStalled(),
    checkStalled({ expired: ['1'], worker: { maxStalledCount: 0 } }),
    fetch(),
    fail('1', 'job stalled more than allowable limit'),
  ],
});

scenario('stalled jobs come back to a paused and to a full queue', {
  steps: [
    add('a', {}),
    add('b', {}),
    fetch(),
    fetch(),
    checkStalled(),
    withQueue('pause', (queue) => queue.pause()),
    checkStalled({ expired: ['1'] }),
    withQueue('resume', (queue) => queue.resume()),
    withQueue('setGlobalConcurrency', (queue) => queue.setGlobalConcurrency(1)),
    step('a worker takes the marker', (side) => side.redis.del(side.key('marker'))),
    checkStalled({ expired: ['2'] }),
    fetch(),
  ],
});
