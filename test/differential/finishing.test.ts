import { UnrecoverableError } from 'bullmq';
import { scenario, useServer } from './scenario.ts';
import { add, complete, fail, failure, fetch, step, wait, withHeld, withJob } from './steps.ts';

useServer();

const unrecoverable = new UnrecoverableError('never again');
unrecoverable.stack = 'UnrecoverableError: never again\n    at handler';

scenario('finishes fetch the next job, and the last one drains the queue', {
  steps: [
    add('a', {}),
    add('b', {}, { priority: 2 }),
    add('c', {}, { delay: 1000 }),
    add('d', {}),
    fetch(),
    complete('1', undefined, { fetchNext: true }),
    complete('4', null, { fetchNext: true }),
    complete('2', 'text', { fetchNext: true }),
    wait(2000),
    fetch(),
    complete('3', [1, 2], { fetchNext: true }),
    fetch(),
  ],
});

scenario('a finish without a fetch drains an empty queue', {
  steps: [
    add('a', {}),
    add('b', {}),
    fetch(),
    fetch(),
    complete('1', 1),
    complete('2', 2),
    add('c', {}),
    add('d', {}, { delay: 500 }),
    fetch(),
    complete('3', 3),
  ],
});

scenario('a named worker signs what it runs', {
  steps: [
    add('a', {}),
    fetch({ worker: { name: 'smith' } }),
    complete('1', 1, { worker: { name: 'smith' } }),
  ],
});

scenario('no token means no lease', {
  steps: [
    add('a', {}),
    add('b', {}),
    fetch({ token: '0' }),
    complete('1', 1, { token: '0', fetchNext: true }),
    complete('2', 2, { token: '0' }),
  ],
});

scenario('a failure without attempts is final', {
  steps: [add('a', {}), add('b', {}), fetch(), fail('1', 'boom', { fetchNext: true }), fail('2', 'bang')],
});

scenario('a failed attempt is retried at once until attempts run out', {
  steps: [
    add('a', {}, { attempts: 3 }),
    fetch(),
    fail('1', 'one'),
    fetch(),
    fail('1', 'two'),
    fetch(),
    fail('1', 'three'),
    fetch(),
  ],
});

scenario('retries keep priority and lifo', {
  steps: [
    add('urgent', {}, { attempts: 2, priority: 1 }),
    add('less', {}, { attempts: 2, priority: 7 }),
    add('standard', {}, { attempts: 2 }),
    add('lifo', {}, { attempts: 2, lifo: true }),
    fetch(),
    fail('4', 'one'),
    fetch(),
    fail('4', 'two', { fetchNext: true }),
    fail('3', 'one'),
    fetch(),
    complete('3', 0, { fetchNext: true }),
    fail('1', 'one'),
    fetch(),
    fail('1', 'two', { fetchNext: true }),
    fail('2', 'one', { fetchNext: true }),
  ],
});

scenario('an immediate retry promotes what is due', {
  steps: [
    add('a', {}, { attempts: 2 }),
    add('b', {}, { delay: 100 }),
    fetch(),
    wait(200),
    fail('1', 'one'),
    fetch(),
    fetch(),
  ],
});

scenario('a failed attempt backs off', {
  tolerates: ['delayMarkerAfterFetch'],
  steps: [
    add('fixed', {}, { attempts: 3, backoff: 500 }),
    add('exponential', {}, { attempts: 3, backoff: { type: 'exponential', delay: 100 } }),
    fetch(),
    fail('1', 'one', { fetchNext: true }),
    fail('2', 'one', { fetchNext: true }),
    wait(150),
    fetch(),
    fail('2', 'two'),
    wait(1000),
    fetch(),
    fetch(),
    fail('1', 'two'),
    fail('2', 'three'),
    wait(1000),
    fetch(),
    fail('1', 'three'),
  ],
});

scenario('an unrecoverable failure uses no further attempt', {
  steps: [
    add('a', {}, { attempts: 5, backoff: 100 }),
    add('b', {}, { attempts: 5 }),
    fetch(),
    fail('1', unrecoverable),
    fetch(),
    fail('2', failure('by its name', 'UnrecoverableError')),
  ],
});

scenario('stack traces are kept as far as the job wants', {
  steps: [
    add('two', {}, { attempts: 4, stackTraceLimit: 2 }),
    add('none', {}, { attempts: 2, stackTraceLimit: 0 }),
    fetch(),
    fail('1', 'one'),
    fetch(),
    fail('2', 'one'),
    fetch(),
    fail('1', 'two'),
    fetch(),
    fail('2', 'two'),
    fetch(),
    fail('1', 'three'),
    fetch(),
    fail('1', 'four'),
  ],
});

const strategic = { settings: { backoffStrategy: (attempt: number) => [0, 70, 0, -1][attempt] as number } };

scenario('a custom backoff strategy decides', {
  steps: [
    add('a', {}, { attempts: 9, backoff: { type: 'mine' } }),
    fetch({ worker: strategic }),
    fail('1', 'later', { worker: strategic }),
    wait(1000),
    fetch({ worker: strategic }),
    fail('1', 'now', { worker: strategic }),
    fetch({ worker: strategic }),
    fail('1', 'never', { worker: strategic }),
  ],
});

scenario('a handler postpones its own job', {
  steps: [
    add('a', {}, { attempts: 2, backoff: 10 }),
    add('b', {}, { priority: 3 }),
    fetch(),
    withHeld('moveToDelayed', '1', (job) => job.moveToDelayed(Date.now() + 5000, 'token')),
    fetch(),
    withHeld('moveToDelayed to the past', '2', (job) => job.moveToDelayed(Date.now() - 5000, 'token')),
    fetch(),
    withHeld('moveToDelayed again', '2', (job) => job.moveToDelayed(Date.now() + 1, 'token')),
    wait(6000),
    fetch(),
    fetch(),
    complete('1', 1),
  ],
});

scenario('a handler moves its job without naming the token', {
  tolerates: ['leaseLeftBehind'],
  steps: [
    add('a', {}),
    fetch(),
    withHeld('moveToDelayed', '1', (job) => job.moveToDelayed(Date.now() + 1)),
    wait(10),
    fetch(),
    withHeld('moveToWait', '1', (job) => job.moveToWait()),
    fetch(),
    complete('1', 1),
  ],
});

scenario('a handler gives its job back', {
  steps: [
    add('a', {}),
    add('b', {}, { priority: 3 }),
    add('c', {}, { priority: 3 }),
    fetch(),
    withHeld('moveToWait', '1', (job) => job.moveToWait('token')),
    fetch(),
    complete('1', 1),
    fetch(),
  ],
});

scenario('a lease is proved, extended and lost', {
  steps: [
    add('a', {}),
    fetch(),
    withHeld('extendLock', '1', (job) => job.extendLock('token', 60_000)),
    withHeld('extendLock with a wrong token', '1', (job) => job.extendLock('other', 60_000)),
    withHeld('complete with a wrong token', '1', (job) => job.moveToCompleted(1, 'other', false)),
    withHeld('fail with a wrong token', '1', (job) => job.moveToFailed(failure('x'), 'other', false)),
    withHeld('moveToDelayed with a wrong token', '1', (job) => job.moveToDelayed(Date.now() + 1, 'other')),
    withHeld('moveToWait with a wrong token', '1', (job) => job.moveToWait('other')),
    step('extendJobLocks', (side) => side.worker().extendJobLocks(['1', 'none'], ['token', 'token'], 30_000)),
    step('the lease runs out', (side) => side.redis.del(side.key('1:lock'))),
    withHeld('extendLock', '1', (job) => job.extendLock('token', 60_000)),
    withHeld('complete without a lease', '1', (job) => job.moveToCompleted(1, 'token', false)),
    withHeld('fail without a lease', '1', (job) => job.moveToFailed(failure('x'), 'token', false)),
    withHeld('moveToWait without a lease', '1', (job) => job.moveToWait('token')),
    withHeld('remove while active', '1', (job) => job.remove()),
    withHeld('complete what is gone', '1', (job) => job.moveToCompleted(1, 'token', false)),
    withHeld('fail what is gone', '1', (job) => job.moveToFailed(failure('x'), 'token', false)),
  ],
});

scenario('data, progress and logs of a job change', {
  steps: [
    add('a', { n: 1 }, { keepLogs: 2 }),
    add('b', { n: 2 }),
    withJob('updateData', '1', (job) => job.updateData({ n: 3, deep: [{}] })),
    withJob('updateProgress number', '1', (job) => job.updateProgress(42)),
    withJob('updateProgress object', '1', (job) => job.updateProgress({ done: 'half' })),
    withJob('updateProgress text', '1', (job) => job.updateProgress('nearly')),
    withJob('updateProgress boolean', '1', (job) => job.updateProgress(true)),
    withJob('log', '1', (job) => job.log('one')),
    withJob('log', '1', (job) => job.log('two')),
    withJob('log', '1', (job) => job.log('three')),
    withJob('log', '2', (job) => job.log('one')),
    withJob('log', '2', (job) => job.log('two')),
    withJob('log', '2', (job) => job.log('three')),
    step('addJobLog', (side) => side.queue().addJobLog('2', 'four', 3)),
    step('updateJobProgress', (side) => side.queue().updateJobProgress('2', 7)),
    step('addJobLog to nobody', (side) => side.queue().addJobLog('none', 'x')),
    step('updateJobProgress of nobody', (side) => side.queue().updateJobProgress('none', 7)),
    withJob('clearLogs but one', '2', (job) => job.clearLogs(1)),
    withJob('clearLogs', '1', (job) => job.clearLogs()),
    fetch(),
    withHeld('updateData while active', '1', (job) => job.updateData({ n: 4 })),
    withHeld('updateProgress while active', '1', (job) => job.updateProgress(99)),
    complete('1', 'done'),
    step('remove', (side) => side.queue().remove('1')),
    withHeld('updateData of a removed job', '1', (job) => job.updateData({ n: 5 })),
    withHeld('updateProgress of a removed job', '1', (job) => job.updateProgress(1)),
    withHeld('log to a removed job', '1', (job) => job.log('late')),
  ],
});
