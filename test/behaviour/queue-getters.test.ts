import { describe, expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { eventually, nextEvent } from '../support/eventually.ts';

const bundle = useBundle();

/** Jobs in every state that needs no flow: ids by state, in the order in which they were added. */
async function seeded() {
  const queue = bundle.queue();
  const failing = async (job: { data: { fails?: boolean } }) => {
    if (job.data.fails) throw new Error('told to');
    return 'fine';
  };
  const first = bundle.worker(queue.name, failing as never);
  for (const id of ['c1', 'c2', 'c3']) {
    const completed = nextEvent(first, 'completed');
    await queue.add('n', {}, { jobId: id });
    await completed;
  }
  for (const id of ['f1', 'f2']) {
    const failed = nextEvent(first, 'failed');
    await queue.add('n', { fails: true }, { jobId: id });
    await failed;
  }
  await first.close();
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const holder = bundle.worker(queue.name, () => gate);
  const active = nextEvent(holder, 'active');
  await queue.add('n', {}, { jobId: 'a1' });
  await active;
  await queue.add('n', {}, { jobId: 'w1' });
  await queue.add('n', {}, { jobId: 'w2' });
  await queue.add('n', {}, { jobId: 'w3' });
  await queue.add('n', {}, { jobId: 'p9', priority: 9 });
  await queue.add('n', {}, { jobId: 'p1', priority: 1 });
  await queue.add('n', {}, { jobId: 'd2', delay: 2_000_000 });
  await queue.add('n', {}, { jobId: 'd1', delay: 1_000_000 });
  await bundle.server.admin.zadd(queue.keys['waiting-children']!, 5, 'k1');
  await bundle.server.admin.hset(
    queue.toKey('k1'),
    'name',
    'n',
    'data',
    '{}',
    'opts',
    '{}',
    'timestamp',
    '5',
  );
  return { queue, release };
}

const ids = (jobs: { id?: string }[]) => jobs.map(({ id }) => id);

describe('a queue with jobs in every state', () => {
  it('lists, counts and ranges them as BullMQ does', async () => {
    const { queue, release } = await seeded();
    expect(ids(await queue.getWaiting())).toEqual(['w1', 'w2', 'w3']);
    expect(ids(await queue.getWaiting(1, 1))).toEqual(['w2']);
    expect(ids(await queue.getActive())).toEqual(['a1']);
    expect(ids(await queue.getDelayed())).toEqual(['d1', 'd2']);
    expect(ids(await queue.getPrioritized())).toEqual(['p1', 'p9']);
    expect(ids(await queue.getWaitingChildren())).toEqual(['k1']);
    expect(ids(await queue.getCompleted())).toEqual(['c3', 'c2', 'c1']);
    expect(ids(await queue.getCompleted(0, 1))).toEqual(['c3', 'c2']);
    expect(ids(await queue.getFailed())).toEqual(['f2', 'f1']);

    expect(ids(await queue.getJobs(['waiting', 'failed'], 0, 0, true))).toEqual(['w1', 'f1']);
    expect(ids(await queue.getJobs('completed', 0, -1, true))).toEqual(['c1', 'c2', 'c3']);
    expect(ids(await queue.getJobs(['wait', 'waiting'], 0, -1, true))).toEqual(['w1', 'w2', 'w3']);
    expect(await queue.getJobs()).toHaveLength(14);
    expect(await queue.getJobs([])).toHaveLength(14);
    expect(await queue.getRanges(['delayed', 'delayed'], 0, -1, true)).toEqual(['d1', 'd2']);
    expect(await queue.getRanges(['completed'])).toEqual(['c3', 'c2']);

    expect(await queue.getJobCounts()).toEqual({
      active: 1,
      completed: 3,
      delayed: 2,
      failed: 2,
      prioritized: 2,
      waiting: 3,
      'waiting-children': 1,
    });
    expect(await queue.getJobCounts('wait', 'paused', 'failed')).toEqual({ wait: 3, paused: 0, failed: 2 });
    expect(await queue.recordJobCountsMetric('failed')).toEqual({ failed: 2 });
    expect(await queue.getJobCountByTypes('wait', 'delayed')).toBe(5);
    expect(await queue.count()).toBe(8);
    expect(await queue.getCompletedCount()).toBe(3);
    expect(await queue.getFailedCount()).toBe(2);
    expect(await queue.getDelayedCount()).toBe(2);
    expect(await queue.getActiveCount()).toBe(1);
    expect(await queue.getPrioritizedCount()).toBe(2);
    expect(await queue.getWaitingCount()).toBe(3);
    expect(await queue.getWaitingChildrenCount()).toBe(1);
    expect(await queue.getCountsPerPriority([0, 1, 2, 9])).toEqual({ 0: 3, 1: 1, 2: 0, 9: 1 });

    const states = {
      c1: 'completed',
      f1: 'failed',
      a1: 'active',
      w1: 'waiting',
      p1: 'prioritized',
      d1: 'delayed',
      k1: 'waiting-children',
    };
    for (const [id, state] of Object.entries(states))
      expect([id, await queue.getJobState(id)]).toEqual([id, state]);
    expect(await queue.getJobState('nobody')).toBe('unknown');
    expect(await queue.getJob('nobody')).toBeUndefined();
    expect(await queue.getJob('')).toBeUndefined();
    release();
  });

  it('refuses a state that does not exist', async () => {
    const queue = bundle.queue();
    await expect(queue.getJobs('finished' as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  it('passes over records that are missing or broken and says so', async () => {
    const queue = bundle.queue();
    await queue.add('n', {}, { jobId: 'good' });
    await queue.add('n', {}, { jobId: 'broken' });
    await queue.add('n', {}, { jobId: 'missing' });
    await bundle.server.admin.hset(queue.toKey('broken'), 'data', '{no json');
    await bundle.server.admin.del(queue.toKey('missing'));
    const told = nextEvent(queue, 'error');
    expect(ids(await queue.getWaiting())).toEqual(['good']);
    expect((await told)[0]).toMatchObject({ code: 'POISONED_RECORD' });
  });
});

describe('settings and other facts', () => {
  it('getMeta converts numbers and says whether the queue is paused', async () => {
    const queue = bundle.queue();
    await queue.getVersion();
    expect(await queue.getMeta()).toMatchObject({
      paused: false,
      maxLenEvents: 10_000,
      version: queue.metaValues.version,
    });
    await queue.pause();
    await queue.setGlobalConcurrency(4);
    await queue.setGlobalRateLimit(2, 500);
    expect(await queue.getMeta()).toMatchObject({ paused: true, concurrency: 4, max: 2, duration: 500 });
  });

  it('getJobLogs pages in both directions', async () => {
    const queue = bundle.queue();
    const job = await queue.add('n', {});
    for (const row of ['a', 'b', 'c', 'd']) await job.log(row);
    expect(await queue.getJobLogs(job.id!, 1, 2)).toEqual({ logs: ['b', 'c'], count: 4 });
    expect(await queue.getJobLogs(job.id!, 0, 1, false)).toEqual({ logs: ['d', 'c'], count: 4 });
    expect(await queue.getJobLogs('nobody')).toEqual({ logs: [], count: 0 });
  });

  it('getWorkers and getQueueEvents find connections by their names', async () => {
    const queue = bundle.queue();
    const worker = bundle.worker(queue.name, async () => 1, { name: 'ada' });
    const anonymous = bundle.worker(queue.name, async () => 1);
    const events = bundle.events(queue.name);
    await Promise.all([worker.waitUntilReady(), anonymous.waitUntilReady(), events.waitUntilReady()]);
    const found = await eventually(async () => {
      const workers = await queue.getWorkers();
      expect(workers).toHaveLength(2);
      return workers;
    });
    expect(found.map(({ name }) => name)).toEqual([queue.name, queue.name]);
    expect(found.some(({ rawname }) => rawname!.endsWith(':w:ada'))).toBe(true);
    expect(await queue.getWorkersCount()).toBe(2);
    expect(await queue.getQueueEvents()).toHaveLength(1);
    await worker.close();
    await eventually(async () => expect(await queue.getWorkersCount()).toBe(1));
  });

  it('getMetrics reads what other workers have counted, the newest first', async () => {
    const queue = bundle.queue();
    expect(await queue.getMetrics('completed')).toEqual({
      meta: { count: 0, prevTS: 0, prevCount: 0 },
      data: [],
      count: 0,
    });
    await bundle.server.admin.hset(
      queue.toKey('metrics:completed'),
      'count',
      7,
      'prevTS',
      100,
      'prevCount',
      5,
    );
    await bundle.server.admin.rpush(queue.toKey('metrics:completed:data'), 3, 2, 1);
    expect(await queue.getMetrics('completed', 0, 1)).toEqual({
      meta: { count: 7, prevTS: 100, prevCount: 5 },
      data: [3, 2],
      count: 3,
    });
  });

  it('exportPrometheusMetrics is the text that scrapers read', async () => {
    const queue = bundle.queue();
    await queue.add('n', {});
    await bundle.server.admin.hset(queue.toKey('metrics:failed'), 'count', 4);
    const text = await queue.exportPrometheusMetrics({ env: 'a"b\\c\nd' });
    expect(text.split('\n')).toEqual([
      '# HELP bullmq_job_count Number of jobs in the queue by state',
      '# TYPE bullmq_job_count gauge',
      ...['active', 'completed', 'delayed', 'failed', 'prioritized', 'waiting', 'waiting-children'].map(
        (state) =>
          `bullmq_job_count{queue="${queue.name}", state="${state}", env="a\\"b\\\\c\\nd"} ${state === 'waiting' ? 1 : 0}`,
      ),
      '# HELP bullmq_job_completed_total Total number of completed jobs',
      '# TYPE bullmq_job_completed_total counter',
      `bullmq_job_completed_total{queue="${queue.name}", env="a\\"b\\\\c\\nd"} 0`,
      '# HELP bullmq_job_failed_total Total number of failed jobs',
      '# TYPE bullmq_job_failed_total counter',
      `bullmq_job_failed_total{queue="${queue.name}", env="a\\"b\\\\c\\nd"} 4`,
    ]);
  });

  it('getDependencies pages through the children of a parent', async () => {
    const queue = bundle.queue();
    const { admin } = bundle.server;
    await admin.sadd(queue.toKey('p:dependencies'), 'bull:kids:1', 'bull:kids:2');
    await admin.hset(
      'bull:kids:1',
      'name',
      'kid',
      'data',
      '{"a":1}',
      'opts',
      '{"kl":3}',
      'timestamp',
      '9',
      'parent',
      '{"id":"p"}',
    );
    await admin.hset(queue.toKey('p:processed'), 'bull:kids:3', '{"r":1}', 'bull:kids:4', 'not json');
    const pending = await queue.getDependencies('p', 'pending', 0, -1);
    expect(pending.total).toBe(2);
    expect(pending.items.map(({ id }) => id).sort()).toEqual(['bull:kids:1', 'bull:kids:2']);
    expect(pending.jobs).toEqual([
      expect.objectContaining({
        name: 'kid',
        data: '{"a":1}',
        opts: { attempts: 0, keepLogs: 3 },
        parent: { id: 'p' },
      }),
    ]);
    const processed = await queue.getDependencies('p', 'processed', 0, 0);
    expect(processed.items).toHaveLength(1);
    expect(processed.total).toBe(2);
    const all = await queue.getDependencies('p', 'processed', 0, -1);
    expect(all.items).toContainEqual({ id: 'bull:kids:3', v: { r: 1 } });
    expect(all.items).toContainEqual({ id: 'bull:kids:4', err: expect.any(String) });
    expect(await queue.getDependencies('nobody', 'pending', 0, -1)).toEqual({
      items: [],
      jobs: [],
      total: 0,
    });
  });
});
