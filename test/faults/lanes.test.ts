// Lanes with real processes that are killed and frozen, and with a server that is killed. What must hold is written
// in test/support/lane-chaos.ts; the soak does the same for longer.

import { expect, it } from 'vitest';
import { Queue } from '../../src/index.ts';
import { eventually } from '../support/eventually.ts';
import { useFaultScene } from '../support/fault-scene.ts';
import { describeFaults, randomFrom, seedOfRun } from '../support/fault-server.ts';
import { laneChaos, outOfOrder, overlaps, type Place } from '../support/lane-chaos.ts';

describeFaults('lanes under faults', () => {
  const scene = useFaultScene();

  it.each([
    { lanes: 50, killsServer: false },
    { lanes: 500, killsServer: true },
  ])('$lanes lanes, server killed: $killsServer', { timeout: 120_000 }, async ({ lanes, killsServer }) => {
    const plan = { queue: `chaos-${lanes}`, lanes, seconds: 7, killsServer, random: randomFrom(seedOfRun()) };
    const result = await laneChaos(scene.server, scene.processes, plan);
    expect(result.violations).toEqual([]);
    expect(result.kills).toBeGreaterThan(0);
    expect(result.added).toBeGreaterThan(500);
  });

  it('10,000 jobs over 1,000 lanes, eight workers in three processes, some attempts fail', {
    timeout: 120_000,
  }, async () => {
    const random = randomFrom(seedOfRun());
    const queue = new Queue('many-lanes', { connection: scene.server.connection });
    const places = new Map<number, Place>();
    const jobs = Array.from({ length: 10_000 }, (_, i) => {
      const n = i + 1;
      const lane = `lane-${i % 1000}`;
      places.set(n, { lane, place: Math.floor(i / 1000) + 1 });
      const data = { n, fails: random() < 0.05 ? 1 + Math.floor(random() * 2) : 0 };
      return { name: 'n', data, opts: { lane, attempts: 3, backoff: random() < 0.5 ? 20 : 0 } };
    });
    await queue.addBulk(jobs);
    const config = { connection: scene.server.connection, queue: queue.name, options: { concurrency: 8 } };
    const children = [3, 3, 2].map((workers) => scene.processes.spawn('worker', { ...config, workers }));
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(10_000), 90_000);
    await Promise.all(children.map((child) => child.close()));
    expect(outOfOrder(scene.processes.history(), places)).toEqual([]);
    expect(overlaps(scene.processes.history(), places, scene.processes.faults)).toEqual([]);
    expect(await scene.server.admin.keys(`${queue.qualifiedName}:meta:l[ai]ne*`)).toEqual([]);
    await queue.close();
  });

  it('a worker that closes with heads active ends them, and the lanes go on elsewhere', async () => {
    const queue = new Queue('closing-lanes', { connection: scene.server.connection });
    const jobs = Array.from({ length: 60 }, (_, i) => ({
      name: 'n',
      data: { n: i + 1, ms: i < 6 ? 400 : 5 },
      opts: { lane: `lane-${i % 6}` },
    }));
    const places = new Map(
      jobs.map(({ data, opts }, i) => [data.n, { lane: opts.lane, place: Math.floor(i / 6) + 1 }]),
    );
    await queue.addBulk(jobs);
    const config = { connection: scene.server.connection, queue: queue.name, options: { concurrency: 6 } };
    const first = scene.processes.spawn('worker', config);
    await first.heard('start', ({ n }) => n === 6);
    const closing = first.close();
    const second = scene.processes.spawn('worker', config);
    await closing;
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(60), 30_000);
    await second.close();
    expect(outOfOrder(scene.processes.history(), places)).toEqual([]);
    expect(overlaps(scene.processes.history(), places, scene.processes.faults)).toEqual([]);
    expect(await scene.server.admin.keys(`${queue.qualifiedName}:meta:l[ai]ne*`)).toEqual([]);
    await queue.close();
  });
});
