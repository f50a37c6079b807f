// What plain transitions do to jobs with bonds. BullMQ creates flows, deduplicated jobs and schedulers on both
// prefixes; then one side is worked on by BullMQ and the other by Yoke.

import type { FlowJob, JobsOptions } from 'bullmq';
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

const queues = ['main', 'other'];

interface Child {
  id: string;
  queue?: string;
  opts?: JobsOptions;
  children?: Child[];
}

function node({ id, queue = 'main', opts, children }: Child): FlowJob {
  return {
    name: id,
    queueName: queue,
    data: { id },
    opts: { jobId: id, ...opts },
    children: children?.map(node),
  };
}

function flow(tree: Child) {
  return step(`a flow ${JSON.stringify(tree)}`, async (side) => {
    await side.flows.add(node(tree));
  });
}

const there = { queue: 'other' };

for (const parentQueue of ['main', 'other']) {
  scenario(
    `the last completed child releases its parent (children and parent in ${parentQueue === 'main' ? 'one queue' : 'two queues'})`,
    {
      queues,
      steps: [
        flow({
          id: 'parent',
          queue: parentQueue,
          children: [{ id: 'one' }, { id: 'two', opts: { removeOnComplete: true } }],
        }),
        withQueue('counts', (queue) => queue.getJobCounts(), parentQueue),
        fetch(),
        complete('one', { v: 1 }),
        fetch(),
        complete('two', [2], { fetchNext: true }),
        ...(parentQueue === 'other' ? [fetch(there)] : []),
        withHeld('getChildrenValues', 'parent', (job) => job.getChildrenValues()),
        complete('parent', 'done', { queue: parentQueue }),
      ],
    },
  );
}

const policies: [string, JobsOptions][] = [
  ['fail the parent', { failParentOnFailure: true }],
  ['continue the parent', { continueParentOnFailure: true }],
  ['be ignored', { ignoreDependencyOnFailure: true }],
  ['be dropped', { removeDependencyOnFailure: true }],
  ['stay', {}],
];

for (const [what, policy] of policies) {
  for (const removeOnFail of [false, true]) {
    for (const parentQueue of ['main', 'other']) {
      const title = `a failed child is to ${what}${removeOnFail ? ' and is not kept' : ''}, parent in ${parentQueue}`;
      scenario(title, {
        queues,
        steps: [
          flow({
            id: 'parent',
            queue: parentQueue,
            children: [{ id: 'bad', opts: { ...policy, removeOnFail } }, { id: 'good' }],
          }),
          fetch(),
          fail('bad', 'broken'),
          fetch(),
          complete('good', 1),
          fetch({ queue: parentQueue }),
          withQueue('counts', (queue) => queue.getJobCounts(), parentQueue),
        ],
      });
      scenario(`${title}, as the last one`, {
        queues,
        steps: [
          flow({
            id: 'parent',
            queue: parentQueue,
            opts: { priority: 7 },
            children: [{ id: 'good' }, { id: 'bad', opts: { ...policy, removeOnFail } }],
          }),
          fetch(),
          complete('good', 1),
          fetch(),
          fail('bad', 'broken'),
          fetch({ queue: parentQueue }),
        ],
      });
    }
  }
}

scenario('a parent that is to fail fails with its child, and takes its own parent along', {
  queues,
  steps: [
    flow({
      id: 'top',
      queue: 'other',
      children: [
        {
          id: 'middle',
          opts: { failParentOnFailure: true },
          children: [{ id: 'bottom', opts: { failParentOnFailure: true } }],
        },
      ],
    }),
    fetch(),
    fail('bottom', 'broken'),
    fetch(),
    withJob('complete a parent with failed children', 'middle', (job) =>
      job.moveToCompleted(1, 'token', false),
    ),
    fail('middle', 'child failed'),
    fetch(there),
    fail('top', 'child failed', there),
  ],
});

scenario('a failing child meets a parent that is running, delayed or failed', {
  queues,
  steps: [
    flow({
      id: 'parent',
      queue: 'other',
      children: [
        { id: 'one', opts: { continueParentOnFailure: true } },
        { id: 'two', opts: { failParentOnFailure: true } },
        { id: 'three', opts: { failParentOnFailure: true } },
        { id: 'four', opts: { failParentOnFailure: true } },
      ],
    }),
    fetch(),
    fail('one', 'broken'),
    fetch(there),
    fetch(),
    fail('two', 'while the parent runs'),
    withJob(
      'complete with pending children',
      'parent',
      (job) => job.moveToCompleted(1, 'token', false),
      'other',
    ),
    withHeld('the parent is delayed', 'parent', (job) => job.moveToDelayed(Date.now() + 5000, 'token')),
    fetch(),
    fail('three', 'while the parent is delayed'),
    fetch(there),
    fail('parent', 'child failed', there),
    fetch(),
    fail('four', 'after the parent failed'),
  ],
});

scenario('a released parent goes where its options say', {
  queues,
  steps: [
    flow({ id: 'later', queue: 'other', opts: { delay: 500 }, children: [{ id: 'a' }] }),
    flow({ id: 'urgent', queue: 'other', opts: { priority: 2 }, children: [{ id: 'b' }] }),
    flow({ id: 'both', queue: 'other', opts: { delay: 500, priority: 3 }, children: [{ id: 'c' }] }),
    flow({ id: 'plain', queue: 'other', children: [{ id: 'd' }] }),
    withQueue('pause the parents', (queue) => queue.pause(), 'other'),
    fetch(),
    complete('a', 1, { fetchNext: true }),
    complete('b', 1, { fetchNext: true }),
    complete('c', 1, { fetchNext: true }),
    complete('d', 1, { fetchNext: true }),
    withQueue('resume the parents', (queue) => queue.resume(), 'other'),
    wait(1000),
    fetch(there),
    fetch(there),
    fetch(there),
    fetch(there),
  ],
});

scenario('a handler waits for children that it has added', {
  queues,
  steps: [
    flow({
      id: 'parent',
      queue: 'other',
      children: [{ id: 'first', opts: { ignoreDependencyOnFailure: true } }],
    }),
    fetch(),
    fail('first', 'ignored'),
    fetch(there),
    withHeld('moveToWaitingChildren with none', 'parent', (job) => job.moveToWaitingChildren('token')),
    step('BullMQ adds a child', async (side) => {
      await side
        .reference()
        .add('late', {}, { jobId: 'late', parent: { id: 'parent', queue: `${side.prefix}:other` } });
    }),
    withHeld('moveToWaitingChildren for another child', 'parent', (job, side) =>
      job.moveToWaitingChildren('token', { child: { id: 'nobody', queue: `${side.prefix}:main` } } as never),
    ),
    withHeld('moveToWaitingChildren with a wrong token', 'parent', (job) =>
      job.moveToWaitingChildren('wrong'),
    ),
    withHeld('moveToWaitingChildren', 'parent', (job) => job.moveToWaitingChildren('token')),
    fetch(),
    complete('late', 'value'),
    fetch(there),
    withHeld('getDependencies', 'parent', (job) => job.getDependencies()),
    withHeld('getIgnoredChildrenFailures', 'parent', (job) => job.getIgnoredChildrenFailures()),
    complete('parent', 1, there),
  ],
});

scenario('a handler may not wait after a child has failed it', {
  queues,
  steps: [
    flow({
      id: 'parent',
      queue: 'other',
      children: [{ id: 'a', opts: { failParentOnFailure: true } }, { id: 'b' }],
    }),
    fetch(),
    fail('a', 'x'),
    fetch(there),
    withHeld('moveToWaitingChildren', 'parent', (job) => job.moveToWaitingChildren('token')),
    withHeld('removeUnprocessedChildren', 'parent', (job) => job.removeUnprocessedChildren()),
    fail('parent', 'x', there),
  ],
});

// One pending child per parent wherever a tree is walked: sets have no order to compare.
const tree: Child = {
  id: 'parent',
  queue: 'other',
  children: [
    { id: 'done' },
    { id: 'broken', opts: { ignoreDependencyOnFailure: true } },
    { id: 'open' },
    { id: 'mid', children: [{ id: 'deep' }] },
  ],
};
const begun = [
  flow(tree),
  fetch(),
  complete('done', 1, { fetchNext: true }),
  fail('broken', 'x', { fetchNext: true }),
];

scenario('a parent is removed with its children', {
  queues,
  steps: [
    ...begun,
    withJob('remove while a child runs', 'parent', (job) => job.remove(), 'other'),
    complete('open', 1),
    withJob('remove', 'parent', (job) => job.remove(), 'other'),
  ],
});

scenario('a parent is removed without its children', {
  queues,
  steps: [
    ...begun,
    withJob('remove', 'parent', (job) => job.remove({ removeChildren: false }), 'other'),
    complete('open', 1, { fetchNext: true }),
    complete('deep', 1),
  ],
});

scenario('children are removed one by one until the parent is free', {
  queues,
  steps: [
    ...begun,
    withJob('remove', 'mid', (job) => job.remove()),
    withJob('remove what runs', 'open', (job) => job.remove()),
    withHeld('moveToWait', 'open', (job) => job.moveToWait('token')),
    withJob('remove', 'open', (job) => job.remove()),
    fetch(there),
  ],
});

scenario('unprocessed children are removed', {
  queues,
  steps: [
    ...begun,
    withJob('removeUnprocessedChildren', 'parent', (job) => job.removeUnprocessedChildren(), 'other'),
    complete('open', 1),
    fetch(there),
  ],
});

scenario('a child leaves its parent', {
  queues,
  steps: [
    flow({ id: 'parent', queue: 'other', children: [{ id: 'a' }, { id: 'b' }] }),
    withJob('removeChildDependency', 'a', (job) => job.removeChildDependency()),
    withJob('removeChildDependency', 'b', (job) => job.removeChildDependency()),
    fetch(there),
  ],
});

scenario('finished children run again', {
  queues,
  steps: [
    flow({
      id: 'parent',
      queue: 'other',
      children: [
        { id: 'a' },
        { id: 'b', opts: { failParentOnFailure: true } },
        { id: 'c', opts: { ignoreDependencyOnFailure: true } },
        { id: 'd' },
      ],
    }),
    fetch(),
    complete('a', 1, { fetchNext: true }),
    fail('b', 'x', { fetchNext: true }),
    fail('c', 'x'),
    withJob('retry completed', 'a', (job) => job.retry('completed')),
    withJob('retry failed', 'b', (job) => job.retry('failed')),
    withJob('retry ignored', 'c', (job) => job.retry('failed')),
  ],
});

scenario('finished children run again, all at once', {
  queues,
  steps: [
    flow({
      id: 'parent',
      queue: 'other',
      children: [
        { id: 'a' },
        { id: 'b', opts: { failParentOnFailure: true } },
        { id: 'c', opts: { ignoreDependencyOnFailure: true } },
        { id: 'd' },
      ],
    }),
    fetch(),
    complete('a', 1, { fetchNext: true }),
    fail('b', 'x', { fetchNext: true }),
    fail('c', 'x'),
    withQueue('retryJobs completed', (queue) => queue.retryJobs({ state: 'completed' })),
    withQueue('retryJobs failed', (queue) => queue.retryJobs({ state: 'failed' })),
  ],
});

for (const parentQueue of ['main', 'other']) {
  scenario(`children are drained, parent in ${parentQueue}`, {
    queues,
    steps: [
      flow({
        id: 'parent',
        queue: parentQueue,
        children: [{ id: 'a' }, { id: 'b', opts: { delay: 100 } }, { id: 'c', opts: { priority: 1 } }],
      }),
      withQueue('drain', (queue) => queue.drain()),
      withQueue('drain with delayed', (queue) => queue.drain(true)),
    ],
  });
  scenario(`children are cleaned, parent in ${parentQueue}`, {
    queues,
    steps: [
      flow({ id: 'parent', queue: parentQueue, children: [{ id: 'a' }, { id: 'b', opts: { delay: 100 } }] }),
      withQueue('clean wait', (queue) => queue.clean(0, 0, 'wait')),
      withQueue('clean delayed', (queue) => queue.clean(0, 0, 'delayed')),
    ],
  });
  scenario(`the queue of the children is obliterated, parent in ${parentQueue}`, {
    queues,
    steps: [
      flow({ id: 'parent', queue: parentQueue, children: [{ id: 'a' }, { id: 'b', opts: { delay: 100 } }] }),
      withQueue('obliterate', (queue) => queue.obliterate()),
    ],
  });
  scenario(`old failed children are expired by retention, parent in ${parentQueue}`, {
    queues,
    tolerates: parentQueue === 'main' ? ['retentionAfterEvents'] : [],
    steps: [
      flow({
        id: 'parent',
        queue: parentQueue,
        children: [
          { id: 'a', opts: { removeOnFail: 1 } },
          { id: 'b', opts: { removeOnFail: 1 } },
        ],
      }),
      fetch(),
      fail('a', 'x', { fetchNext: true }),
      fail('b', 'x'),
      add('c', {}, { removeOnFail: 1, jobId: 'c' }),
      fetch(),
      fail('c', 'x'),
    ],
  });
}

scenario('a stalled child fails its parent in the end', {
  queues,
  steps: [
    flow({ id: 'parent', queue: 'other', children: [{ id: 'a', opts: { failParentOnFailure: true } }] }),
    fetch(),
    checkStalled(),
    checkStalled({ expired: ['a'], worker: { maxStalledCount: 0 } }),
    fetch(),
    fail('a', 'job stalled more than allowable limit'),
    fetch(there),
  ],
});

// Deduplication

function addUnique(id: string, opts: JobsOptions) {
  return step(
    `BullMQ adds ${id} ${JSON.stringify(opts)}`,
    async (side) => (await side.reference().add(id, { id }, { jobId: id, ...opts })).id,
  );
}

const unique = { deduplication: { id: 'u' } };

for (const [title, end] of [
  ['completes', complete('a', 1)],
  ['fails', fail('a', 'x')],
] as const) {
  scenario(`a deduplicated job ${title} and frees its id`, {
    steps: [addUnique('a', unique), addUnique('b', unique), fetch(), end, addUnique('c', unique)],
  });
  scenario(`a deduplicated job with a time to live ${title}`, {
    steps: [
      addUnique('a', { deduplication: { id: 'u', ttl: 60_000 } }),
      fetch(),
      end,
      addUnique('c', { deduplication: { id: 'u', ttl: 60_000 } }),
    ],
  });
}

scenario('a retried deduplicated job keeps its id', {
  steps: [
    addUnique('a', { ...unique, attempts: 3, backoff: 100 }),
    fetch(),
    fail('a', 'x'),
    addUnique('b', unique),
    wait(200),
    fetch(),
    complete('a', 1),
  ],
});

for (const [title, next] of [
  ['plain', {}],
  ['lifo', { lifo: true }],
  ['delayed', { delay: 500 }],
  ['prioritized', { priority: 4 }],
  ['with options', { attempts: 3, backoff: 50, removeOnComplete: 3 }],
] as [string, JobsOptions][]) {
  scenario(`the last add that was swallowed while its job ran follows it (${title})`, {
    steps: [
      addUnique('a', { deduplication: { id: 'u', keepLastIfActive: true } }),
      add('plain', {}),
      fetch(),
      addUnique('b', { deduplication: { id: 'u', keepLastIfActive: true } }),
      addUnique('c', { deduplication: { id: 'u', keepLastIfActive: true }, ...next }),
      complete('a', 1, { fetchNext: true }),
      wait(1000),
      fetch(),
    ],
  });
}

scenario('a swallowed add follows a failed job, and one with a time to live', {
  steps: [
    addUnique('a', { deduplication: { id: 'u', ttl: 60_000, keepLastIfActive: true } }),
    fetch(),
    addUnique('b', { deduplication: { id: 'u', ttl: 60_000, keepLastIfActive: true } }),
    fail('a', 'x'),
    fetch(),
    complete('b', 1),
  ],
});

for (const [title, end] of [
  ['removed', withJob('remove', 'a', (job) => job.remove())],
  ['drained', withQueue('drain', (queue) => queue.drain(true))],
  ['cleaned', withQueue('clean', (queue) => queue.clean(0, 0, 'delayed'))],
  ['obliterated', withQueue('obliterate', (queue) => queue.obliterate())],
  ['promoted', withJob('promote', 'a', (job) => job.promote())],
  ['released by its job', withJob('removeDeduplicationKey', 'a', (job) => job.removeDeduplicationKey())],
  [
    'released by the queue',
    withQueue('removeDeduplicationKey', (queue) => queue.removeDeduplicationKey('u')),
  ],
] as const) {
  scenario(`a deduplicated job is ${title}`, { steps: [addUnique('a', { ...unique, delay: 1000 }), end] });
}

scenario('a removed job frees its id and forgets the swallowed add', {
  steps: [
    addUnique('a', { deduplication: { id: 'u', keepLastIfActive: true } }),
    fetch(),
    addUnique('b', { deduplication: { id: 'u', keepLastIfActive: true } }),
    step('the lease runs out', (side) => side.redis.del(side.key('a:lock'))),
    withJob('remove', 'a', (job) => job.remove()),
  ],
});

// Schedulers

function schedule(id: string, repeat: object, template: object = {}) {
  return step(
    `BullMQ schedules ${id} ${JSON.stringify(repeat)}`,
    async (side) => (await side.reference().upsertJobScheduler(id, repeat as never, template as never)).id,
  );
}

const at = (time: string) => Date.parse(`2030-01-01T12:${time}Z`);

scenario('iterations of an interval follow each other', {
  steps: [
    schedule(
      'every',
      { every: 1000 },
      { name: 'tick', data: { n: 1 }, opts: { attempts: 2, priority: 2, removeOnComplete: 1 } },
    ),
    fetch(),
    step('complete the first', async (side) => {
      for (const job of side.held.values()) await job.moveToCompleted('x', 'token', false);
      side.held.clear();
    }),
    wait(2500),
    fetch(),
    fetch(),
    step('complete the second and fetch', async (side) => {
      for (const job of side.held.values()) await job.moveToCompleted('x', 'token', true);
      side.held.clear();
    }),
    wait(100_000),
    fetch(),
  ],
});

for (const repeat of [
  { pattern: '*/5 * * * * *' },
  { pattern: '0 0 * * *', tz: 'America/New_York' },
  { pattern: '*/10 * * * * *', limit: 2 },
  { pattern: '*/10 * * * * *', endDate: at('00:15') },
  { pattern: '*/10 * * * * *', endDate: at('00:20') },
  { pattern: '*/10 * * * * *', startDate: at('00:15') },
  { every: 5000, limit: 2 },
  { every: 5000, endDate: at('00:08') },
  { every: 5000, startDate: at('00:03') },
  { every: 5000, immediately: true },
  { every: 5000, offset: 1200 },
]) {
  scenario(`iterations follow each other: ${JSON.stringify(repeat)}`, {
    steps: [
      schedule('s', repeat, { name: 'tick', data: { n: 1 } }),
      ...[1, 2, 3].flatMap((round) => [
        wait(round === 3 ? 86_400_000 : 6000),
        fetch(),
        step('complete', async (side) => {
          for (const job of side.held.values()) await job.moveToCompleted('x', 'token', false);
          side.held.clear();
        }),
      ]),
    ],
  });
}

scenario('a template without data and name makes empty jobs', {
  steps: [schedule('s', { every: 1000 }), fetch(), wait(1000), fetch()],
});

scenario('a retried or stalled iteration has one successor', {
  steps: [
    schedule('s', { every: 1000 }, { opts: { attempts: 3 } }),
    fetch(),
    step('fail', async (side) => {
      const error = new Error('x');
      error.stack = 'x';
      for (const job of side.held.values()) await job.moveToFailed(error, 'token', false);
    }),
    fetch(),
    checkStalled(),
    step('leases run out', async (side) => {
      for (const id of side.held.keys()) await side.redis.del(side.key(`${id}:lock`));
    }),
    checkStalled({ worker: { maxStalledCount: 0 } }),
    fetch(),
  ],
});

scenario('the pending iteration of a scheduler is protected', {
  steps: [
    schedule('s', { every: 1000 }),
    schedule('p', { pattern: '0 0 * * *' }),
    schedule('q', { every: 1000, startDate: at('10:00') }, { opts: { priority: 3 } }),
    withQueue('remove', async (queue) => {
      const [job] = await queue.getJobs(['waiting']);
      await job!.remove();
    }),
    withQueue('drain', (queue) => queue.drain(true)),
    wait(10_000),
    withQueue('clean delayed', (queue) => queue.clean(0, 0, 'delayed')),
    withQueue('clean waiting', (queue) => queue.clean(0, 0, 'wait')),
    fetch(),
    withQueue('obliterate', (queue) => queue.obliterate({ force: true })),
  ],
});

scenario('the iteration of a removed scheduler has no successor', {
  steps: [
    schedule('s', { every: 1000 }),
    step('BullMQ removes it', (side) => side.reference().removeJobScheduler('s')),
    fetch(),
  ],
});
