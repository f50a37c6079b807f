// Works for one library in one workload, in a process of its own: does one task after the other and answers each. A
// warm-up is a task like a measurement, on a queue of its own.

import { Probe } from './runs/probe.mjs';
import { readTicks, stolenShare } from './stolen.mjs';

async function work({ library: libraryName, run: runName, connection, distant, params, ...task }) {
  const { default: library } = await import(`./adapters/${libraryName}.mjs`);
  const { default: run } = await import(`./runs/${runName}.mjs`);
  const probe = new Probe(connection);
  const before = readTicks();
  const figures = await run(library, { connection, distant, params, libraryName, probe, ...task });
  const stolen = stolenShare(before, readTicks());
  // The next measurement, of this library or of another, must not meet anything of this one: no connection that is still
  // open, and no fresh garbage. Only that: a whole collection, at a moment when no queue and no worker is left, also throws
  // away the shapes of their objects and with them the compiled code of the warm-up, and the next measurement would be one
  // of a process that has just been started.
  await probe.alone();
  probe.close();
  globalThis.gc({ type: 'minor' });
  return { figures, stolen };
}

const failed = (error) => process.send({ error: error?.message ?? String(error) });

process.on('message', (task) => {
  work(task).then((answer) => process.send(answer), failed);
});
process.on('uncaughtException', failed);
// Nobody is left to work for.
process.on('disconnect', () => process.exit());
