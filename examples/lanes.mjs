// Ordered jobs per account: one at a time in each lane, lanes in parallel, and a retry that nobody overtakes.
//   node examples/lanes.mjs

import { Queue, Worker } from 'yokemq';
import { startServer, whenIdle } from 'yokemq/testing';

const server = await startServer();
const { connection } = server;
const queue = new Queue('ledger', { connection });

const accounts = ['ada', 'ben', 'cleo'];
const jobs = [1, 2, 3, 4].flatMap((step) =>
  accounts.map((account) => ({ name: 'book', data: { step }, opts: { lane: account, attempts: 2 } })),
);
await queue.addBulk(jobs);
console.log('waiting:', await queue.getWaitingCount(), 'in', await queue.getLaneCount(), 'lanes');

const steps = Object.fromEntries(accounts.map((account) => [account, []]));
const busy = new Set();
let mostTogether = 0;
const worker = new Worker(
  'ledger',
  async (job) => {
    if (busy.has(job.lane)) throw new Error('two jobs of one lane at a time');
    busy.add(job.lane);
    mostTogether = Math.max(mostTogether, busy.size);
    await new Promise((resolve) => setTimeout(resolve, 5));
    busy.delete(job.lane);
    if (job.lane === 'ben' && job.data.step === 2 && job.attemptsMade === 0) throw new Error('once');
    steps[job.lane].push(job.data.step);
  },
  { connection, concurrency: 10 },
);
await whenIdle(queue);
await worker.close();

for (const account of accounts) console.log(`${account}: ${steps[account].join(' ')}`);
console.log('lanes at work together:', mostTogether > 1, 'lanes left:', await queue.getLaneCount());

await queue.close();
await server.stop();
