// All succeed, or all is undone: an order charges a card, reserves stock and sends a mail, on three queues. When the
// stock is gone, the charge is refunded by its transaction id, and the mail that never went out is cancelled.
//   node examples/group.mjs

import { setTimeout as pause } from 'node:timers/promises';
import { FlowProducer, Queue, QueueEvents, Worker } from 'yokemq';
import { startServer } from 'yokemq/testing';

const server = await startServer();
const { connection } = server;

const stock = { book: 5, lamp: 0 };

const handlers = {
  payments: async (job) => ({ transactionId: `tx-${job.data.order}` }),
  inventory: async (job) => {
    // The charge comes first here, so that there is something to undo.
    await charged(job.data.order);
    if (stock[job.data.item] === 0) throw new Error(`no ${job.data.item} left`);
    stock[job.data.item]--;
    return { item: job.data.item };
  },
  notifications: async (job) => console.log(`order ${job.data.order}: mail sent`),
  // What undoes a payment gets what the payment returned.
  'payments:compensation': async (job) => {
    const { originalReturnValue, compensationData } = job.data;
    console.log(`refunded ${compensationData.amount} of ${originalReturnValue.transactionId}`);
  },
};
const workers = Object.entries(handlers).map(([name, handler]) => new Worker(name, handler, { connection }));

const producer = new FlowProducer({ connection });
const payments = new Queue('payments', { connection });
// A group is at home in the queue of its first job: its events are told there.
const events = new QueueEvents('payments', { connection });
await events.waitUntilReady();
events.on('group:compensating', ({ groupName, reason }) => console.log(`${groupName} is undone: ${reason}`));

for (const [order, item] of [
  [1, 'book'],
  [2, 'lamp'],
]) {
  const { group } = await producer.addGroup({
    name: `order ${order}`,
    groupId: `order-${order}`, // the same order again would be the same group
    jobs: [
      { name: 'charge', queueName: 'payments', data: { order, amount: 30 } },
      { name: 'reserve', queueName: 'inventory', data: { order, item } },
      { name: 'mail', queueName: 'notifications', data: { order }, opts: { delay: 1000 } },
    ],
    compensation: { charge: { name: 'refund', data: { amount: 30 } } },
  });
  const { state } = await group.waitUntilFinished(events, 10_000);
  const jobs = await group.getJobs();
  console.log(`order ${order} ended as ${state}: ${jobs.map(({ status }) => status).join(', ')}`);
}
console.log(await payments.getGroupCounts());

await Promise.all(workers.map((worker) => worker.close()));
await Promise.all([producer.close(), payments.close(), events.close()]);
await server.stop();

async function charged(order) {
  while ((await payments.getGroupJobs(`order-${order}`))[0].status !== 'completed') await pause(10);
}
