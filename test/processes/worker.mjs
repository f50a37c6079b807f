// A worker as a real process, or several in one. The job's data says how long to work and how many attempts fail.

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { config, describe, library, note, onCommand } from './history.mjs';

const { Worker } = library;

async function handle(job, token, signal) {
  const about = { job: job.id, n: job.data.n, token, attempt: job.attemptsMade };
  note('start', { ...about, time: Date.now() });
  signal.addEventListener('abort', () => note('aborted', { ...about, ...describe(signal.reason) }));
  if (job.attemptsStarted === 1 && job.data.untilAborted) await once(signal, 'abort');
  await sleep((job.attemptsStarted === 1 && job.data.firstMs) || (job.data.ms ?? 0));
  if (job.attemptsMade < (job.data.fails ?? 0)) {
    note('throw', about);
    throw new Error('on purpose');
  }
  note('end', about);
  return { n: job.data.n };
}

const workers = Array.from({ length: config.workers ?? 1 }, () => {
  const worker = new Worker(config.queue, handle, { connection: config.connection, ...config.options });
  worker.on('ready', () => note('ready'));
  worker.on('completed', (job) => note('completed', { job: job.id, n: job.data.n }));
  worker.on('failed', (job, error) => note('failed', { job: job?.id, n: job?.data.n, ...describe(error) }));
  worker.on('stalled', (job) => note('stalled', { job }));
  worker.on('locksRenewed', ({ jobIds }) => note('renewed', { jobs: jobIds }));
  worker.on('lockRenewalFailed', (jobs) => note('lost', { jobs }));
  worker.on('error', (error) => note('error', describe(error)));
  return worker;
});

onCommand({
  close: async () => {
    note('closing');
    await Promise.all(workers.map((worker) => worker.close()));
    note('closed');
  },
  health: async () => note('health', workers[0].health()),
});
