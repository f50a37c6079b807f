// Testing code that uses queues, on a real server that is gone afterwards. Works with any test runner; this one is
// Node's own.
//   node examples/testing.mjs

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Queue, Worker } from 'yokemq';
import { expireLeases, startServer, whenIdle } from 'yokemq/testing';

let server;

before(async () => {
  server = await startServer();
});

after(() => server.stop());

test('every order is shipped', async () => {
  const { connection } = server;
  const shipped = [];
  const queue = new Queue('orders', { connection });
  const worker = new Worker('orders', async (job) => void shipped.push(job.data.order), { connection });

  await queue.add('ship', { order: 1 });
  await queue.add('ship', { order: 2 }, { delay: 20 });
  await whenIdle(queue);

  assert.deepEqual(shipped, [1, 2]);
  await worker.close();
  await queue.close();
});

test('a job whose worker died runs again elsewhere', async () => {
  const { connection } = server;
  const queue = new Queue('payments', { connection });
  await queue.add('pay', {});
  // A worker that takes the job and is never heard of again.
  const dead = new Worker('payments', null, { connection });
  await dead.getNextJob('token-of-the-dead');
  await dead.close();
  await expireLeases(queue);

  const survivor = new Worker('payments', async () => 'paid', { connection, stalledInterval: 100 });
  await whenIdle(queue);

  const [job] = await queue.getCompleted();
  assert.equal(job.returnvalue, 'paid');
  assert.equal(job.stalledCounter, 1);
  await survivor.close();
  await queue.close();
});
