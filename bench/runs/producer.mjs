// Adds jobs for a run that works in another process: `node producer.mjs '<who and where>'`. Told a number, it adds that
// job and says when it began to, on the clock that all processes of a machine share.

import { payload } from './fill.mjs';

const { library: name, connection, queueName } = JSON.parse(process.argv[2]);
const { default: library } = await import(`../adapters/${name}.mjs`);

const queue = library.createQueue(connection, queueName);
await queue.ready();
process.on('message', async (n) => {
  const from = Number(process.hrtime.bigint());
  await queue.add(payload(n));
  process.send(from);
});
// Nobody is left to add for.
process.on('disconnect', () => process.exit());
process.send('ready');
