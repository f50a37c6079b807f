// A worker that sleeps asks for a job as soon as somebody in its own process has sent one, before the server can tell it.
// That is only quicker: nothing depends on it, and no marker is lost by it.

import { describe, expect, it } from 'vitest';
import { Queue, type Worker } from '../../src/index.ts';
import { useBundle } from '../support/bundle.ts';
import { eventually } from '../support/eventually.ts';
import { startLegServer, type TestServer } from '../support/leg.ts';
import { LinkProxy } from '../support/proxy.ts';

const bundle = useBundle();

// Whoever is not woken sleeps for longer than any test waits.
const ASLEEP = { drainDelay: 60, skipStalledCheck: true };

interface Latch {
  readonly open: () => void;
  readonly opened: Promise<void>;
}

function latch(): Latch {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const clientsBlocked = async ({ admin }: TestServer) =>
  Number(/blocked_clients:(\d+)/.exec(await admin.info('clients'))![1]);

/** How many calls the server has had. */
const callsOf = async ({ admin }: TestServer) =>
  [...(await admin.info('commandstats')).matchAll(/cmdstat_(?:fcall|evalsha|eval):calls=(\d+)/g)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  );

/** A worker that has looked for work, found none and sleeps. */
async function restingWorker(queueName: string, handle: (id: string) => Promise<void>): Promise<Worker> {
  const before = await clientsBlocked(bundle.server);
  const worker = bundle.worker(queueName, (job) => handle(job.id!), ASLEEP);
  await eventually(async () => expect(await clientsBlocked(bundle.server)).toBeGreaterThan(before));
  return worker;
}

/** Whoever has waited the longest is told of the next job at this queue: this client, and no worker. */
async function thief(queueName: string): Promise<{ readonly stolen: Promise<unknown>; leave(): void }> {
  const client = bundle.server.admin.duplicate();
  const stolen = client.bzpopmin(`bull:${queueName}:marker`, 0);
  await eventually(async () => expect(await clientsBlocked(bundle.server)).toBe(1));
  return { stolen, leave: () => client.disconnect() };
}

describe('a job that is added in the process of a worker that sleeps', () => {
  it('starts without a word from the server', async () => {
    const queue = bundle.queue();
    const { stolen, leave } = await thief(queue.name);
    const started = latch();
    await restingWorker(queue.name, async () => started.open());
    await queue.add('job', {});
    await started.opened;
    expect(await stolen).not.toBeNull();
    leave();
  });

  it.each([
    ['together', true, false],
    ['one after the other', false, false],
    // The marker that the first worker leaves wakes nobody but itself.
    ['together, and nobody is told', true, true],
  ])('leaves what comes behind it to the next worker: added %s', async (_, isTogether, isStolen) => {
    const queue = bundle.queue();
    const { leave } = isStolen ? await thief(queue.name) : { leave: () => {} };
    const started = new Set<string>();
    const end = latch();
    const handle = async (id: string) => {
      started.add(id);
      await end.opened;
    };
    for (let i = 0; i < 3; i++) await restingWorker(queue.name, handle);
    const ids = ['a', 'b', 'c'];
    const add = (jobId: string) => queue.add('job', {}, { jobId });
    if (isTogether) await Promise.all(ids.map(add));
    else for (const id of ids) await add(id);
    await eventually(() => expect([...started].sort()).toEqual(ids));
    end.open();
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(3));
    leave();
  });

  it('is handled by a busy worker of the process when that is free again', async () => {
    const queue = bundle.queue();
    const first = latch();
    const isBusy = latch();
    const done: string[] = [];
    await restingWorker(queue.name, async (id) => {
      isBusy.open();
      if (id === 'a') await first.opened;
      done.push(id);
    });
    await queue.add('job', {}, { jobId: 'a' });
    await isBusy.opened;
    await queue.add('job', {}, { jobId: 'b' });
    first.open();
    await eventually(() => expect(done).toEqual(['a', 'b']));
  });
});

it('a worker does not ask again and again at a queue that gives nothing', async () => {
  const queue = bundle.queue();
  const done: string[] = [];
  await restingWorker(queue.name, async (id) => {
    done.push(id);
  });
  await queue.pause();
  const before = await callsOf(bundle.server);
  for (let i = 0; i < 20; i++) await queue.add('job', {}, { jobId: `j${i}` });
  // The adds, and it has asked once.
  expect((await callsOf(bundle.server)) - before).toBe(21);
  await queue.resume();
  await eventually(() => expect(done).toHaveLength(20));
});

it('a job that is added for later wakes nobody', async () => {
  const queue = bundle.queue();
  await restingWorker(queue.name, async () => {});
  const before = await callsOf(bundle.server);
  for (let i = 0; i < 3; i++) await queue.add('job', {}, { delay: 3_600_000 });
  expect((await callsOf(bundle.server)) - before).toBe(3);
});

it('the short way of a neighbour is not taken for its own: no outcome waits for the answer to another', async () => {
  const queue = bundle.queue();
  const { username, password } = bundle.server.connection;
  const proxy = await LinkProxy.start(bundle.server.connection);
  bundle.track({ close: () => proxy.stop() });
  const wayMs = 300;
  proxy.delay(5);
  const ends: (() => void)[] = [];
  const worker = bundle.worker(queue.name, () => new Promise<void>((resolve) => ends.push(resolve)), {
    ...ASLEEP,
    connection: { ...proxy.connection, username, password },
    concurrency: 6,
  });
  for (let count = 1; count <= 6; count++) {
    // Asleep, it asks over the link of the queue.
    await eventually(async () => expect(await clientsBlocked(bundle.server)).toBe(1));
    await queue.add('job', {});
    await eventually(() => expect(ends).toHaveLength(count));
  }
  const completed = new Promise<void>((resolve) => {
    let left = 6;
    worker.on('completed', () => --left === 0 && resolve());
  });
  proxy.delay(wayMs);
  for (const end of ends) {
    end();
    // Each in a turn of its own, and sent by its end.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await completed;
  const times = (await queue.getCompleted()).map(({ finishedOn }) => finishedOn!);
  expect(times).toHaveLength(6);
  // One that waits for an answer comes twice as much later.
  expect(Math.max(...times) - Math.min(...times)).toBeLessThan(wayMs);
});

it('a worker at a queue of the same name on another server is left alone', async () => {
  const queue = bundle.queue();
  await restingWorker(queue.name, async () => {});
  const other = await startLegServer();
  try {
    const namesake = new Queue(queue.name, { connection: other.connection });
    await namesake.waitUntilReady();
    const before = await callsOf(bundle.server);
    await namesake.add('job', {});
    expect(await namesake.getWaitingCount()).toBe(1);
    await namesake.close();
    expect(await callsOf(bundle.server)).toBe(before);
    // The same add at its own queue makes it call.
    await queue.add('job', {});
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(1));
    expect(await callsOf(bundle.server)).toBeGreaterThan(before + 1);
  } finally {
    await other.stop();
  }
});
