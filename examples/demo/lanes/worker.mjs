// One worker of the story, in a process of its own so that it can be killed.

import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'yokemq';

const tell = (event, job) =>
  process.connected && process.send({ event, id: job.id, lane: job.lane, step: job.data.step });

const worker = new Worker(
  'accounts',
  async (job) => {
    tell('start', job);
    await pause(job.data.ms);
    if (job.data.fails > job.attemptsMade) {
      tell('fail', job);
      throw new Error('the bank is busy');
    }
    tell('end', job);
  },
  // Short leases, so that the jobs of a killed worker come back while one watches.
  { prefix: 'demo', concurrency: 4, lockDuration: 2500, stalledInterval: 800, maxStalledCount: 100 },
);
worker.on('error', () => {});

process.on('message', async () => {
  await worker.close();
  process.disconnect();
});
process.on('disconnect', () => process.exit());
