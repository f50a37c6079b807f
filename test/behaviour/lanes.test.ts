// Jobs of one lane run in order, one at a time; different lanes run in parallel.

import { expect, it } from 'vitest';
import type { Job, Queue } from '../../src/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually } from '../support/eventually.ts';

const bundle = useBundle();

const laneKeys = async (queue: Queue) => {
  const keys = await bundle.server.admin.keys(`${queue.qualifiedName}:*`);
  const root = `${queue.qualifiedName}:`;
  return keys
    .map((key) => key.slice(root.length))
    .filter((key) => key === 'de' || /^meta:(lane|line)/.test(key));
};

it('jobs of a lane run in the order of their adds, one at a time, and leave no key behind', async () => {
  const queue = bundle.queue();
  const running = new Map<string, number>();
  const started: Record<string, number[]> = {};
  let most = 0;
  let together = 0;
  bundle.worker(
    queue.name,
    async (job: Job) => {
      const lane = job.lane!;
      const now = (running.get(lane) ?? 0) + 1;
      running.set(lane, now);
      most = Math.max(most, now);
      together = Math.max(
        together,
        [...running.values()].reduce((sum, count) => sum + count, 0),
      );
      started[lane] = [...(started[lane] ?? []), job.data];
      await new Promise((resolve) => setImmediate(resolve));
      running.set(lane, running.get(lane)! - 1);
    },
    { concurrency: 10 },
  );
  await queue.addBulk(
    Array.from({ length: 300 }, (_, n) => ({ name: 'n', data: n, opts: { lane: `l${n % 10}` } })),
  );
  await eventually(async () => expect(await queue.getCompletedCount()).toBe(300));
  expect(most).toBe(1);
  expect(together).toBeGreaterThan(1);
  for (let lane = 0; lane < 10; lane++) {
    expect(started[`l${lane}`]).toEqual(Array.from({ length: 30 }, (_, i) => i * 10 + lane));
  }
  expect(await laneKeys(queue)).toEqual([]);
});

it('orderMs decides, then the order of arrival', async () => {
  const queue = bundle.queue();
  const orders = [0, 5, -3, 5, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 2 ** 52 + 1, 2 ** 52];
  await queue.addBulk(orders.map((orderMs, n) => ({ name: 'n', data: n, opts: { lane: 'a', orderMs } })));
  const started: number[] = [];
  bundle.worker(queue.name, async (job: Job) => {
    expect(job.orderMs).toBe(orders[job.data]);
    started.push(job.data);
  });
  await eventually(async () => expect(await queue.getCompletedCount()).toBe(orders.length));
  // The first was released before the others came.
  expect(started).toEqual([0, 5, 2, 1, 3, 7, 6, 4]);
});
