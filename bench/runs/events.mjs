// Reading a queue's events from the beginning: two per job were written before.

import { Completion } from './completion.mjs';
import { fill } from './fill.mjs';
import { meter } from './meter.mjs';

export default async function events(library, { connection, probe, name, count }) {
  const eventCount = 2 * count;
  const queue = library.createQueue(connection, name, { maxEvents: 2 * eventCount });
  await queue.ready();
  await fill(queue, count);

  const completion = new Completion(eventCount);
  const reader = library.createEvents(connection, name, {
    names: ['added', 'waiting'],
    onEvent: completion.onCompleted,
    onError: completion.onError,
  });
  await reader.ready();
  const figures = await meter(probe, eventCount, () => {
    reader.start();
    return completion.done;
  });
  await reader.close();
  await queue.close();
  return figures;
}
