// Many jobs at once, priorities, ids of your own, and what a queue tells about itself.
//   node examples/bulk.mjs

import { Queue, Worker } from 'yokemq';
import { startServer, whenIdle } from 'yokemq/testing';

const server = await startServer();
const { connection } = server;
const queue = new Queue('reports', { connection });

// One call for a thousand jobs; either all are valid or none is sent.
const jobs = Array.from({ length: 1000 }, (_, i) => ({
  name: 'row',
  data: { row: i },
  opts: { priority: i % 10 === 0 ? 1 : 5 },
}));
await queue.addBulk(jobs);

// The same id twice is one job.
await queue.add('summary', {}, { jobId: 'summary-today', delay: 20 });
await queue.add('summary', {}, { jobId: 'summary-today', delay: 20 });
console.log('before:', await queue.getJobCounts('prioritized', 'delayed', 'completed'));

const order = [];
const worker = new Worker(
  'reports',
  async (job) => {
    if (job.name === 'row') order.push(job.priority);
  },
  {
    connection,
    concurrency: 50,
    // Keep the last hundred; the rest leaves Redis as it finishes.
    removeOnComplete: { count: 100 },
  },
);
await whenIdle(queue);
await worker.close();

console.log(
  `ran ${order.length} rows, the first 100 of priority ${[...new Set(order.slice(0, 100))].join(', ')}`,
);
console.log('after:', await queue.getJobCounts('prioritized', 'delayed', 'completed'));

await queue.close();
await server.stop();
