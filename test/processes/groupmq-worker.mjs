// The same work by GroupMQ, for the soak's comparison.

import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, Worker } from 'groupmq';
import { Redis } from 'ioredis';
import { config, describe, note, onCommand } from './history.mjs';

const redis = new Redis({ ...config.connection, maxRetriesPerRequest: null });
redis.on('error', () => {});
const queue = new Queue({ redis, namespace: config.queue, jobTimeoutMs: config.leaseMs, keepCompleted: 0 });
const worker = new Worker({
  queue,
  concurrency: config.concurrency,
  maxAttempts: 1000,
  cleanupIntervalMs: 500,
  handler: async (job) => {
    const about = { job: job.id, n: job.data.n, token: `${process.pid}` };
    note('start', about);
    await sleep(job.data.ms ?? 0);
    if (job.attempts < (job.data.fails ?? 0)) {
      note('throw', about);
      throw new Error('on purpose');
    }
    note('end', about);
  },
});
worker.on('error', (error) => note('error', describe(error)));
worker.run();

onCommand({
  close: async () => {
    await worker.close(5000);
    redis.disconnect();
  },
});
