// What jobs take in Redis: used memory after adding them, and after completing them all, per job.

import { Completion } from './completion.mjs';
import { fill } from './fill.mjs';

export default async function memory(library, { connection, probe, name, count }) {
  const keepCompleted = count;
  await probe.alone();
  const base = await probe.usedBytes();

  const queue = library.createQueue(connection, name, { keepCompleted });
  await queue.ready();
  await fill(queue, count);
  await queue.close();
  await probe.alone();
  const waiting = await probe.usedBytes();

  const completion = new Completion(count);
  const worker = library.createWorker(connection, name, {
    concurrency: 100,
    handler: async () => {},
    onCompleted: completion.onCompleted,
    onError: completion.onError,
    keepCompleted,
  });
  await worker.ready();
  worker.start();
  await completion.done;
  await worker.close();
  await probe.alone();
  const completed = await probe.usedBytes();
  return { waitingBytes: (waiting - base) / count, completedBytes: (completed - base) / count };
}
