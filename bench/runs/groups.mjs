// Three jobs that belong together, end to end: from the first add to the last completion, producers and workers in one
// process. What ends a set is the library's own: the group completes, or the flow's parent does.

import { Completion } from './completion.mjs';
import { meter } from './meter.mjs';

const IN_FLIGHT = 100;
const CONCURRENCY = 100;

export default async function groups(library, { connection, probe, name, count }) {
  const completion = new Completion(count * library.together.completionsPerSet);
  const queues = library.together.queuesOf(name);
  const workers = queues.map((queue) =>
    library.createWorker(connection, queue.name, {
      concurrency: CONCURRENCY,
      handler: async () => undefined,
      onCompleted: queue.ends ? completion.onCompleted : () => {},
      onError: completion.onError,
    }),
  );
  const producer = library.together.createProducer(connection, name);
  for (const part of [...workers, producer]) await part.ready();
  for (const worker of workers) worker.start();

  let added = 0;
  const adder = async () => {
    while (added < count) {
      added++;
      await producer.add();
    }
  };
  const figures = await meter(probe, count, async () => {
    await Promise.all(Array.from({ length: IN_FLIGHT }, adder));
    await completion.done;
  });
  await producer.verify(count);
  for (const worker of workers) await worker.close();
  await producer.close();
  return figures;
}
