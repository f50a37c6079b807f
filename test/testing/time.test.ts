import { afterEach, expect, it } from 'vitest';
import { createTestClock, expireLeases, type TestClock, whenIdle } from '../../src/testing/index.ts';
import { useBundle } from '../support/bundle.ts';
import { nextEvent } from '../support/eventually.ts';

const bundle = useBundle();
let clock: TestClock | undefined;

afterEach(() => clock?.restore());

it('a job delayed by a day runs at once when the test clock is moved by a day', async () => {
  clock = createTestClock();
  const queue = bundle.queue(undefined, { clock: 'client' });
  const worker = bundle.worker(queue.name, async () => 'ran', { clock: 'client' });
  const dayMs = 86_400_000;
  const job = await queue.add('later', {}, { delay: dayMs });
  expect(await job.getState()).toBe('delayed');
  const completed = nextEvent(worker, 'completed');

  await clock.advance(dayMs, queue);

  expect((await completed)[1]).toBe('ran');
});

it('a job whose lease a test has expired runs again in another worker', async () => {
  const queue = bundle.queue();
  const held = await queue.add('held', {});
  const lost = bundle.worker(queue.name, undefined, { autorun: false });
  expect((await lost.getNextJob('token-1'))?.id).toBe(held.id);
  // The first look marks the job as suspect, the second one recovers it.
  const worker = bundle.worker(queue.name, async () => 'again', { stalledInterval: 50 });
  await nextEvent(worker, 'ready');
  expect(await expireLeases(queue)).toEqual([held.id]);

  const [job, result] = await nextEvent(worker, 'completed');

  expect(job.id).toBe(held.id);
  expect(result).toBe('again');
  await whenIdle(queue);
});
