import { connect, type NetConnectOpts } from 'node:net';
import { expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { eventually } from '../support/eventually.ts';

const bundle = useBundle();

it('results that are large go in calls that hold the server for a moment each', async () => {
  const queue = bundle.queue();
  const largest = 'x'.repeat(300_000);
  const count = 20;
  let waiting = 0;
  let letGo = () => {};
  const isLetGo = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const worker = bundle.worker(
    queue.name,
    async (job) => {
      if (++waiting === count) letGo();
      await isLetGo;
      return `${job.id} ${largest}`;
    },
    { concurrency: count },
  );
  const monitor = connect(bundle.server.connection as NetConnectOpts);
  let seen = '';
  monitor.on('data', (chunk) => {
    seen += chunk;
  });
  await new Promise<void>((resolve) => monitor.write('MONITOR\r\n', () => resolve()));
  // What a function or script does itself is told too.
  const sizes = () =>
    seen
      .split('\r\n')
      .filter((line) => !line.includes(' lua] ') && line.length > largest.length)
      .map((line) => line.length);
  const completed = new Promise<void>((resolve) => {
    let left = count;
    worker.on('completed', () => --left === 0 && resolve());
  });
  await queue.addBulk(Array.from({ length: count }, () => ({ name: 'n', data: {} })));
  await completed;

  await eventually(() =>
    expect(sizes().reduce((sum, size) => sum + size, 0)).toBeGreaterThan(count * largest.length),
  );
  monitor.destroy();
  expect(await queue.getCompletedCount()).toBe(count);
  expect(Math.max(...sizes())).toBeLessThan(1_100_000);
});

it('thousands of calls made at once are all done, in the order in which they were made', async () => {
  const queue = bundle.queue();
  const job = await queue.add('work', {});
  const calls: Promise<unknown>[] = [];
  for (let i = 0; i < 5_000; i++) calls.push(job.updateProgress(i));
  const logged = job.log('last');

  await Promise.all(calls);

  expect((await queue.getJob(job.id!))?.progress).toBe(4_999);
  expect(await logged).toBe(1);
});
