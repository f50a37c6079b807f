// Working off a queue that was filled before: from the worker's start (or the moment all jobs come due) to the last
// completed event.

import { Completion } from './completion.mjs';
import { fill, inLane } from './fill.mjs';
import { meter } from './meter.mjs';
import { sleep } from './probe.mjs';

// Delayed jobs must all be there before the first comes due. How long adding takes is learned in the warm-up, for which
// the guess is slower than any library; after that the slowest time counts, so that one quick run does not leave the next
// too little.
const GUESSED_FILL_MS_PER_JOB = 1;
let fillMsPerJob;
const LEAD_FACTOR = 2;
const SPARE_MS = 500;

const PRIORITIES = 10;

export default async function processAll(library, { connection, probe, name, count, params }) {
  const { concurrency, handlerMs, hasPriorities, hasDelays, keepCompleted, lanes } = params;
  const queue = library.createQueue(connection, name, {
    keepCompleted,
    groups: lanes ?? (concurrency === 1 ? 1 : undefined),
    hasLanes: lanes !== undefined,
  });
  await queue.ready();
  const timestamp = Date.now();
  const delay = Math.ceil(LEAD_FACTOR * (fillMsPerJob ?? GUESSED_FILL_MS_PER_JOB) * count) + SPARE_MS;
  await fill(queue, count, (n) => {
    if (hasDelays) return { timestamp, delay };
    if (lanes) return inLane(n, lanes);
    return hasPriorities ? { priority: 1 + ((n * 7) % PRIORITIES) } : undefined;
  });
  fillMsPerJob = Math.max(fillMsPerJob ?? 0, (Date.now() - timestamp) / count);

  const completion = new Completion(count);
  let handledCount = 0;
  const worker = library.createWorker(connection, name, {
    concurrency,
    handler: async () => {
      handledCount++;
      if (handlerMs) await sleep(handlerMs);
    },
    onCompleted: completion.onCompleted,
    onError: completion.onError,
    keepCompleted,
    hasDelays,
    handlerMs,
    hasLanes: lanes !== undefined,
  });
  await worker.ready();

  const figures = hasDelays
    ? await whenDue(timestamp + delay, probe, count, worker, completion)
    : await meter(probe, count, () => {
        worker.start();
        return completion.done;
      });
  if (handledCount !== count) throw new Error(`${handledCount} jobs were handled instead of ${count}`);
  await worker.close();
  await queue.close();
  return figures;
}

async function whenDue(dueAt, probe, count, worker, completion) {
  worker.start();
  const leftMs = dueAt - Date.now();
  if (leftMs < SPARE_MS / 5) throw new Error('the jobs came due before they were all added');
  await sleep(leftMs - 10);
  if (completion.completedCount > 0) throw new Error('delayed jobs ran before they were due');
  return meter(probe, count, () => completion.done, dueAt);
}
