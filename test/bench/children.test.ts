// One process per library and workload: it serves all measurements, takes nobody else along when it fails, and is gone
// afterwards. Most of it with a program that measures nothing.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

const load = (file: string): Promise<any> => import(new URL(`../../bench/${file}`, import.meta.url).href);
const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));

const { runWorkload } = await load('campaign.mjs');
const { Children } = await load('children.mjs');

const program = path('./child-program.mjs');
const PLENTY_MS = 60_000;

/** What the library's process does instead of answering, by the number of the task; the first is the warm-up. */
type Troubles = Record<string, Record<number, string>>;

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

async function campaign(troubles: Troubles, given: object = {}, more: object = {}) {
  const turns: string[] = [];
  const pids = new Set<number>();
  const log: string[] = [];
  const servers = {
    connectionsFor: async () => {
      log.push('emptied');
      return { connection: {} };
    },
  };
  const onProgress = ({ library, figures, disturbed }: any) => {
    if (library && !disturbed) turns.push(library);
    if (figures) pids.add(figures.pid);
    log.push(disturbed ? 'disturbed' : 'done');
  };
  const workload = {
    id: 'add-1',
    run: 'none',
    libraries: ['yoke', 'bullmq', 'groupmq'],
    count: 10,
    warmUpCount: 4,
    steady: ['rate'],
    params: troubles,
    ...more,
  };
  const setup = { servers, rounds: 2, attempts: 1, isQuick: false, onProgress, program, ...given };
  const outcome = await runWorkload(workload, setup);
  const valuesOf = (library: string, name: string) => outcome.results[library].summary[name].values;
  return { outcome, turns, pids: [...pids], log, valuesOf };
}

describe('a workload', () => {
  it('measures a library in one process, after one warm-up, with the libraries taking turns', async () => {
    const { outcome, turns, pids, log, valuesOf } = await campaign({}, { rounds: 3 });
    expect(turns.join(' ')).toBe('yoke bullmq groupmq yoke bullmq groupmq yoke bullmq groupmq');
    expect(pids).toHaveLength(3);
    expect(new Set(valuesOf('yoke', 'pid')).size).toBe(1);
    expect(valuesOf('yoke', 'taskCount')).toEqual([2, 3, 4]);
    expect(valuesOf('yoke', 'count')).toEqual([10, 10, 10]);
    expect(valuesOf('yoke', 'isWarmUp')).toEqual([0, 0, 0]);
    expect(outcome.void).toBeUndefined();
    // The server is emptied for the warm-up and for each measurement.
    expect(log.filter((entry) => entry === 'emptied')).toHaveLength(3 * (1 + 3));
  });

  it('leaves no process behind', async () => {
    const { pids } = await campaign({ bullmq: { 2: 'dies' } });
    expect(pids).toHaveLength(2);
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it('leaves no process behind when it breaks off', async () => {
    const pids: number[] = [];
    const onProgress = ({ figures }: any) => {
      pids.push(figures.pid);
      throw new Error('broken off');
    };
    await expect(campaign({}, { onProgress })).rejects.toThrow('broken off');
    expect(pids).toHaveLength(1);
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it('that is void is run again whole, in the same processes, with more turns in a round', async () => {
    const { outcome, turns, pids, valuesOf } = await campaign({ yoke: { 2: 'is slow' } }, { attempts: 3 });
    expect(outcome).toMatchObject({ attempts: 2, turns: 2 });
    expect(outcome.void).toBeUndefined();
    expect(turns).toHaveLength(3 * 2 + 3 * 2 * 2);
    expect(pids).toHaveLength(3);
    // Each round is the mean of two turns: tasks 4 and 6, then 5 and 7.
    expect(valuesOf('yoke', 'taskCount')).toEqual([5, 6]);
  });

  it('takes the turns of a round one round after the other, so that what lasts for a while falls on all rounds', async () => {
    const { outcome, turns, valuesOf } = await campaign({}, { rounds: 3 }, { turns: 2 });
    expect(outcome.turns).toBe(2);
    expect(turns).toHaveLength(3 * 3 * 2);
    expect(turns.slice(0, 4)).toEqual(['yoke', 'bullmq', 'groupmq', 'yoke']);
    // Tasks 2 and 5, 3 and 6, 4 and 7.
    expect(valuesOf('yoke', 'taskCount')).toEqual([3.5, 4.5, 5.5]);
  });

  it('takes one turn a round in a quick look', async () => {
    const { outcome, turns } = await campaign({}, { isQuick: true }, { turns: 4, quickCount: 5 });
    expect(outcome.turns).toBe(1);
    expect(turns).toHaveLength(3 * 2);
  });

  it('takes a measurement again from which the host took processor time, in the same process', async () => {
    const { outcome, log, pids, valuesOf } = await campaign({ yoke: { 2: 'is disturbed' } }, { rounds: 1 });
    expect(outcome.stolen).toEqual({ kept: [0, 0, 0], repeats: 1 });
    expect(valuesOf('yoke', 'taskCount')).toEqual([3]);
    expect(pids).toHaveLength(3);
    expect(log.slice(0, 5)).toEqual(['emptied', 'emptied', 'disturbed', 'emptied', 'done']);
  });

  it('goes on without a library whose process has died, and says what it said last', async () => {
    const { outcome, turns, valuesOf } = await campaign({ bullmq: { 2: 'dies' } });
    expect(outcome.results.bullmq).toEqual({
      error: 'the process ended (code 7): the last thing it said',
    });
    expect(turns.join(' ')).toBe('yoke bullmq groupmq yoke groupmq');
    expect(valuesOf('groupmq', 'rate')).toEqual([100, 100]);
  });

  it('does not measure a library that has not survived its warm-up', async () => {
    const { outcome, valuesOf } = await campaign({ bullmq: { 1: 'fails' } });
    expect(outcome.results.bullmq).toEqual({ error: 'a failure of its own' });
    expect(valuesOf('yoke', 'taskCount')).toEqual([2, 3]);
  });

  it('gives a library that failed a new process when all is run again', async () => {
    const troubles = { yoke: { 2: 'is slow' }, bullmq: { 3: 'fails' } };
    const { outcome, turns, pids } = await campaign(troubles, {
      attempts: 2,
      libraries: ['yoke', 'bullmq'],
    });
    expect(outcome.attempts).toBe(2);
    // The new one fails at its third task as well.
    expect(outcome.results.bullmq).toEqual({ error: 'a failure of its own' });
    expect(turns.filter((library) => library === 'bullmq')).toHaveLength(2 + 2);
    expect(pids).toHaveLength(1 + 2);
  });

  it('that cannot be prepared is an error of the library', async () => {
    const servers = {
      connectionsFor: async () => {
        throw new Error('no server');
      },
    };
    const { outcome } = await campaign({}, { servers, libraries: ['yoke'] });
    expect(outcome.results).toEqual({ yoke: { error: 'no server' } });
  });
});

describe('the processes of a workload', () => {
  const begun: any[] = [];
  afterEach(async () => {
    for (const children of begun.splice(0)) await children.end();
  });

  function begin() {
    const children = new Children({ program });
    begun.push(children);
    return (library: string, troubles: Record<number, string> = {}, timeoutMs = PLENTY_MS) =>
      children.measure(library, () => ({ library, params: { [library]: troubles } }), timeoutMs);
  }

  it('are each ended when they do not answer in time, and nobody else is', async () => {
    const measure = begin();
    const first = await measure('yoke');
    const { figures } = await measure('bullmq');
    expect(await measure('bullmq', { 3: 'hangs' }, 50)).toEqual({ error: 'not done after 0.05 s' });
    expect(isAlive(figures.pid)).toBe(false);
    expect((await measure('yoke')).figures).toMatchObject({ pid: first.figures.pid, taskCount: 3 });
  });

  it('are replaced after an error, and warmed up again', async () => {
    const measure = begin();
    const { figures } = await measure('yoke');
    await measure('yoke', { 3: 'fails' });
    const again = await measure('yoke');
    expect(again.figures.taskCount).toBe(2);
    expect(again.figures.pid).not.toBe(figures.pid);
  });

  it('tell when they ended while nobody asked', async () => {
    const measure = begin();
    const { figures } = await measure('yoke');
    process.kill(figures.pid, 'SIGKILL');
    expect(await measure('yoke')).toEqual({ error: 'the process ended (SIGKILL)' });
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)('end with a run that is ended by %s', async (signal) => {
    const run = fork(path('./parent-program.mjs'), [program], { execArgv: [] });
    const [port] = (await once(run, 'message')) as [number];
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    // A process that is killed resets its connections, which is as good as closing them.
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.once('close', resolve));
    run.kill(signal);
    await closed;
  });
});
