// The two sides of the comparison: real BullMQ on one prefix, Yoke on another prefix of the same server. Both offer
// the same API, so one step is written once and done by each side. What Yoke cannot create yet (flows, schedulers,
// deduplicated jobs) BullMQ creates on both prefixes, through `reference` and `flows`.

import type { EventEmitter } from 'node:events';
import * as bullmq from 'bullmq';
import type { Redis } from 'ioredis';
import * as yoke from '../../src/index.ts';
import type { TestServer } from '../support/leg.ts';

export type WorkerSettings = Omit<Partial<bullmq.WorkerOptions>, 'connection' | 'prefix'>;
export type QueueSettings = Omit<Partial<bullmq.QueueOptions>, 'connection' | 'prefix'>;
type Handler = (job: bullmq.Job, token?: string) => Promise<unknown>;

export const MAIN = 'main';

export abstract class Side {
  abstract readonly label: 'bullmq' | 'yoke';
  readonly prefix: string;
  readonly redis: Redis;
  /** Jobs that this side holds, by id: fetched and not yet finished. */
  readonly held = new Map<string, bullmq.Job>();
  protected readonly connection: bullmq.ConnectionOptions;
  readonly #closing: { close(): Promise<unknown> }[] = [];
  readonly #known = new Map<string, unknown>();

  constructor(server: TestServer, prefix: string) {
    this.prefix = prefix;
    this.redis = server.admin;
    this.connection = server.connection as bullmq.ConnectionOptions;
  }

  protected abstract makeQueue(name: string, opts: QueueSettings): bullmq.Queue;
  protected abstract makeWorker(name: string, handler: Handler | null, opts: WorkerSettings): bullmq.Worker;
  /** One round of the stall check. */
  abstract checkStalled(worker: bullmq.Worker): Promise<string[]>;

  queue(name = MAIN, opts: QueueSettings = {}): bullmq.Queue {
    return this.#once(`queue ${name} ${JSON.stringify(opts)}`, () => this.makeQueue(name, opts));
  }

  /** A worker that fetches only when it is told to. */
  worker(name = MAIN, opts: WorkerSettings = {}): bullmq.Worker {
    return this.#once(`worker ${name} ${JSON.stringify(opts)}`, () =>
      this.makeWorker(name, null, { autorun: false, ...opts }),
    );
  }

  /** A worker that runs by itself. */
  runningWorker(name: string, handler: Handler, opts: WorkerSettings = {}): bullmq.Worker {
    return this.#track(this.makeWorker(name, handler, opts));
  }

  /** BullMQ's own queue on this side's prefix. */
  reference(name = MAIN): bullmq.Queue {
    return this.#once(
      `reference ${name}`,
      () => new bullmq.Queue(name, { connection: this.connection, prefix: this.prefix }),
    );
  }

  /** BullMQ's own worker on this side's prefix, fetching only when it is told to. */
  referenceWorker(name = MAIN): bullmq.Worker {
    return this.#once(
      `reference worker ${name}`,
      () =>
        new bullmq.Worker(name, null, { connection: this.connection, prefix: this.prefix, autorun: false }),
    );
  }

  get flows(): bullmq.FlowProducer {
    return this.#once(
      'flows',
      () => new bullmq.FlowProducer({ connection: this.connection, prefix: this.prefix }),
    );
  }

  key(suffix: string, name = MAIN): string {
    return `${this.prefix}:${name}:${suffix}`;
  }

  async job(id: string, name = MAIN): Promise<bullmq.Job> {
    const job = await this.queue(name).getJob(id);
    if (!job) throw new Error(`there is no job ${id}`);
    return job;
  }

  holding(id: string): bullmq.Job {
    const job = this.held.get(id);
    if (!job) throw new Error(`job ${id} was not fetched`);
    return job;
  }

  async close(): Promise<void> {
    for (const object of this.#closing.reverse()) await object.close();
  }

  #once<T extends { close(): Promise<unknown> }>(key: string, make: () => T): T {
    if (!this.#known.has(key)) this.#known.set(key, this.#track(make()));
    return this.#known.get(key) as T;
  }

  #track<T extends { close(): Promise<unknown> }>(object: T): T {
    this.#closing.push(object);
    // What a step meets it returns or throws; the error event only repeats it.
    (object as unknown as EventEmitter).on('error', () => {});
    return object;
  }
}

export class BullMQSide extends Side {
  readonly label = 'bullmq';

  protected makeQueue(name: string, opts: QueueSettings): bullmq.Queue {
    return new bullmq.Queue(name, { connection: this.connection, prefix: this.prefix, ...opts });
  }

  protected makeWorker(name: string, handler: Handler | null, opts: WorkerSettings): bullmq.Worker {
    return new bullmq.Worker(name, handler, { connection: this.connection, prefix: this.prefix, ...opts });
  }

  async checkStalled(worker: bullmq.Worker): Promise<string[]> {
    const { backend } = worker as unknown as { backend: { moveStalledJobsToWait(): Promise<string[]> } };
    return backend.moveStalledJobsToWait();
  }
}

// Yoke's classes stand in for BullMQ's; that they can is what is tested.
export class YokeSide extends Side {
  readonly label = 'yoke';

  protected makeQueue(name: string, opts: QueueSettings): bullmq.Queue {
    const own = {
      connection: this.connection,
      prefix: this.prefix,
      clock: 'client',
      ...opts,
    } as yoke.QueueOptions;
    return new yoke.Queue(name, own) as unknown as bullmq.Queue;
  }

  protected makeWorker(name: string, handler: Handler | null, opts: WorkerSettings): bullmq.Worker {
    const own = {
      connection: this.connection,
      prefix: this.prefix,
      clock: 'client',
      ...opts,
    } as yoke.WorkerOptions;
    return new yoke.Worker(name, handler as never, own) as unknown as bullmq.Worker;
  }

  async checkStalled(worker: bullmq.Worker): Promise<string[]> {
    const { maxStalledCount = 1, stalledInterval = 30_000 } = worker.opts;
    const { leases } = worker as unknown as yoke.Worker;
    return (await leases.maintain(maxStalledCount, stalledInterval)).recovered;
  }
}
