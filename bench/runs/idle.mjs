// One idle worker, one job at a time: from the call of add to the start of the handler.

import { percentiles } from '../statistics.mjs';
import { payload } from './fill.mjs';
import { sleep } from './probe.mjs';

// Long enough for the worker to have gone back to sleep on the server.
const GAP_MS = 5;

export default async function idle(library, { connection, name, count }) {
  const queue = library.createQueue(connection, name);
  let onStart;
  let onCompleted;
  let onError;
  const worker = library.createWorker(connection, name, {
    concurrency: 1,
    handler: async () => onStart(performance.now()),
    onCompleted: () => onCompleted(),
    onError: (error) => onError(error),
  });
  const failed = new Promise((_resolve, reject) => {
    onError = reject;
  });
  failed.catch(() => {});
  await Promise.all([queue.ready(), worker.ready()]);
  worker.start();
  await sleep(50);

  const latencies = [];
  for (let n = 0; n < count; n++) {
    const started = new Promise((resolve) => {
      onStart = resolve;
    });
    const completed = new Promise((resolve) => {
      onCompleted = resolve;
    });
    const from = performance.now();
    const added = queue.add(payload(n));
    latencies.push((await Promise.race([started, failed])) - from);
    await Promise.race([Promise.all([added, completed]), failed]);
    await sleep(GAP_MS + (n % 4));
  }
  await worker.close();
  await queue.close();
  return percentiles(latencies);
}
