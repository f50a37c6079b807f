// What lanes cost: nothing for a job without one, little in memory, and nothing once they are empty.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Queue } from '../../src/index.ts';
import { crowd, job, lane, usedQueue } from '../support/given.ts';
import { startLegServer, type TestServer } from '../support/leg.ts';
import { edgeOf } from '../transitions/edges.ts';
import { commandsOf, runShim } from '../transitions/shim.ts';
import { seed, startOf } from '../transitions/tables.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startLegServer();
});
afterAll(() => server?.stop());

const used = async (request: Parameters<typeof runShim>[1]) =>
  commandsOf(await runShim(server.admin, request)).map(({ command }) => command);

describe('a job without a lane', () => {
  const lanes = lane({ name: 'other', out: ['x1'], resting: ['r1', 'r2'] });
  it.each([
    { transition: 'add', state: 'missing' as const, given: crowd() },
    { transition: 'complete', state: 'active' as const, given: crowd() },
    { transition: 'fail', state: 'active' as const, given: crowd() },
    { transition: 'claim', state: 'waiting' as const, given: usedQueue() },
  ])(
    '$transition sends the same commands whether or not the queue has lanes, and none of theirs',
    async ({ transition, state, given }) => {
      const edge = { ...edgeOf(transition), given };
      await seed(server.admin, startOf(edge, state));
      const without = await used(edge);
      await seed(server.admin, [...given, ...lanes, ...job(state)]);
      expect(await used(edge)).toEqual(without);
      // What only lanes use.
      for (const command of ['ZPOPMIN', 'HGET']) expect(without).not.toContain(command);
    },
  );
});

describe('100,000 lanes of one job', () => {
  it('cost at most 250 bytes each beyond the job, and leave no key', { timeout: 180_000 }, async () => {
    const COUNT = 100_000;
    const bytes = async () => {
      const [, text] = /used_memory:(\d+)/.exec(await server.admin.info('memory'))!;
      return Number(text);
    };
    const fill = async (name: string, optsOf: (n: number) => object) => {
      await server.admin.flushall();
      const queue = new Queue(name, {
        connection: server.connection,
        streams: { events: { maxLen: 100 } },
      });
      await queue.getVersion();
      const before = await bytes();
      for (let from = 0; from < COUNT; from += 10_000) {
        await queue.addBulk(
          Array.from({ length: 10_000 }, (_, i) => ({ name: 'n', data: {}, opts: optsOf(from + i) })),
        );
      }
      return { queue, perJob: ((await bytes()) - before) / COUNT };
    };
    // The same job with an option of the same length that means nothing.
    const plain = await fill('plain', (n) => ({ note: `user:${n}` }));
    await plain.queue.close();
    const { queue, perJob } = await fill('lanes', (n) => ({ lane: `user:${n}` }));
    console.log(
      `a plain job ${Math.round(plain.perJob)} bytes, one in a lane of its own ${Math.round(perJob)}`,
    );
    expect(await queue.getLaneCount()).toBe(COUNT);
    expect(perJob - plain.perJob).toBeLessThanOrEqual(250);
    await queue.drain();
    expect(await server.admin.keys(`${queue.qualifiedName}:meta:l[ai]ne*`)).toEqual([]);
    expect(await server.admin.exists(queue.toKey('de'))).toBe(0);
    await queue.close();
  });
});
