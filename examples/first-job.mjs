// Your first job. With no connection given, a private server is started for development; its data is kept in .yoke.
//   node examples/first-job.mjs

import { Queue, reliableDefaults, Worker } from 'yokemq';

const queue = new Queue('greetings', { defaultJobOptions: reliableDefaults });

const worker = new Worker('greetings', async (job) => {
  await job.log(`greeting ${job.data.name}`);
  return `Hello, ${job.data.name}!`;
});

const done = new Promise((resolve) => worker.on('completed', resolve));
worker.on('failed', (job, error) => console.error(`job ${job?.id} failed: ${error.message}`));

const job = await queue.add('greet', { name: 'Ada' });
console.log(`added job ${job.id}`);

const completed = await done;
console.log(`job ${completed.id} says: ${completed.returnvalue}`);

await worker.close();
await queue.close();
