// A worker process of groups: takes members and compensations of all queues. The job's data says how long to work and
// what fails. With `standby` it is loaded and connects when it is told to.

import { setTimeout as sleep } from 'node:timers/promises';
import { config, describe, library, note, onCommand } from './history.mjs';

const { DelayedError, UnrecoverableError, Worker } = library;

let runs = 0;

/** Notes the start; each end of the same run carries its number. */
function begin(op, job, fields = {}) {
  const about = { queue: job.queueName, job: job.id, run: ++runs };
  note(op, { ...about, ...fields });
  return about;
}

async function work(job, token) {
  const { g, m, ms, fails, isFinal, postponeMs } = job.data;
  const about = begin('start', job, { g, ms });
  await sleep(ms);
  if (postponeMs && job.attemptsStarted === 1) {
    note('postpone', about);
    await job.moveToDelayed(Date.now() + postponeMs, token);
    throw new DelayedError();
  }
  if (job.attemptsMade < fails) {
    note('throw', about);
    throw isFinal ? new UnrecoverableError('on purpose') : new Error('on purpose');
  }
  // Empty lists and long numbers are what a result loses if somebody decodes and encodes it again.
  const value = { by: `${g}.${m} in ${process.pid}, run ${about.run}`, none: [], long: 9007199254740991 };
  note('end', { ...about, value });
  return value;
}

async function undo(job) {
  const { ms, fails } = job.data.compensationData;
  const about = begin('start', job, { name: job.name, data: job.data });
  await sleep(ms);
  if (job.attemptsMade < fails) {
    note('throw', about);
    throw new Error('on purpose');
  }
  note('end', about);
}

function start() {
  const options = { connection: config.connection, ...config.options };
  const workers = config.queues.flatMap((queue) => [
    new Worker(queue, work, options),
    new Worker(`${queue}:compensation`, undo, options),
  ]);
  for (const worker of workers) worker.on('error', (error) => note('error', describe(error)));
  Promise.all(workers.map((worker) => worker.waitUntilReady())).then(() => note('ready'));
  return workers;
}

let workers = config.standby ? [] : start();
if (config.standby) note('loaded');

onCommand({
  start: async () => {
    workers = start();
  },
  close: async () => {
    await Promise.all(workers.map((worker) => worker.close()));
    note('closed');
  },
});
