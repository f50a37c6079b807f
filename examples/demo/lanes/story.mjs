// Lanes: the bookings of each account run in order, one at a time, while the accounts go on side by side. Two worker
// processes share them; one is killed in the middle, and its accounts wait for its leases and then go on, in order.

import { fork } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Queue } from 'yokemq';

const NAMES = ['Ada', 'Ben', 'Cleo', 'Dora', 'Emil', 'Fay', 'Gus', 'Hope'];
const WORKER = fileURLToPath(new URL('./worker.mjs', import.meta.url));
const KILL_AFTER_MS = 1500;
const LOOK_EVERY_MS = 100;

const GREEN = 32;
const YELLOW = 33;
const RED = 31;

export const options = { steps: { type: 'string', default: '14' } };

export function check({ steps }) {
  const wanted = Number(steps);
  if (Number.isInteger(wanted) && wanted >= 1 && wanted <= 200) return undefined;
  return `--steps: expected a whole number from 1 to 200, got ${steps}`;
}

export async function play({ values, screen, signal, dataDir }) {
  const queue = new Queue('accounts', { prefix: 'demo' });
  queue.on('error', (error) => screen.say(`  ${error.message}`));
  const lanes = new Map(
    NAMES.map((name) => [name, { done: 0, steps: 0, last: 0, running: new Map(), failed: false }]),
  );
  const seen = { starts: 0, outOfOrder: 0, overlaps: 0, kills: 0 };
  const left = await begin();
  screen.say(`${NAMES.length} accounts, one lane each; two worker processes with four slots.`);
  screen.say('After a moment one of them is killed. Watch its accounts wait, and then go on in order.');
  screen.say();
  screen.tell({ event: 'started', lanes: NAMES.length, jobs: left, dataDir });
  screen.show(picture);

  const workers = [openWorker(), openWorker()];
  const killing = pause(KILL_AFTER_MS, undefined, { signal }).then(killOne, () => {});
  while (!signal.aborted && (await queue.count()) + (await queue.getActiveCount()) > 0)
    await pause(LOOK_EVERY_MS);
  await killing;
  await Promise.all(workers.map(closeWorker));
  await end();

  /** Adds the bookings, unless those of a run that was stopped are still there. */
  async function begin() {
    const pending = await queue.getJobs(['waiting', 'active', 'delayed']);
    if (pending.length === 0) {
      await queue.obliterate({ force: true });
      await queue.resume();
      const jobs = Array.from({ length: Number(values.steps) }, (_, i) => i + 1).flatMap((step) =>
        NAMES.map((lane, n) => ({
          name: 'book',
          data: { step, ms: 60 + ((step * 37 + n * 53) % 90), fails: (step * 5 + n) % 23 === 0 ? 1 : 0 },
          opts: { lane, attempts: 3, backoff: 200 },
        })),
      );
      await queue.addBulk(jobs);
      pending.push(...jobs.map(({ data, opts }) => ({ data, lane: opts.lane })));
    } else screen.say(`Going on where the last run was stopped: ${pending.length} bookings are left.`);
    for (const { lane, data } of pending) {
      const account = lanes.get(lane);
      account.steps = Math.max(account.steps, data.step);
      account.first = Math.min(account.first ?? data.step, data.step);
    }
    for (const account of lanes.values()) account.last = account.done = (account.first ?? 1) - 1;
    return pending.length;
  }

  function openWorker() {
    const child = fork(WORKER, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    child.on('message', (told) => heard(child, told));
    return child;
  }

  function heard(child, { event, id, lane, step }) {
    const account = lanes.get(lane);
    if (event === 'start') {
      seen.starts++;
      if (account.running.size > 0) seen.overlaps++;
      account.running.set(child, step);
      account.isWaiting = false;
      if (step > account.last + 1 || step < account.last) seen.outOfOrder++;
      account.last = Math.max(account.last, step);
    } else {
      account.running.delete(child);
      account.failed = event === 'fail';
      if (event === 'end') account.done = step;
    }
    screen.tell({ event, lane, step, id, pid: child.pid });
  }

  async function killOne() {
    const victim = workers[0];
    victim.kill('SIGKILL');
    await new Promise((resolve) => victim.once('exit', resolve));
    seen.kills++;
    const held = [...lanes].filter(([, { running }]) => running.has(victim)).map(([name]) => name);
    for (const name of held) {
      lanes.get(name).running.delete(victim);
      lanes.get(name).isWaiting = true;
    }
    screen.say(
      `A worker was killed with bookings of ${held.join(', ') || 'nobody'} in hand; another one starts.`,
    );
    screen.tell({ event: 'killed', lanes: held });
    workers[0] = openWorker();
  }

  async function closeWorker(child) {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    if (child.connected) child.send('close');
    await exited;
  }

  async function end() {
    const pending = await queue.getJobCountByTypes('waiting', 'active', 'delayed');
    const completed = await queue.getCompletedCount();
    const lanesLeft = await queue.getLaneCount();
    screen.end();
    screen.say();
    if (pending > 0)
      screen.say(`Stopped with ${pending} bookings left in ${dataDir}: run it again to go on.`);
    else
      screen.say(
        `${completed} bookings done. Out of order: ${seen.outOfOrder}. Two of one account at a time: ${seen.overlaps}. Lanes left: ${lanesLeft}.`,
      );
    screen.tell({ event: pending > 0 ? 'stopped' : 'done', completed, left: pending, lanesLeft, ...seen });
    await queue.close();
  }

  function picture() {
    return [...lanes].map(([name, account]) => {
      const { done, steps, running, isWaiting, failed } = account;
      const bar =
        '■'.repeat(done) + (running.size > 0 ? '▶' : '·') + '·'.repeat(Math.max(0, steps - done - 1));
      const state = isWaiting ? 'its worker died' : failed ? 'tries again' : done === steps ? 'done' : '';
      const colour = isWaiting ? RED : failed ? YELLOW : GREEN;
      return `  ${name.padEnd(6)} ${screen.colour(colour, bar.slice(0, steps))} ${state}`;
    });
  }
}
