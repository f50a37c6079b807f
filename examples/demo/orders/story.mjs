// Orders as transactional groups: each charges a card, reserves stock and sends a mail, on three queues. When one of
// the three fails, or the customer changes their mind, what has been done is undone.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { FlowProducer, Queue, QueueEvents, Worker } from 'yokemq';
import { header, line } from './picture.mjs';
import { CANCELLED, openShop, orderOf } from './shop.mjs';
import { sayDone, sayStopped } from './summary.mjs';
import { timelineOf } from './timeline.mjs';

const QUEUES = ['payments', 'inventory', 'notifications'];
// In the order of the queues, then of their compensation queues.
const JOB_NAMES = ['charge', 'reserve', 'mail', 'refund', 'release', 'apologise'];
const PLACE_EVERY_MS = 150;
const LOOK_EVERY_MS = 120;
const GROUP_EVENTS = ['group:completed', 'group:compensating', 'group:failed', 'group:recovered'];

export const options = { orders: { type: 'string', default: '24' } };

export function check({ orders }) {
  const wanted = Number(orders);
  if (Number.isInteger(wanted) && wanted >= 1 && wanted <= 500) return undefined;
  return `--orders: expected a whole number from 1 to 500, got ${orders}`;
}

export async function play({ values, screen, signal, folder, dataDir }) {
  const base = { prefix: 'demo' };
  const progressFile = `${folder}.json`;
  const startedAt = performance.now();

  // Which orders these are. It is written before the first is placed and removed when all have ended, so that
  // whatever stops this program, the next run knows what to go on with.
  const unfinished = existsSync(progressFile) ? JSON.parse(readFileSync(progressFile, 'utf8')) : undefined;
  const batch = unfinished ?? { id: Date.now().toString(36), orders: Number(values.orders) };
  const shop = openShop(folder, batch.orders);

  const producer = new FlowProducer(base);
  const queues = [...QUEUES, ...QUEUES.map((name) => `${name}:compensation`)].map(
    (name) => new Queue(name, base),
  );
  const payments = queues[0]; // home of the groups, as the queue of their first job
  for (const part of [producer, ...queues]) part.on('error', complain);
  if (!unfinished) await startAfresh();

  const orders = Array.from({ length: batch.orders }, (_, i) => {
    const plan = orderOf(i + 1);
    const groupId = `order-${plan.order}-${batch.id}`;
    return {
      plan,
      groupId,
      group: payments.getGroup(groupId),
      state: 'NONE',
      reason: '',
      members: [{}, {}, {}],
    };
  });
  for (const order of orders) await look(order, false);
  const hidden = new Set(orders.filter(isOver));
  const count = (state) => orders.filter((order) => order.state === state).length;
  const left = () => orders.filter((order) => !isOver(order)).length;

  screen.say(
    'An order charges a card, reserves stock and sends a mail: three jobs on three queues, one group.',
  );
  screen.say('If one of the three fails, the others are cancelled or undone.');
  if (unfinished)
    screen.say(
      `Going on where the last run was stopped: ${left()} of ${batch.orders} orders have not ended.`,
    );
  screen.say();
  screen.tell({ event: unfinished ? 'continued' : 'started', orders: batch.orders, left: left(), dataDir });

  const events = new QueueEvents('payments', base);
  events.on('error', complain);
  const workers = queues.map(openWorker);
  const byGroup = new Map(orders.map((order) => [order.groupId, order]));
  // A group tells its end at once; what its members do in between is looked up now and then.
  for (const name of GROUP_EVENTS)
    events.on(name, ({ groupId }) => byGroup.has(groupId) && look(byGroup.get(groupId)).catch(complain));
  screen.show(picture);

  let isLooking = false;
  const timer = setInterval(async () => {
    if (isLooking) return;
    isLooking = true;
    await lookAtAll().catch(complain);
    isLooking = false;
  }, LOOK_EVERY_MS);

  await placeOrders();
  await untilAllHaveEnded();
  await close();

  async function startAfresh() {
    shop.build();
    // What earlier runs left behind is not part of this story.
    for (const queue of queues) await queue.obliterate({ force: true });
    for (const queue of queues) await queue.resume();
    mkdirSync(dirname(progressFile), { recursive: true });
    writeFileSync(progressFile, JSON.stringify(batch));
  }

  function openWorker(queue) {
    const worker = new Worker(queue.name, shop.handle, {
      ...base,
      concurrency: 4,
      // Short, so that jobs of a run that was killed outright come back while one watches, however often.
      lockDuration: 5000,
      stalledInterval: 2000,
      maxStalledCount: 100,
    });
    worker.on('error', complain);
    worker.on('failed', (job, error) => {
      if (!job || job.finishedOn !== undefined) return;
      const order = job.data.order ?? job.data.compensationData.order;
      screen.tell({
        event: 'retry',
        order,
        job: job.name,
        attempts: job.attemptsMade,
        reason: error.message,
      });
      screen.note(`  order ${order}: ${job.name} is tried again: ${error.message}`);
    });
    return worker;
  }

  async function placeOrders() {
    for (const order of orders) {
      if (order.state !== 'NONE') continue;
      if (signal.aborted) return;
      await place(order);
      await pause(PLACE_EVERY_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** One call adds all three jobs or none; the id makes sure that an order is placed once. */
  async function place({ plan, groupId }) {
    const undo = { data: plan, opts: { attempts: 2, backoff: 300 } };
    await producer.addGroup({
      name: `order ${plan.order}`,
      groupId,
      jobs: [
        { name: 'charge', queueName: 'payments', data: plan },
        { name: 'reserve', queueName: 'inventory', data: plan },
        { name: 'mail', queueName: 'notifications', data: plan, opts: { attempts: 3, backoff: 200 } },
      ],
      compensation: {
        charge: { name: 'refund', ...undo },
        reserve: { name: 'release', ...undo },
        mail: { name: 'apologise', ...undo },
      },
    });
    screen.tell({ event: 'placed', ...plan });
    await look(byGroup.get(groupId));
  }

  async function lookAtAll() {
    const open = orders.filter((order) => order.state !== 'NONE' && !isOver(order));
    await Promise.all(open.map((order) => look(order)));
  }

  async function look(order, isTold = true) {
    if (isOver(order)) return;
    // In this order: what is read of the members is at least as new as the state.
    const state = await order.group.getState();
    if (!state) return;
    const jobs = await order.group.getJobs();
    if (isOver(order)) return;
    const before = { ...order };
    order.createdAt = state.createdAt;
    order.reason = state.reason ?? '';
    order.state = state.state;
    order.wasStuck ||= state.state === 'FAILED_COMPENSATION';
    order.members = jobs.map(({ jobId, status, compensation }) => ({
      jobId,
      status,
      undo: compensation?.status,
    }));
    if (isTold) tellChanges(order, before);
    if (order.plan.order === CANCELLED && order.state === 'ACTIVE' && order.members[0].status === 'completed')
      await cancel(order);
  }

  function tellChanges(order, before) {
    const number = order.plan.order;
    order.members.forEach(({ status, undo }, i) => {
      const was = before.members[i];
      if (status !== was.status) screen.tell({ event: 'member', order: number, queue: QUEUES[i], status });
      if (undo !== was.undo)
        screen.tell({ event: 'compensation', order: number, queue: QUEUES[i], status: undo });
    });
    if (order.state === before.state || order.state === 'ACTIVE') return;
    const { state, reason } = order;
    const counts = order.members.map(({ status, undo }) => ({ status, undo }));
    screen.tell({ event: 'group', order: number, state, ...(reason && { reason }), members: counts });
    screen.note(line(order, screen.colour));
  }

  async function cancel({ plan, groupId }) {
    try {
      await payments.cancelGroup(groupId, 'the customer changed their mind');
    } catch (error) {
      // It has ended meanwhile, or was cancelled by another look.
      if (error.name !== 'InvalidGroupStateError') throw error;
      return;
    }
    screen.tell({ event: 'cancelled', order: plan.order });
  }

  async function untilAllHaveEnded() {
    while (left() > 0 && !signal.aborted) {
      await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
      const stuck = orders.filter((order) => order.state === 'FAILED_COMPENSATION');
      if (stuck.length > 0 && stuck.length === left()) await helpOut(stuck);
    }
  }

  /** What only a person can do: call the bank, then have the failed refunds tried again. */
  async function helpOut(stuck) {
    if (!shop.callTheBank()) return;
    await pause(700);
    for (const { plan, groupId } of stuck) {
      screen.say(
        `  Order ${plan.order} needs a person: somebody calls the bank, then retryGroupCompensation().`,
      );
      screen.tell({
        event: 'operator',
        order: plan.order,
        retried: await payments.retryGroupCompensation(groupId),
      });
    }
  }

  function picture() {
    const room = screen.room - 4;
    const shown = orders.filter((order) => order.state !== 'NONE' && !hidden.has(order));
    // Where there is no room for all, orders that have ended move up and out.
    for (let i = shown.findIndex(isOver); i >= 0 && shown.length > room; i = shown.findIndex(isOver)) {
      const [order] = shown.splice(i, 1);
      hidden.add(order);
      queueMicrotask(() => screen.say(line(order, screen.colour)));
    }
    return [
      header(screen.colour),
      ...shown.slice(-room).map((order) => line(order, screen.colour)),
      '',
      `  ${count('NONE')} to come   ${count('ACTIVE')} running   ${count('COMPENSATING')} being undone   ` +
        `${screen.colour(32, `${count('COMPLETED')} completed`)}   ${screen.colour(35, `${count('FAILED')} undone`)}`,
    ];
  }

  async function close() {
    clearInterval(timer);
    await Promise.all(workers.map((worker) => worker.close()));
    await lookAtAll();
    const isDone = left() === 0;
    const timeline = isDone ? await timelineOfOne() : undefined;
    if (isDone) rmSync(progressFile, { force: true });
    await Promise.all([producer, events, ...queues].map((part) => part.close()));
    screen.end();
    const told = { orders, shop, timeline, dataDir, seconds: (performance.now() - startedAt) / 1000 };
    if (isDone) sayDone(screen, told);
    else sayStopped(screen, told);
  }

  async function timelineOfOne() {
    const order = mostEventful(orders);
    if (!order) return undefined;
    const ids = [
      ...order.members.map(({ jobId }) => jobId),
      ...[0, 1, 2].map((i) => `${order.groupId}-${i}`),
    ];
    const jobNames = new Map(JOB_NAMES.map((name, i) => [`${queues[i].name} ${ids[i]}`, name]));
    return { order, steps: await timelineOf(order.groupId, queues, jobNames, order.createdAt) };
  }
}

/** The failed order to which most happened. */
function mostEventful(orders) {
  const weight = ({ wasStuck, members }) => (wasStuck ? 10 : 0) + members.filter(({ undo }) => undo).length;
  const failed = orders.filter(({ state }) => state === 'FAILED');
  return failed.sort((a, b) => weight(b) - weight(a))[0];
}

function isOver({ state }) {
  return state === 'COMPLETED' || state === 'FAILED';
}

function complain(error) {
  console.error(error.message);
}
