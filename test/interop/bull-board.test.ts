// bull-board with its stock BullMQ adapter on a Yoke queue, driven through the handlers of its own API routes.

import { expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';
import { leg } from '../support/leg.ts';
import { board } from './board.ts';
import { type Any, gate, useLibraries } from './libraries.ts';

const bundle = useBundle();
const { yoke, six } = useLibraries(bundle);

// The board tells workers by the addresses of their connections; those of the embedded server have none.
const hasAddresses = leg !== 'wasm';

async function setup() {
  const name = bundle.name();
  const queue = yoke.queue(name, { defaultJobOptions: { attempts: 2 } });
  const ask = board(queue);
  const of = async (status: string): Promise<Any> => {
    const query = { activeQueue: name, status, page: '1', jobsPerPage: '10' };
    const { body } = await ask('get', '/api/queues', { query });
    return body.queues[0];
  };
  return { name, queue, ask, of, path: (rest: string) => `/api/queues/${name}/${rest}` };
}

it('lists and counts the jobs of every state', async () => {
  const { name, queue, of } = await setup();
  const held = gate();
  const worker = yoke.worker(name, async (job) => {
    if (job.name === 'held') await held.opened;
    if (job.name === 'bad') throw new Error('broken');
    return { fine: true };
  });
  await queue.add('good', { a: 1 });
  await queue.add('bad', {}, { attempts: 1 });
  await eventually(async () =>
    expect(await queue.getJobCounts('completed', 'failed')).toEqual({ completed: 1, failed: 1 }),
  );
  const isActive = nextEvent(worker, 'active');
  await queue.add('held', {});
  await isActive;
  await queue.add('waits', {});
  await queue.add('later', {}, { delay: 600_000 });
  await queue.add('urgent', {}, { priority: 2 });

  const counts = {
    active: 1,
    completed: 1,
    delayed: 1,
    failed: 1,
    prioritized: 1,
    waiting: 1,
    'waiting-children': 0,
  };
  const seen: Record<string, string[]> = {};
  for (const status of Object.keys(counts)) {
    const entry = await of(status);
    expect(entry.counts).toEqual(counts);
    seen[status] = entry.jobs.map((job: Any) => job.name);
  }
  expect(seen).toEqual({
    active: ['held'],
    completed: ['good'],
    delayed: ['later'],
    failed: ['bad'],
    prioritized: ['urgent'],
    waiting: ['waits'],
    'waiting-children': [],
  });
  const latest = await of('latest');
  expect(latest.jobs).toHaveLength(6);
  expect(latest).toMatchObject({
    name,
    type: 'bullmq',
    isPaused: false,
    jobSchedulerCount: 0,
    hasWorkers: hasAddresses || null,
  });
  expect(latest.statuses).toEqual([
    'latest',
    'active',
    'waiting',
    'waiting-children',
    'prioritized',
    'completed',
    'failed',
    'delayed',
  ]);
  const failed = (await of('failed')).jobs[0];
  expect(failed).toMatchObject({
    isFailed: true,
    failedReason: 'broken',
    attempts: 1,
    opts: { attempts: 1 },
  });
  expect(failed.stacktrace[0]).toContain('broken');
  held.open();
});

it('shows one job, its state and its logs', async () => {
  const { queue, ask, path } = await setup();
  const job = await queue.add('telling', { n: 1 });
  await job.log('first');
  await job.log('second');
  await job.updateProgress(40);

  const { body } = await ask('get', path(job.id));
  expect(body).toMatchObject({
    status: 'waiting',
    job: { id: job.id, name: 'telling', data: { n: 1 }, progress: 40 },
  });
  expect((await ask('get', path(`${job.id}/logs`))).body).toEqual(['first', 'second']);
  expect((await ask('get', path('nobody'))).status).toBe(404);
  // Flows are drawn by BullMQ's own producer; a job without one is no error.
  expect((await ask('get', path(`${job.id}/flow`))).body).toMatchObject({
    nodeId: job.id,
    isFlowNode: false,
  });
});

it('adds, edits and removes jobs', async () => {
  const { queue, ask, path } = await setup();
  const { body } = await ask('post', path('add'), {
    body: { name: 'made', data: { x: 1 }, options: { delay: 60_000 } },
  });
  const { id } = body.job;
  expect(body.status).toBe('delayed');

  await ask('patch', path(`${id}/update-data`), { body: { jobData: { x: 2 } } });
  expect((await queue.getJob(id)).data).toEqual({ x: 2 });
  const runAt = Date.now() + 3_600_000;
  await ask('patch', path(`${id}/delay`), { body: { runAt } });
  expect(Math.abs((await queue.getJob(id)).delay - 3_600_000)).toBeLessThan(30_000);
  await ask('patch', path(`${id}/priority`), { body: { priority: 5 } });
  expect((await queue.getJob(id)).priority).toBe(5);
  expect((await ask('put', path(`${id}/promote`))).status).toBe(204);
  expect(await queue.getJobState(id)).toBe('prioritized');
  expect((await ask('put', path(`${id}/clean`))).status).toBe(204);
  expect(await queue.getJob(id)).toBeUndefined();
});

it('retries one job and all jobs, failed and completed', async () => {
  const { name, queue, ask, path } = await setup();
  let isGood = false;
  yoke.worker(name, async () => {
    if (!isGood) throw new Error('not yet');
  });
  const jobs = await queue.addBulk(
    ['a', 'b', 'c'].map((job) => ({ name: job, data: {}, opts: { attempts: 1 } })),
  );
  await eventually(async () => expect(await queue.getFailedCount()).toBe(3));
  isGood = true;

  expect((await ask('put', path(`${jobs[0].id}/retry`))).status).toBe(204);
  await eventually(async () => expect(await queue.getCompletedCount()).toBe(1));
  expect((await ask('put', path('retry/failed'))).body).toEqual({ retried: 2, skipped: 0 });
  await eventually(async () => expect(await queue.getCompletedCount()).toBe(3));
  expect((await ask('put', path('retry/completed'))).body).toEqual({ retried: 3, skipped: 0 });
  await eventually(async () => expect((await queue.getJob(jobs[0].id)).attemptsStarted).toBe(3));
});

it('promotes all, cleans a state, empties and obliterates', async () => {
  const { queue, ask, path } = await setup();
  await queue.addBulk([1, 2].map((n) => ({ name: `later-${n}`, data: {}, opts: { delay: 600_000 } })));
  await ask('put', path('promote'));
  expect(await queue.getJobCounts('waiting', 'delayed')).toEqual({ waiting: 2, delayed: 0 });
  // The board spares what is younger than five seconds.
  const old = await queue.add('old', {}, { timestamp: Date.now() - 60_000 });
  await ask('put', path('clean/waiting'));
  expect(await queue.getJob(old.id)).toBeUndefined();
  expect(await queue.getWaitingCount()).toBe(2);
  await ask('put', path('empty'));
  expect(await queue.count()).toBe(0);
  expect((await ask('put', path('obliterate'), { body: { force: false } })).status).toBe(400);
  await ask('put', path('pause'));
  expect((await ask('put', path('obliterate'), { body: { force: false } })).status).toBe(200);
});

it('is told apart why a queue with running jobs is not obliterated, and a running job not removed', async () => {
  const { name, queue, ask, path } = await setup();
  const held = gate();
  const worker = yoke.worker(name, () => held.opened);
  const isActive = nextEvent(worker, 'active');
  const job = await queue.add('held', {});
  await isActive;
  expect((await ask('put', path(`${job.id}/clean`))).status).toBe(409);
  await ask('put', path('pause'));
  expect((await ask('put', path('obliterate'), { body: { force: false } })).status).toBe(409);
  held.open();
});

it('pauses and resumes, sets limits, and tells of workers, metrics and the server', async () => {
  const { name, queue, ask, of, path } = await setup();
  await ask('put', path('pause'));
  expect((await of('latest')).isPaused).toBe(true);
  await ask('put', path('resume'));
  expect(await queue.isPaused()).toBe(false);
  await ask('put', '/api/queues/pause');
  expect(await queue.isPaused()).toBe(true);
  await ask('put', '/api/queues/resume');
  expect(await queue.isPaused()).toBe(false);

  await ask('put', path('concurrency'), { body: { concurrency: 4 } });
  expect((await of('latest')).globalConcurrency).toBe(4);
  await ask('put', path('concurrency'), { body: { concurrency: 0 } });
  expect(await queue.getGlobalConcurrency()).toBeNull();
  await ask('put', path('rate-limit'), { body: { max: 3, duration: 1000 } });
  expect((await ask('get', path('rate-limit'))).body).toEqual({
    supported: true,
    rateLimit: { max: 3, duration: 1000 },
  });
  await queue.rateLimit(60_000);
  expect((await of('latest')).activeRateLimitTtl).toBeGreaterThan(0);
  await ask('put', path('rate-limit/release'));
  expect((await of('latest')).activeRateLimitTtl).toBe(0);

  await yoke.worker(name, async () => {}, { name: 'crane' }).waitUntilReady();
  const { workers } = (await ask('get', path('workers'))).body;
  if (hasAddresses) expect(workers).toMatchObject([{ name: 'crane' }]);
  else expect(workers).toBeNull();
  expect((await ask('get', path('default-job-options'))).body).toEqual({ attempts: 2 });
  expect((await ask('get', path('metrics'))).body).toMatchObject({
    completed: { count: 0 },
    failed: { count: 0 },
  });
  const { body: stats } = await ask('get', '/api/redis/stats');
  expect(stats).toMatchObject({ backend: 'redis', uptime: expect.any(Number) });
  expect(stats.memory.used).toBeGreaterThan(0);
});

it('shows schedulers that bullmq made, and refuses to remove their pending iteration', async () => {
  const { name, ask, of, path } = await setup();
  const peer = six.queue(name);
  await peer.upsertJobScheduler(
    'nightly',
    { pattern: '0 0 * * *', tz: 'UTC' },
    { name: 'report', data: { a: 1 } },
  );
  expect((await of('latest')).jobSchedulerCount).toBe(1);
  const { schedulers } = (await ask('get', '/api/job-schedulers')).body;
  expect(schedulers).toMatchObject([
    {
      id: 'nightly',
      name: 'report',
      pattern: '0 0 * * *',
      tz: 'UTC',
      queueName: name,
      template: { data: { a: 1 } },
    },
  ]);
  const reply = await ask('put', path(`${encodeURIComponent(schedulers[0].nextRunJobId)}/clean`));
  expect(reply).toMatchObject({ status: 400, body: { code: 'JOB_BELONGS_TO_JOB_SCHEDULER' } });
});
