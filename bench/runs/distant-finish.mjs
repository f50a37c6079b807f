// A worker behind a delay of 5 ms each way, jobs that come at a steady pace: from the end of the handler to the
// completed event.

import { Completion } from './completion.mjs';
import { payload } from './fill.mjs';
import { sleep } from './probe.mjs';
import { atSteadyPace } from './steady.mjs';

const HANDLER_MS = 5;

export default async function distantFinish(library, { connection, distant, name, count }) {
  const completion = new Completion(count);
  const endedAt = new Map();
  const latencies = [];
  const queue = library.createQueue(connection, name);
  const worker = library.createWorker(distant, name, {
    concurrency: 100,
    handler: async (job) => {
      await sleep(HANDLER_MS);
      endedAt.set(job.data.n, performance.now());
    },
    onCompleted: (job) => {
      latencies.push(performance.now() - endedAt.get(job.data.n));
      completion.onCompleted();
    },
    onError: completion.onError,
  });
  await Promise.all([queue.ready(), worker.ready()]);
  worker.start();
  await sleep(50);
  await Promise.all([atSteadyPace(count, (n) => queue.add(payload(n))), completion.done]);
  await worker.close();
  await queue.close();
  return { latencies };
}
