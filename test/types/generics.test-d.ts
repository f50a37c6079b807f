// What must and must not compile. Checked by the compiler with the rest of the tests; nothing here runs.

import type { StandardSchemaV1 } from '@standard-schema/spec';
import {
  type BulkJobOptions,
  type ConnectionOptions,
  type DefaultJobOptions,
  delay,
  type getParentKey,
  Job,
  type JobJson,
  type JobProgress,
  type JobState,
  type JobsOptions,
  type JobType,
  type KeepJobs,
  type MinimalQueue,
  type Processor,
  Queue,
  QueueEvents,
  type QueueEventsListener,
  QueueEventsProducer,
  type QueueListener,
  type QueueOptions,
  type RateLimiterOptions,
  type RedisOptions,
  reliableDefaults,
  Worker,
  type WorkerListener,
  type WorkerOptions,
} from '../../src/index.ts';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_isSame: Same<A, B>): void {}

interface Mail {
  to: string;
}
interface Sent {
  id: number;
}
type Name = 'welcome' | 'bye';

export async function queues(): Promise<void> {
  const queue = new Queue<Mail, Sent, Name>('mail');
  const job = await queue.add('welcome', { to: 'a' });
  same<typeof job, Job<Mail, Sent, Name>>(true);
  same<typeof job.data, Mail>(true);
  same<typeof job.returnvalue, Sent>(true);
  same<typeof job.name, Name>(true);
  // @ts-expect-error the name is none of the queue's
  await queue.add('other', { to: 'a' });
  // @ts-expect-error the data is of another shape
  await queue.add('welcome', { from: 'a' });
  // @ts-expect-error a priority is a number
  await queue.add('welcome', { to: 'a' }, { priority: 'high' });
  // @ts-expect-error an option that does not exist
  await queue.add('welcome', { to: 'a' }, { prioirty: 1 });
  const odd = [{ name: 'bye' as const, data: 5 }];
  // @ts-expect-error the jobs have another shape
  await queue.addBulk(odd);
  const [bulk] = await queue.addBulk([{ name: 'bye', data: { to: 'a' }, opts: { delay: 5 } }]);
  same<typeof bulk, Job<Mail, Sent, Name> | undefined>(true);
  const read = await queue.getJob('1');
  same<typeof read, Job<Mail, Sent, Name> | undefined>(true);
  const list = await queue.getJobs(['waiting', 'paused', 'repeat']);
  same<typeof list, Job<Mail, Sent, Name>[]>(true);
  // @ts-expect-error there is no such state
  await queue.getJobs('finished');
  // @ts-expect-error a state that cannot be cleaned
  await queue.clean(0, 0, 'waiting-children');
}

export async function queuesOfJobs(): Promise<void> {
  type MailJob = Job<Mail, Sent, Name>;
  const queue = new Queue<MailJob>('mail');
  const job = await queue.add('bye', { to: 'a' });
  same<typeof job.data, Mail>(true);
  same<typeof job.returnvalue, Sent>(true);
  // @ts-expect-error the job's type says otherwise
  await queue.add('bye', { to: 5 });
  // @ts-expect-error the job's type says otherwise
  await queue.add('hello', { to: 'a' });
}

export async function untyped(): Promise<void> {
  const queue = new Queue('any');
  const job = await queue.add('anything', 5);
  const text: string = job.data.whatever;
  const made = await Job.create(queue, 'n', { a: 1 });
  same<typeof made.data, { a: number }>(true);
  await job.updateData(text);
  void queue.resume();
}

export function workers(): void {
  const worker = new Worker<Mail, Sent, Name>('mail', async (job, token, signal) => {
    same<typeof job, Job<Mail, Sent, Name>>(true);
    same<typeof token, string | undefined>(true);
    same<typeof signal, AbortSignal | undefined>(true);
    await job.updateProgress(5);
    await job.updateProgress({ half: true });
    return { id: job.data.to.length };
  });
  // @ts-expect-error the result is of another shape
  new Worker<Mail, Sent>('mail', async () => 'text');
  // @ts-expect-error an option that does not exist
  new Worker<Mail, Sent>('mail', null, { concurency: 5 });
  // @ts-expect-error a policy that does not exist
  new Worker<Mail, Sent>('mail', null, { errorPolicy: 'never' });
  worker.on('completed', (job, result, prev) => {
    same<typeof job.data, Mail>(true);
    same<typeof result, Sent>(true);
    same<typeof prev, string>(true);
  });
  worker.once('failed', (job, error) => {
    same<typeof job, Job<Mail, Sent, Name> | undefined>(true);
    same<typeof error, Error>(true);
    // @ts-expect-error there may be no job
    job.id;
  });
  worker.on('locksRenewed', ({ count, jobIds }) => {
    same<typeof count, number>(true);
    same<typeof jobIds, string[]>(true);
  });
  worker.off('drained', () => {});
  worker.emit('stalled', '1', 'active');
  // @ts-expect-error an event that does not exist
  worker.on('complete', () => {});
  // @ts-expect-error the job is no number
  worker.on('active', (job: number) => job);
  // @ts-expect-error an argument is missing
  worker.emit('stalled');
  const processor: Processor<Mail, Sent> = async (job) => ({ id: job.data.to.length });
  new Worker('mail', processor);
  new Worker('mail', undefined, { autorun: false, limiter: { max: 1, duration: 5 } });
}

export async function byHand(): Promise<void> {
  const worker = new Worker<Mail, Sent, Name>('mail', null);
  const job = await worker.getNextJob('token', { block: false });
  same<typeof job, Job<Mail, Sent, Name> | undefined>(true);
  await job?.moveToCompleted({ id: 1 }, 'token');
  // @ts-expect-error the result is of another shape
  await job?.moveToCompleted('text', 'token');
  const result = await job?.waitUntilFinished(new QueueEvents('mail'), 100);
  same<typeof result, Sent | undefined>(true);
}

export function queueListeners(): void {
  const queue = new Queue<Mail, Sent, Name>('mail');
  queue.on('waiting', (job) => same<typeof job.data, Mail>(true));
  queue.on('cleaned', (ids) => same<typeof ids, string[]>(true));
  queue.on('progress', (jobId: string, progress: JobProgress) => [jobId, progress]);
  queue.on('error', (error) => same<typeof error, Error>(true));
  // @ts-expect-error an event of workers
  queue.on('completed', () => {});
  // @ts-expect-error an argument too many
  queue.emit('paused', 5);
}

export async function events(): Promise<void> {
  const reader = new QueueEvents<Sent>('mail');
  reader.on('completed', ({ jobId, returnvalue }, id) => {
    same<typeof jobId, string>(true);
    same<typeof returnvalue, Sent>(true);
    same<typeof id, string>(true);
  });
  reader.on('drained', (id) => same<typeof id, string>(true));
  reader.once('delayed', ({ delay: dueAt }) => same<typeof dueAt, number>(true));
  reader.on('completed:17', ({ returnvalue }) => returnvalue);
  // @ts-expect-error an event that does not exist
  reader.on('done', () => {});
  // @ts-expect-error it has no such argument
  reader.on('failed', ({ reason }) => reason);

  interface Mine extends QueueEventsListener {
    custom: (args: { text: string }, id: string) => void;
  }
  reader.on<Mine>('custom', ({ text }: { text: string }) => text);
  const producer = new QueueEventsProducer('mail');
  await producer.publishEvent({ eventName: 'custom', text: 'hi' });
  await producer.publishEvent<{ eventName: 'custom'; text: string }>({ eventName: 'custom', text: 'hi' });
  // @ts-expect-error an event has a name
  await producer.publishEvent({ text: 'hi' });
}

export function options(schema: StandardSchemaV1<unknown, Mail>): void {
  const keep: KeepJobs = { age: 5, count: 3 };
  const limiter: RateLimiterOptions = { max: 1, duration: 2 };
  const connection: RedisOptions = { host: 'localhost' };
  const any: ConnectionOptions = connection;
  const defaults: DefaultJobOptions = { ...reliableDefaults, removeOnFail: keep };
  const queue: QueueOptions = { connection: any, schema, defaultJobOptions: defaults, logger: console };
  const worker: WorkerOptions = {
    connection,
    schema,
    limiter,
    errorPolicy: () => 'transient',
    settings: { backoffStrategy: (made) => made * 2 },
  };
  const job: JobsOptions = {
    backoff: { type: 'exponential', delay: 5, jitter: 0.5, maxDelay: 50 },
    removeOnComplete: true,
  };
  const bulk: BulkJobOptions = job;
  new Queue('q', queue);
  new Worker('q', async () => 1, worker);
  // @ts-expect-error a job's id is its own
  const none: DefaultJobOptions = { jobId: 'x' };
  // @ts-expect-error a logger has four levels
  new Queue('q', { logger: { info: () => {} } });
  void [bulk, none];
}

export async function others(
  host: MinimalQueue,
  json: JobJson,
  state: JobState,
  type: JobType,
): Promise<void> {
  const queue: MinimalQueue = new Queue<Mail, Sent, Name>('q');
  const worker: MinimalQueue = new Worker<Mail, Sent, Name>('q');
  Job.fromJSON(host, json);
  same<JobState extends JobType ? true : false, true>(true);
  const names: (keyof QueueListener | keyof WorkerListener)[] = ['waiting', 'completed'];
  await delay(5);
  same<string | undefined, ReturnType<typeof getParentKey>>(true);
  void [queue, worker, state, type, names];
}
