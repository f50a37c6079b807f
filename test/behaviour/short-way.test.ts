// A worker says of a job what it saw of it, so that the server need not look again when it completes. It is the server
// that tells whether it did look: only then does it read fields of the record.

import { describe, expect, it } from 'vitest';
import type { Job, JobsOptions, WorkerOptions } from '../../src/index.ts';
import { useBundle } from '../support/bundle.ts';
import { nextEvent } from '../support/eventually.ts';

const bundle = useBundle();

async function looks(): Promise<number> {
  const stats = String(await bundle.server.admin.info('commandstats'));
  return Number(/cmdstat_hmget:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

/** How often the server looks at the record of a job while its last attempt completes. */
async function looksAtTheEnd(
  jobOptions: JobsOptions,
  workerOptions: Partial<WorkerOptions> = {},
  act: (job: Job) => unknown = () => {},
): Promise<number> {
  const queue = bundle.queue();
  await queue.add('work', {}, jobOptions);
  let before = 0;
  const worker = bundle.worker(
    queue.name,
    async (job) => {
      await act(job);
      before = await looks();
    },
    // One that is suspected of having stalled is always looked up.
    { skipStalledCheck: true, ...workerOptions },
  );
  await nextEvent(worker, 'completed');
  return (await looks()) - before;
}

describe('the end of a new job that is tied to nothing is not looked up', () => {
  it('at its first attempt', async () => {
    expect(await looksAtTheEnd({})).toBe(0);
  });

  it('of a worker with a name', async () => {
    expect(await looksAtTheEnd({}, { name: 'ada' })).toBe(0);
  });

  it('in a lane', async () => {
    expect(await looksAtTheEnd({ lane: 'a' })).toBe(0);
  });
});

describe('that of another is looked up', () => {
  it('with something new in its record', async () => {
    expect(await looksAtTheEnd({}, {}, (job) => job.updateProgress(50))).toBe(1);
  });

  it('at its second attempt: a child may have failed at the first', async () => {
    const failOnce = (job: Job) => {
      if (job.attemptsStarted === 1) throw new Error('once');
    };
    expect(await looksAtTheEnd({ attempts: 2 }, {}, failOnce)).toBe(1);
  });
});
