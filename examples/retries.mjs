// What happens to a job that fails: attempts, backoff, errors that are worth no retry, and a second chance by hand.
//   node examples/retries.mjs

import { once } from 'node:events';
import { PermanentError, Queue, Worker } from 'yokemq';
import { startServer } from 'yokemq/testing';

// A throw-away server keeps this example out of your data.
const server = await startServer();
const { connection } = server;

const queue = new Queue('mails', {
  connection,
  defaultJobOptions: { attempts: 3, backoff: { type: 'exponential', delay: 50 } },
});

let isAddressKnown = false;
const worker = new Worker(
  'mails',
  async (job) => {
    if (job.name === 'welcome' && job.attemptsMade < 2) throw new Error('mail server busy');
    if (job.name === 'invoice' && !isAddressKnown) throw new PermanentError('no such address');
    return 'sent';
  },
  { connection },
);
worker.on('failed', (job, error) => {
  const next = job.finishedOn ? 'failed for good' : `next attempt in ${job.delay} ms`;
  console.log(`${job.name}: attempt ${job.attemptsMade} of ${job.opts.attempts}: ${error.message}, ${next}`);
});
worker.on('completed', (job) =>
  console.log(`${job.name}: ${job.returnvalue} at attempt ${job.attemptsMade}`),
);

const welcomed = once(worker, 'completed');
await queue.add('welcome', { to: 'ada@example.org' });
await welcomed;

const refused = once(worker, 'failed');
const invoice = await queue.add('invoice', { to: 'nobody@example.org' });
await refused;

isAddressKnown = true;
const sent = once(worker, 'completed');
await invoice.retry('failed');
await sent;

await worker.close();
await queue.close();
await server.stop();
