// What a job costs in Redis time while many others wait: the same number of jobs is added and worked off at each
// depth in turn, each on a server of its own that was filled before.

import { Completion } from './completion.mjs';
import { addInFlight, fill, inLane } from './fill.mjs';
import { Probe } from './probe.mjs';

export default async function depth(library, { params, name, count }) {
  const figures = {};
  for (const { jobs, connection } of params.depths) {
    const probe = new Probe(connection);
    // Lanes that are there already, far apart from each other.
    const optionsOf = params.hasLanes ? (n) => inLane(n * 7919, jobs) : undefined;
    const { addUs, processUs } = await atDepth(library, connection, probe, name, count, optionsOf);
    figures[`add${jobs}`] = addUs;
    figures[`process${jobs}`] = processUs;
    await probe.alone();
    probe.close();
  }
  return figures;
}

async function atDepth(library, connection, probe, name, count, optionsOf) {
  const queue = library.createQueue(connection, name);
  await queue.ready();
  let before = await probe.cpuUs();
  await addInFlight(queue, count, 100, optionsOf);
  const addUs = ((await probe.cpuUs()) - before) / count;

  const completion = new Completion(count);
  const worker = library.createWorker(connection, name, {
    concurrency: 100,
    handler: async () => {},
    onCompleted: completion.onCompleted,
    onError: completion.onError,
  });
  await worker.ready();
  before = await probe.cpuUs();
  worker.start();
  await completion.done;
  await worker.close();
  // The worker does not stop at a number: what it did beyond is counted, and put back.
  const completedCount = completion.completedCount;
  const processUs = ((await probe.cpuUs()) - before) / completedCount;
  await fill(queue, completedCount - count, optionsOf);
  await queue.close();
  await forgetCompleted(probe.client, `bull:${name}:`);
  return { addUs, processUs };
}

// The queue is as deep as before, and nothing else has grown.
async function forgetCompleted(client, root) {
  const ids = await client.zrange(`${root}completed`, 0, -1);
  for (let i = 0; i < ids.length; i += 1000)
    await client.unlink(ids.slice(i, i + 1000).map((id) => root + id));
  await client.unlink(`${root}completed`);
}
