// One measurement in a process of its own: `node child.mjs '<task>'`. Warms up on a small queue, measures, prints one
// JSON line and exits, whatever a library has left open.

import { Probe } from './runs/probe.mjs';
import { readTicks, stolenShare } from './stolen.mjs';

const task = JSON.parse(process.argv[2]);

async function measure() {
  const { default: library } = await import(`./adapters/${task.library}.mjs`);
  const { default: run } = await import(`./runs/${task.run}.mjs`);
  const probe = new Probe(task.connection);
  const context = {
    connection: task.connection,
    distant: task.distant,
    params: task.params,
    libraryName: task.library,
    probe,
  };
  await run(library, { ...context, name: 'warm', count: task.warmUpCount, isWarmUp: true });
  const before = readTicks();
  const figures = await run(library, { ...context, name: task.name, count: task.count, isWarmUp: false });
  const stolen = stolenShare(before, readTicks());
  probe.close();
  return { figures, stolen };
}

function answer(value) {
  process.stdout.write(`${JSON.stringify(value)}\n`, () => process.exit(0));
}

process.on('uncaughtException', (error) => answer({ error: error.message }));
measure().then(answer, (error) => answer({ error: error?.message ?? String(error) }));
