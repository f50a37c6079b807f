// Lanes for longer: ten thousand random steps next to the model, and real processes that are killed and frozen, with
// GroupMQ under the same faults beside them. GroupMQ's figures are reported, not judged.

import { setTimeout as sleep } from 'node:timers/promises';
import { Queue as GroupQueue } from 'groupmq';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { useFaultScene } from '../support/fault-scene.ts';
import { describeFaults, randomFrom, seedOfRun } from '../support/fault-server.ts';
import { breakThings, LEASE_MS, laneChaos } from '../support/lane-chaos.ts';
import { checkLaneHistories } from '../support/lane-history.ts';
import { report } from './report.ts';

// Of each scene.
const SECONDS = Number(process.env.YOKE_SOAK_SECONDS ?? 60);
const STUCK_AFTER_MS = 30_000;

describe('lanes next to their model', () => {
  const bundle = useBundle();

  it('ten thousand steps', async () => {
    const steps = await checkLaneHistories(bundle, 130, 80);
    report('Lanes next to their model', { 'steps compared': steps, differences: 0 });
    expect(steps).toBeGreaterThanOrEqual(10_000);
  });
});

describeFaults('lanes under faults', () => {
  const scene = useFaultScene();

  it.each([
    { lanes: 50, killsServer: false },
    { lanes: 500, killsServer: false },
    { lanes: 500, killsServer: true },
  ])('$lanes lanes, server killed: $killsServer', async ({ lanes, killsServer }) => {
    const seed = seedOfRun();
    const queue = `soak-${lanes}-${killsServer}`;
    const plan = { queue, lanes, seconds: SECONDS, killsServer, random: randomFrom(seed) };
    const { violations, ...counts } = await laneChaos(scene.server, scene.processes, plan);
    report(`Lanes under faults: ${lanes} lanes${killsServer ? ', the server killed too' : ''}`, {
      seed,
      ...counts,
      stuck: 0,
      violations: violations.length,
    });
    expect(violations).toEqual([]);
  });

  it('GroupMQ under the same killed and frozen workers', async () => {
    const seed = seedOfRun();
    const random = randomFrom(seed);
    const redis = new Redis({ ...scene.server.connection, maxRetriesPerRequest: null });
    redis.on('error', () => {});
    const queue = new GroupQueue({ redis, namespace: 'soak', jobTimeoutMs: LEASE_MS, maxAttempts: 1000 });
    const config = { connection: scene.server.connection, queue: 'soak', concurrency: 8, leaseMs: LEASE_MS };
    const spawn = () => scene.processes.spawn('groupmq-worker', config);
    const workers = [spawn(), spawn(), spawn()];
    let added = 0;
    let isOver = false;
    const producing = (async () => {
      while (!isOver) {
        for (let i = 0; i < 8; i++) {
          const data = { n: ++added, ms: Math.floor(random() * 20), fails: random() < 0.05 ? 1 : 0 };
          await queue.add({ groupId: `lane-${Math.floor(random() * 50)}`, data });
        }
        await sleep(20);
      }
    })();
    await Promise.all(workers.map((worker) => worker.heard('start')));
    await breakThings(scene.server, scene.processes, workers, spawn, {
      queue: 'soak',
      lanes: 50,
      seconds: SECONDS,
      killsServer: false,
      random,
    });
    isOver = true;
    await producing;
    const ended = () =>
      new Set(
        scene.processes
          .history()
          .filter(({ op }) => op === 'end')
          .map(({ n }) => n),
      ).size;
    // Done, or nothing has ended for so long that nothing will.
    for (let last = -1, since = performance.now(); ended() < added; ) {
      await sleep(1000);
      const now = ended();
      if (now > last) since = performance.now();
      last = now;
      if (performance.now() - since > STUCK_AFTER_MS) break;
    }
    const stuck = added - ended();
    report('GroupMQ 1.1 under the same killed and frozen workers: 50 groups', {
      seed,
      added,
      kills: scene.processes.faults.filter(({ kind }) => kind === 'kill').length,
      freezes: scene.processes.faults.filter(({ kind }) => kind === 'freeze').length,
      stuck: `${stuck} (${((100 * stuck) / added).toFixed(1)} %)`,
    });
    redis.disconnect();
  });
});
