import { expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { nextEvent } from '../support/eventually.ts';

const bundle = useBundle();

it('a job goes from add to completed and its result is stored', async () => {
  const queue = bundle.queue();
  const added = await queue.add('double', { n: 21 });
  const worker = bundle.worker(queue.name, async (job) => job.data.n * 2);

  const [job, result] = await nextEvent(worker, 'completed');

  expect(job.id).toBe(added.id);
  expect(result).toBe(42);
  expect((await queue.getJob(added.id!))?.returnvalue).toBe(42);
  expect(await queue.getJobCounts('completed', 'active', 'waiting')).toEqual({
    completed: 1,
    active: 0,
    waiting: 0,
  });
});
