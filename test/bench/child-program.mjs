// Stands in for bench/child.mjs: measures nothing, and answers with figures of its own process. What it is told in
// `params` under its library's name, by the number of the task, it does instead.

import { once } from 'node:events';
import { createServer } from 'node:net';

let taskCount = 0;

const troubles = {
  dies() {
    process.stderr.write('something before\nthe last thing it said\n', () => process.exit(7));
  },
  hangs() {},
  fails() {
    process.send({ error: 'a failure of its own' });
  },
  'is disturbed'(figures) {
    process.send({ figures, stolen: 0.9 });
  },
  'is slow'(figures) {
    process.send({ figures: { ...figures, rate: figures.rate / 10 }, stolen: 0 });
  },
  // Whoever is connected notices when this process ends, whoever its parent is by then.
  async listens(figures) {
    const server = createServer(() => {}).listen(0, '127.0.0.1');
    await once(server, 'listening');
    process.send({ figures: { ...figures, port: server.address().port }, stolen: 0 });
  },
};

process.on('message', ({ library, params, name, count }) => {
  taskCount++;
  const figures = { rate: 100, count, taskCount, pid: process.pid, isWarmUp: Number(name === 'warm') };
  const trouble = params?.[library]?.[taskCount];
  if (trouble) troubles[trouble](figures);
  else process.send({ figures, stolen: 0 });
});
process.on('disconnect', () => process.exit());
