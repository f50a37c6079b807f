// A TCP proxy that holds everything for some milliseconds, each way, in order.

import { once } from 'node:events';
import { connect, createServer } from 'node:net';

export async function startProxy(target, delayMs) {
  const sockets = new Set();
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect(target);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ]) {
      sockets.add(from);
      // Timers of one duration fire in the order in which they were set.
      from.on('data', (chunk) => setTimeout(() => to.writable && to.write(chunk), delayMs));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    connection: { host: '127.0.0.1', port: server.address().port },
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
