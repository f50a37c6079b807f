// Adding through a connection with a delay of 5 ms each way: how long each add takes.

import { payload } from './fill.mjs';
import { atSteadyPace } from './steady.mjs';

export default async function distantAdd(library, { distant, name, count }) {
  const queue = library.createQueue(distant, name);
  await queue.ready();
  const latencies = [];
  await atSteadyPace(count, async (n) => {
    const from = performance.now();
    await queue.add(payload(n));
    latencies.push(performance.now() - from);
  });
  await queue.close();
  return { latencies };
}
