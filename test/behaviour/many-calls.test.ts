import { expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';

const bundle = useBundle();

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
