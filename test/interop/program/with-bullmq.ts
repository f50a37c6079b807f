// An application as people write them for BullMQ. `with-yoke.ts` is this file with another import and nothing else changed;
// a test compares the two files, the compiler checks both, and both must tell the same story.

import {
  type ConnectionOptions,
  DelayedError,
  Job,
  type JobsOptions,
  type Processor,
  Queue,
  QueueEvents,
  UnrecoverableError,
  Worker,
  type WorkerOptions,
} from 'bullmq';

interface Order {
  customer: string;
  amount: number;
  items?: string[];
}

interface Receipt {
  charged: number;
  note: string | null;
}

type Task = 'charge' | 'ship' | 'remind';

const defaults: JobsOptions = {
  attempts: 3,
  backoff: { type: 'custom' },
  removeOnFail: { count: 50 },
};

export async function main(connection: ConnectionOptions, name: string): Promise<string[]> {
  const story: string[] = [];
  const tell = (line: string, value?: unknown) => {
    story.push(value === undefined ? line : `${line} ${JSON.stringify(value)}`);
  };
  const refused = async (what: string, attempt: () => Promise<unknown> | unknown) => {
    try {
      await attempt();
      tell(`${what}: accepted`);
    } catch (error) {
      tell(`${what}: ${(error as Error).message}`);
    }
  };

  const orders = new Queue<Order, Receipt, Task>(name, { connection, defaultJobOptions: defaults });
  orders.on('error', (error) => tell(`queue error ${error.message}`));
  orders.on('waiting', (job) => tell(`queue: ${job.name} waits`));
  orders.on('progress', (jobId, progress) => tell(`queue: progress of ${jobId}`, progress));
  orders.on('removed', (jobId) => tell(`queue: removed ${jobId}`));
  orders.on('cleaned', (jobs, type) => tell(`queue: cleaned ${jobs.length} ${type}`));
  const events = new QueueEvents(name, { connection });
  const heard = new Map<string, string[]>();
  const hear = (jobId: string, line: string) => heard.set(jobId, [...(heard.get(jobId) ?? []), line]);
  // What happened before anybody worked is not told: a reader may come to the stream a little later.
  events.on('waiting', ({ jobId, prev }) => prev && hear(jobId, `waiting ${prev}`));
  events.on('active', ({ jobId, prev }) => hear(jobId, `active ${prev}`));
  events.on('delayed', ({ jobId, delay }) => jobId !== '5' && hear(jobId, `delayed ${typeof delay}`));
  events.on('progress', ({ jobId, data }) => hear(jobId, `progress ${JSON.stringify(data)}`));
  events.on('completed', ({ jobId, returnvalue, prev }) =>
    hear(jobId, `completed ${JSON.stringify(returnvalue)} ${prev}`),
  );
  events.on('failed', ({ jobId, failedReason, prev }) => hear(jobId, `failed ${failedReason} ${prev}`));
  events.on('retries-exhausted', ({ jobId, attemptsMade }) => hear(jobId, `exhausted ${attemptsMade}`));
  await Promise.all([orders.waitUntilReady(), events.waitUntilReady()]);

  // Producing, before anybody works.
  const first = await orders.add(
    'charge',
    { customer: 'ann', amount: 10, items: [] },
    { jobId: 'order-ann' },
  );
  await orders.add('charge', { customer: 'ann', amount: 99 }, { jobId: 'order-ann' });
  const [second, third] = await orders.addBulk([
    { name: 'charge', data: { customer: 'bob', amount: -1 } },
    { name: 'ship', data: { customer: 'cat', amount: 5 }, opts: { priority: 2, attempts: 2 } },
  ]);
  const later = await orders.add('remind', { customer: 'dan', amount: 1 }, { delay: 3_600_000, keepLogs: 1 });
  const flaky = await orders.add('ship', { customer: 'eve', amount: 7 }, { attempts: 3, backoff: 5 });
  tell('ids', [first.id, second?.id, third?.id, later.id, flaky.id]);
  tell('counts', await orders.getJobCounts('waiting', 'delayed', 'prioritized', 'active'));
  tell('counts of all', await orders.getJobCounts());
  tell(
    'waiting',
    (await orders.getWaiting()).map((job) => job.id),
  );
  tell('per priority', await orders.getCountsPerPriority([0, 2, 9]));
  tell('states', [
    await first.getState(),
    await third?.getState(),
    await later.getState(),
    await orders.getJobState('none'),
  ]);
  await later.log('one');
  await later.log('two');
  tell('logs', await orders.getJobLogs(later.id as string));
  await later.changeDelay(7_200_000);
  await later.updateData({ customer: 'dan', amount: 2 });
  const read = await Job.fromId<Order, Receipt, Task>(orders, later.id as string);
  tell('read', [
    read?.data,
    read?.delay,
    read?.opts.attempts,
    read?.opts.delay,
    read?.name,
    await read?.isDelayed(),
  ]);
  const { data, opts: stored, returnvalue } = read?.asJSON() ?? {};
  tell('json', [data, Object.entries(stored ?? {}).sort(), returnvalue]);
  await refused('a colon in the id', () =>
    orders.add('charge', { customer: 'x', amount: 1 }, { jobId: 'a:b' }),
  );
  await refused('a number as id', () => orders.add('charge', { customer: 'x', amount: 1 }, { jobId: '12' }));
  await refused('a wild priority', () =>
    orders.add('charge', { customer: 'x', amount: 1 }, { priority: 3_000_000 }),
  );
  await refused('promote what waits', () => first.promote());
  await refused('retry what waits', () => first.retry());
  await refused('a job nobody knows', () => orders.updateJobProgress('nobody', 1));

  // Working.
  const runs: string[] = [];
  const handle: Processor<Order, Receipt, Task> = async (job, token) => {
    runs.push(`${job.id}/${job.attemptsMade}`);
    await job.updateProgress({ step: job.attemptsMade });
    await job.log(`attempt ${job.attemptsMade}`);
    if (job.data.amount < 0) throw new UnrecoverableError('no credit');
    if (job.data.customer === 'eve' && job.attemptsMade < 2) throw new Error(`try ${job.attemptsMade}`);
    if (job.name === 'remind' && job.data.amount === 2) {
      await job.updateData({ ...job.data, amount: 3 });
      await job.moveToDelayed(Date.now() + 10, token);
      throw new DelayedError();
    }
    return { charged: job.data.amount, note: null };
  };
  const opts: WorkerOptions = {
    connection,
    concurrency: 1,
    autorun: false,
    name: 'till',
    settings: { backoffStrategy: (attemptsMade, type) => (type === 'custom' ? attemptsMade * 5 : 1) },
  };
  const worker = new Worker<Order, Receipt, Task>(name, handle, opts);
  worker.on('error', (error) => tell(`worker error ${error.message}`));
  const told = new Map<string, string[]>();
  const order: string[] = [];
  const say = (job: Job | undefined, line: string) => {
    told.set(`${job?.id}`, [...(told.get(`${job?.id}`) ?? []), line]);
    if (job?.data.customer === 'row') order.push(`${line} ${job.data.amount}`);
  };
  worker.on('active', (job, prev) => say(job, `active ${prev}`));
  worker.on('progress', (job, progress) => say(job, `progress ${JSON.stringify(progress)}`));
  worker.on('completed', (job, result, prev) =>
    say(job, `completed ${prev} ${job.attemptsMade} ${JSON.stringify(result)}`),
  );
  worker.on('failed', (job, error, prev) =>
    say(job, `failed ${prev} ${job?.attemptsMade} ${error.name} ${error.message}`),
  );
  worker.on('closed', () => tell('worker closed'));
  const running = worker.run();
  tell('results', [
    await first.waitUntilFinished(events),
    await third?.waitUntilFinished(events, 20_000),
    await second?.waitUntilFinished(events).catch((error: Error) => error.message),
    await flaky.waitUntilFinished(events),
  ]);
  await read?.promote();
  tell('reminded', await later.waitUntilFinished(events));
  // One after another at concurrency 1, and nothing of the second before the first is done.
  await orders.pause();
  const row = await orders.addBulk(
    [1, 2, 3].map((amount) => ({ name: 'ship' as const, data: { customer: 'row', amount } })),
  );
  await orders.resume();
  await Promise.all(row.map((job) => job.waitUntilFinished(events)));
  tell('is running', [worker.isRunning(), worker.isPaused()]);
  await worker.pause();
  tell('is paused', [worker.isRunning(), worker.isPaused()]);
  worker.resume();
  await worker.close();
  await running;
  tell('runs', runs.sort());
  tell('in a row', order);
  const sorted = (map: Map<string, string[]>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [jobId, lines] of sorted(told)) tell(`told of ${jobId}`, lines);
  for (const [jobId, lines] of sorted(heard)) tell(`heard of ${jobId}`, lines);

  // Looking back.
  const failed = await orders.getJob(second?.id as string);
  tell('failed', [
    failed?.failedReason,
    failed?.attemptsMade,
    failed?.stacktrace?.length,
    failed?.returnvalue,
    failed?.processedBy,
  ]);
  tell(
    'flaky',
    await orders
      .getJob(flaky.id as string)
      .then((job) => [job?.attemptsMade, job?.attemptsStarted, job?.stacktrace?.length, job?.progress]),
  );
  tell('kept logs', await orders.getJobLogs(later.id as string));
  tell('completed', (await orders.getCompleted()).map((job) => job.id).sort());
  tell('page', (await orders.getJobs(['completed', 'failed'], 0, 1, true)).length);
  await refused('promote what failed', () => failed?.promote());
  await failed?.retry('failed', { resetAttemptsMade: true });
  tell('retried', [await failed?.getState(), failed?.attemptsMade]);

  // Fetching by hand.
  const byHand = new Worker<Order, Receipt, Task>(name, null, { connection, settings: opts.settings });
  const token = 'a-token';
  const fetched = (await byHand.getNextJob(token)) as Job<Order, Receipt, Task>;
  tell('by hand', [fetched.id, fetched.attemptsStarted, await fetched.getState()]);
  await fetched.extendLock(token, 30_000);
  await refused('remove what runs', () => fetched.remove());
  await refused('finish with a wrong token', () =>
    fetched.moveToCompleted({ charged: 0, note: 'x' }, 'wrong', false),
  );
  await refused('obliterate while it runs', () => orders.obliterate());
  await orders.resume();
  tell('next', await fetched.moveToCompleted({ charged: 0, note: 'x' }, token, false));
  tell('finished by hand', [await fetched.isCompleted(), fetched.returnvalue, typeof fetched.finishedOn]);
  await orders.add('ship', { customer: 'fay', amount: 1 }, { jobId: 'fay', backoff: 3_600_000 });
  const other = (await byHand.getNextJob(token)) as Job<Order, Receipt, Task>;
  await other.moveToFailed(new Error('by hand'), token);
  tell('failed by hand', [
    await other.isFailed(),
    other.failedReason,
    other.attemptsMade,
    await other.isDelayed(),
  ]);
  tell('nothing left', (await byHand.getNextJob(token, { block: false })) === undefined);
  await byHand.close();

  // Looking after the queue.
  await orders.setGlobalConcurrency(4);
  tell('limits', [
    await orders.getGlobalConcurrency(),
    await orders.getGlobalRateLimit(),
    await orders.isMaxed(),
  ]);
  await orders.pause();
  tell('paused', [await orders.isPaused(), await orders.count()]);
  tell('removed', [await orders.remove('fay'), await orders.remove('nobody')]);
  tell('cleaned', (await orders.clean(0, 2, 'completed')).length);
  await orders.retryJobs({ state: 'completed' });
  tell('after retryJobs', await orders.getJobCounts('waiting', 'completed', 'prioritized', 'delayed'));
  await orders.drain();
  tell('drained', await orders.count());
  await orders.obliterate({ force: true });
  tell('counts at the end', await orders.getJobCounts());
  await events.close();
  await orders.close();
  return story;
}
