// Adding, with nobody working: one or a hundred in flight, or in bulks.

import { addInBulks, addInFlight } from './fill.mjs';
import { meter } from './meter.mjs';

export default async function add(library, { connection, probe, name, count, params }) {
  const queue = library.createQueue(connection, name);
  await queue.ready();
  const figures = await meter(probe, count, () =>
    params.bulk ? addInBulks(queue, count, params.bulk) : addInFlight(queue, count, params.inFlight),
  );
  await queue.close();
  return figures;
}
