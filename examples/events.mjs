// Hearing what happens in a queue from another process: QueueEvents reads the queue's stream, whoever does the work.
//   node examples/events.mjs

import { Queue, QueueEvents, Worker } from 'yokemq';
import { startServer } from 'yokemq/testing';

const server = await startServer();
const { connection } = server;
const queue = new Queue('films', { connection });
const events = new QueueEvents('films', { connection });
await events.waitUntilReady();

for (const name of ['added', 'active', 'progress', 'completed']) {
  events.on(name, ({ jobId, data, returnvalue }) => console.log(name, jobId, data ?? returnvalue ?? ''));
}

const worker = new Worker(
  'films',
  async (job) => {
    await job.updateProgress(50);
    await job.updateProgress({ frames: 240 });
    return `${job.data.title}.mp4`;
  },
  { connection },
);

const job = await queue.add('encode', { title: 'holiday' });
console.log('waited for:', await job.waitUntilFinished(events, 10_000));

await worker.close();
await events.close();
await queue.close();
await server.stop();
