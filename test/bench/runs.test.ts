// A process that measures more than once: each run closes all that it opened, and the second one finds what the first
// one found. Few jobs, and the figures are not looked at. Yoke is left out, because it would be the build in dist.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer } from '../../src/testing/index.ts';
import { hasNative } from '../support/native.ts';

const load = (file: string): Promise<any> => import(new URL(`../../bench/${file}`, import.meta.url).href);

const { Child } = await load('start-child.mjs');
const { Servers } = await load('servers.mjs');

const PLENTY_MS = 50_000;
const queues = ['bullmq', 'groupmq', 'bee-queue'];

const cases: [run: string, params: object, libraries: string[], figures: string[]][] = [
  ['add', { inFlight: 10 }, queues, ['rate']],
  ['process', { concurrency: 5 }, [...queues, 'bare'], ['rate']],
  ['process', { concurrency: 5, handlerMs: 1 }, ['none'], ['rate']],
  ['process', { concurrency: 5, lanes: 3 }, ['groupmq', 'bare'], ['rate']],
  ['groups', {}, ['bullmq'], ['rate']],
  ['events', {}, ['bullmq'], ['rate']],
  ['idle', {}, queues, ['latencies']],
  ['idle', { isApart: true }, ['bee-queue'], ['latencies']],
  ['distant-finish', {}, queues, ['latencies']],
  ['memory', {}, queues, ['waitingBytes', 'completedBytes']],
];

describe.skipIf(!hasNative)('one process measures again and again', () => {
  let servers: any;
  beforeAll(() => {
    servers = new Servers(startServer);
  });
  afterAll(() => servers.stop());

  const rows = cases.flatMap(([run, params, libraries, figures]) =>
    libraries.map((library) => ({ run, params, library, figures })),
  );

  it.each(rows)('$library: $run $params', async ({ run, params, library, figures }) => {
    const child = new Child({});
    try {
      for (const name of ['warm', 'measured', 'measured']) {
        const task = { library, run, params, name, count: 20, ...(await servers.connectionsFor('distant')) };
        const answer = await child.ask(task, PLENTY_MS);
        expect(answer).toMatchObject({
          figures: Object.fromEntries(
            figures.map((figure) => [figure, expect.any(figure === 'latencies' ? Array : Number)]),
          ),
          stolen: expect.any(Number),
        });
      }
    } finally {
      await child.end();
    }
  });

  it('a connection that a library has left open is an error', async () => {
    const { Probe } = await load('runs/probe.mjs');
    const { connection } = await servers.connectionsFor();
    const left = new Probe(connection);
    await left.client.client('SETNAME', 'left');
    const probe = new Probe(connection);
    await expect(probe.alone(0)).rejects.toThrow('connections left open: 1');
    left.close();
    await probe.alone();
    probe.close();
  });
});
