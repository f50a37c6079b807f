// Adding, with nobody working: one or a hundred in flight, or in bulks.

import { addInBulks, addInFlight, inLane } from './fill.mjs';
import { meter } from './meter.mjs';

export default async function add(library, { connection, probe, name, count, params }) {
  const { bulk, inFlight, lanes } = params;
  const queue = library.createQueue(connection, name, lanes ? { groups: lanes } : {});
  await queue.ready();
  const optionsOf = lanes ? (n) => inLane(n, lanes) : undefined;
  const figures = await meter(probe, count, () =>
    bulk ? addInBulks(queue, count, bulk, optionsOf) : addInFlight(queue, count, inFlight, optionsOf),
  );
  await queue.close();
  return figures;
}
