// A backoff of your own: the strategy sees the error and decides how long to wait, or that it is not worth it.
//   node examples/custom-backoff.mjs

import { once } from 'node:events';
import { Queue, Worker } from 'yokemq';
import { startServer } from 'yokemq/testing';

class TooManyRequests extends Error {
  constructor(retryAfterMs) {
    super('too many requests');
    this.retryAfterMs = retryAfterMs;
  }
}

const server = await startServer();
const { connection } = server;
const queue = new Queue('calls', {
  connection,
  defaultJobOptions: { attempts: 5, backoff: { type: 'polite', maxDelay: 1000 } },
});

const worker = new Worker(
  'calls',
  async (job) => {
    if (job.data.isGone) throw new Error('gone');
    if (job.attemptsMade === 0) throw new TooManyRequests(40);
    return 'answered';
  },
  {
    connection,
    settings: {
      // Milliseconds to wait; -1 gives up.
      backoffStrategy: (attemptsMade, type, error) => {
        if (type !== 'polite') return 0;
        return error instanceof TooManyRequests ? error.retryAfterMs * attemptsMade : -1;
      },
    },
  },
);
worker.on('failed', (job, error) =>
  console.log(`${job.name}: ${error.message}, ${job.finishedOn ? 'given up' : `again in ${job.delay} ms`}`),
);

const answered = once(worker, 'completed');
await queue.add('busy', {});
const [busy] = await answered;
console.log(`${busy.name}: ${busy.returnvalue} at attempt ${busy.attemptsMade}`);

const refused = once(worker, 'failed');
await queue.add('gone', { isGone: true });
await refused;

await worker.close();
await queue.close();
await server.stop();
