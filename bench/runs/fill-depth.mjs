// Fills the queues of the depth workload. Yoke and BullMQ share a layout, so Yoke fills both.

import { addInBulks, inLane } from './fill.mjs';

export default async function fillDepth(library, { connection, params }) {
  for (const name of params.names) {
    const queue = library.createQueue(connection, name);
    await queue.ready();
    await addInBulks(queue, params.jobs, 10_000, params.hasLanes ? (n) => inLane(n, params.jobs) : undefined);
    await queue.close();
  }
  return {};
}
