// What an idle worker costs its server. Counted at the client: every command that its two connections send, over
// whole rounds of its sleep, while nothing is in the queue.

import { EventEmitter } from 'node:events';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { Worker } from '../../src/index.ts';
import { nextEvent } from '../support/eventually.ts';
import { describeFaults, startFaultServer } from '../support/fault-server.ts';

const ROUNDS = 3;

describeFaults('idle cost', () => {
  it('an idle worker sends fewer than 30 commands a minute', async () => {
    const server = await startFaultServer();
    const traffic = new EventEmitter();
    let sent = 0;
    // A worker uses the client for its calls and duplicates it for its blocking reads, by this method.
    class CountingRedis extends Redis {
      override sendCommand(...args: Parameters<Redis['sendCommand']>): unknown {
        sent++;
        traffic.emit(args[0].name.toLowerCase());
        return super.sendCommand(...args);
      }

      override duplicate(override: object = {}): Redis {
        return new CountingRedis({ ...this.options, ...override } as never);
      }
    }
    const client = new CountingRedis({ ...server.connection, maxRetriesPerRequest: null } as never);
    const worker = new Worker('idle', async () => {}, { connection: client });
    await nextEvent(traffic, 'bzpopmin');

    const [before, from] = [sent, performance.now()];
    for (let round = 0; round < ROUNDS; round++) await nextEvent(traffic, 'bzpopmin');
    const perMinute = ((sent - before) * 60_000) / (performance.now() - from);

    await worker.close();
    client.disconnect();
    await server.stop();
    expect(perMinute).toBeLessThan(30);
  });
});
