// A worker process of one library is killed while it holds jobs; a worker of another library runs them.

import { describe, expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { eventually } from '../support/eventually.ts';
import { useChildWorkers } from './child-worker.ts';
import { useLibraries } from './libraries.ts';

const bundle = useBundle();
const { yoke, six, five } = useLibraries(bundle);
const childWorker = useChildWorkers(bundle);

const LEASE_MS = 600;
const brief = { lockDuration: LEASE_MS, stalledInterval: 300 };
const STALLED_TOO_OFTEN = 'job stalled more than allowable limit';

const pairs = [
  { victim: six, survivor: yoke },
  { victim: five, survivor: yoke },
  { victim: yoke, survivor: six },
  { victim: yoke, survivor: five },
];

describe.each(pairs)('$victim.name is killed, $survivor.name survives:', ({ victim, survivor }) => {
  it('every job that the dead worker held runs again, once', async () => {
    const name = bundle.name();
    const queue = survivor.queue(name);
    const events: { event: string; jobId: string }[] = [];
    const listener = yoke.events(name);
    await listener.waitUntilReady();
    for (const event of ['stalled', 'completed']) {
      listener.on(event, ({ jobId }: { jobId: string }) => events.push({ event, jobId }));
    }
    await queue.addBulk(Array.from({ length: 3 }, (_, n) => ({ name: 'held', data: { n } })));
    await queue.add('urgent', { n: 3 }, { priority: 2 });
    const child = childWorker(victim.name, name, { ...brief, concurrency: 4 });
    const ids = await child.started(4);
    await child.kill();
    const ran: string[] = [];

    survivor.worker(
      name,
      async (job) => {
        ran.push(job.id);
        return job.data.n;
      },
      { ...brief, concurrency: 4 },
    );
    await eventually(async () => expect(await queue.getCompletedCount()).toBe(4));

    expect([...ran].sort()).toEqual([...ids].sort());
    for (const id of ids) {
      const job = await queue.getJob(id);
      expect(job.returnvalue).toBe(job.data.n);
      expect(job.stalledCounter).toBe(1);
      expect(job.attemptsStarted).toBe(2);
      expect(job.attemptsMade).toBe(1);
    }
    await eventually(() => {
      for (const event of ['stalled', 'completed']) {
        const told = events.filter((entry) => entry.event === event).map((entry) => entry.jobId);
        expect(told.sort()).toEqual([...ids].sort());
      }
    });
    expect(await bundle.server.admin.keys(`bull:${name}:*:lock`)).toEqual([]);
  });

  it('a job over the stall limit is marked by one library and failed by the other', async () => {
    const name = bundle.name();
    const queue = survivor.queue(name);
    const job = await queue.add('poison', {}, { attempts: 3 });
    const child = childWorker(victim.name, name, brief);
    await child.started(1);
    await child.kill();

    // The survivor's upkeep marks it; nobody of the survivor's kind runs it.
    const marker = survivor.worker(name, async () => {}, { ...brief, maxStalledCount: 0, autorun: false });
    await marker.startStalledCheckTimer();
    await eventually(async () => expect(await queue.getJobState(job.id)).toBe('waiting'));
    const marked = await bundle.server.admin.hgetall(`bull:${name}:${job.id}`);
    let runs = 0;
    victim.worker(name, async () => void runs++, { skipStalledCheck: true });
    await eventually(async () => expect(await queue.getJobState(job.id)).toBe('failed'));

    expect(marked).toMatchObject({ defa: STALLED_TOO_OFTEN, stc: '1' });
    expect(runs).toBe(0);
    const failed = await queue.getJob(job.id);
    expect(failed.failedReason).toBe(STALLED_TOO_OFTEN);
    expect(await bundle.server.admin.hexists(`bull:${name}:${job.id}`, 'defa')).toBe(0);
  });

  it('a worker that lives keeps its jobs from the other library’s stall checks', async () => {
    const name = bundle.name();
    const queue = survivor.queue(name);
    const job = await queue.add('long', {});
    let runs = 0;
    const worker = victim.worker(
      name,
      async () => {
        runs++;
        // Longer than the lease: only renewal keeps it.
        await new Promise((resolve) => setTimeout(resolve, 2500));
        return 'kept';
      },
      // Long enough that a busy machine renews in time.
      { lockDuration: 2000, lockRenewTime: 250, skipStalledCheck: true },
    );
    worker.on('failed', () => {});
    await eventually(async () => expect(await queue.getJobState(job.id)).toBe('active'));

    survivor.worker(name, async () => void runs++, { stalledInterval: 200 });
    await eventually(async () => expect(await queue.getJobState(job.id)).toBe('completed'));

    expect(runs).toBe(1);
    expect((await queue.getJob(job.id)).returnvalue).toBe('kept');
  });
});
