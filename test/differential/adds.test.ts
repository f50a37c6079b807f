import { expect, it } from 'vitest';
import { scenario, spacesOf, useServer, withSides } from './scenario.ts';
import { add, addBulk, complete, fetch, step, wait, withQueue } from './steps.ts';
import { refusedByYoke } from './tolerated.ts';

useServer();

scenario('a job is added, fetched and completed', {
  steps: [add('first', { n: 1 }), fetch(), complete('1', { ok: true }), fetch()],
});

scenario('jobs of every kind are added and run in the same order', {
  tolerates: ['delayFieldInRange', 'noEmptyId'],
  steps: [
    add('standard', { a: 1 }),
    add('no data', undefined),
    add('null data', null),
    add('text', 'text / with slash'),
    add('list', [1, [], {}]),
    add('lifo', {}, { lifo: true }),
    add('delayed', {}, { delay: 60_000 }),
    add('delayed at the same time', {}, { delay: 59_990 }),
    add('prioritized', {}, { priority: 5 }),
    add('more urgent', {}, { priority: 1 }),
    add('least urgent', {}, { priority: 2_097_151 }),
    add('delayed and prioritized', {}, { delay: 30_000, priority: 3 }),
    add('custom id', {}, { jobId: 'custom' }),
    add('duplicate id', { other: true }, { jobId: 'custom', delay: 1000 }),
    add('three segments', {}, { jobId: 'a:b:c' }),
    add('backoff', {}, { attempts: 3, backoff: 1000 }),
    add('backoff object', {}, { attempts: 3, backoff: { type: 'exponential', delay: 100, jitter: 0.5 } }),
    add('retention', {}, { removeOnComplete: true, removeOnFail: { age: 10, count: 3 } }),
    add('retention by number', {}, { removeOnComplete: 5, removeOnFail: false }),
    add('keepLogs', {}, { keepLogs: 2, stackTraceLimit: 1, sizeLimit: 1000 }),
    add('old', {}, { timestamp: 1_700_000_000_000 }),
    add('old and delayed', {}, { timestamp: 1_700_000_000_000, delay: 5 }),
    add('negative delay', {}, { delay: -5 }),
    add('no attempts', {}, { attempts: 0 }),
    add('priority zero', {}, { priority: 0 }),
    add('lifo and priority', {}, { priority: 4, lifo: true }),
    add('lifo and delay', {}, { delay: 20_000, lifo: true }),
    add('unknown option', {}, { ours: 'kept' } as never),
    add('option undefined', {}, { jobId: undefined, delay: undefined }),
    add('empty id', {}, { jobId: '' }),
    add('an: odd name é', { ключ: '値' }),
    fetch(),
    fetch(),
    fetch(),
    fetch(),
    fetch(),
    fetch(),
    fetch(),
    fetch(),
  ],
});

scenario('fractions of milliseconds mean whole ones', {
  tolerates: ['wholeMilliseconds'],
  steps: [
    add('fractional delay', {}, { delay: 12.7 }),
    add('fractional time', {}, { timestamp: 1_700_000_000_000.6 }),
    wait(13),
    fetch({ idOnly: true }),
    fetch({ idOnly: true }),
  ],
});

scenario('a bulk add leaves what single adds leave', {
  steps: [
    addBulk([
      { name: 'one', data: 1 },
      { name: 'two', data: 2, opts: { priority: 3 } },
      { name: 'three', data: 3, opts: { delay: 500 } },
      { name: 'four', data: 4, opts: { jobId: 'four', lifo: true } },
      { name: 'five', data: 5, opts: { jobId: 'four' } },
    ]),
    addBulk([]),
  ],
});

scenario('the queue has default job options', {
  steps: [
    add('default', {}, undefined, 'main', {
      defaultJobOptions: { attempts: 4, backoff: 50, removeOnComplete: 3 },
    }),
    add('own wins', {}, { attempts: 2, delay: 9 }, 'main', {
      defaultJobOptions: { attempts: 4, backoff: 50, removeOnComplete: 3 },
    }),
  ],
});

scenario('wrong input is refused with the same words and nothing is written', {
  steps: [
    add('zero', {}, { jobId: '0' }),
    add('zero segment', {}, { jobId: '0:1' }),
    add('integer id', {}, { jobId: '12' }),
    add('two segments', {}, { jobId: 'a:b' }),
    add('priority too high', {}, { priority: 2_097_152 }),
    add('priority fraction', {}, { priority: 1.5 }),
    add('too large', { text: 'x'.repeat(100) }, { sizeLimit: 20 }),
  ],
});

scenario('settings of the queue are stored', {
  steps: [
    step('a queue with a short event log', async (side) => {
      const queue = side.queue('main', { streams: { events: { maxLen: 77 } } });
      await queue.waitUntilReady();
      await queue.getJobCounts();
    }),
    withQueue('set the global concurrency', (queue) => queue.setGlobalConcurrency(4)),
    withQueue('read it', (queue) => queue.getGlobalConcurrency()),
    withQueue('set the global rate limit', (queue) => queue.setGlobalRateLimit(10, 1000)),
    withQueue('read it', (queue) => queue.getGlobalRateLimit()),
    withQueue('remove the global concurrency', (queue) => queue.removeGlobalConcurrency()),
    withQueue('remove the global rate limit', (queue) => queue.removeGlobalRateLimit()),
    withQueue('trim events', (queue) => queue.trimEvents(0)),
  ],
});

for (const [what, run] of Object.entries(refusedByYoke)) {
  it(`BullMQ accepts and Yoke refuses: ${what}`, async () => {
    await withSides(['main'], async (pair) => {
      await pair.bullmq.queue().add('job', {}, { jobId: 'there' });
      await pair.yoke.queue().add('job', {}, { jobId: 'there' });
      await run.step(pair.bullmq);
      const [, before] = await spacesOf(pair);
      await expect(run.step(pair.yoke)).rejects.toThrow();
      const [, after] = await spacesOf(pair);
      expect(after).toEqual(before);
    });
  });
}
