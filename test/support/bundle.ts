// What most suites need: a server of the current leg for the file, and queues, workers and readers that are closed
// after each test. Names are unique, so that tests never meet each other's jobs.

import { afterAll, afterEach, beforeAll } from 'vitest';
import {
  type Processor,
  Queue,
  QueueEvents,
  type QueueEventsOptions,
  type QueueOptions,
  Worker,
  type WorkerOptions,
} from '../../src/index.ts';
import { startLegServer, type TestServer } from './leg.ts';

interface Closable {
  close(): Promise<unknown>;
}

let counter = 0;

export interface Bundle {
  readonly server: TestServer;
  /** A queue name nobody else uses. */
  name(): string;
  queue(name?: string, opts?: QueueOptions): Queue;
  worker(
    name: string,
    processor: Processor<any, any, string> | null | undefined,
    opts?: WorkerOptions,
  ): Worker;
  events(name: string, opts?: QueueEventsOptions): QueueEvents;
  /** Closed after the test, newest first. */
  track<T extends Closable>(object: T): T;
}

export function useBundle(): Bundle {
  let server: TestServer | undefined;
  let open: Closable[] = [];

  beforeAll(async () => {
    server = await startLegServer();
  });
  afterEach(async () => {
    const closing = open.reverse();
    open = [];
    for (const object of closing) await object.close();
  });
  afterAll(async () => {
    await server?.stop();
  });

  const bundle: Bundle = {
    get server() {
      if (!server) throw new Error('the server starts before the first test');
      return server;
    },
    name: () => `q${process.pid}-${++counter}`,
    queue: (name = bundle.name(), opts = {}) =>
      bundle.track(new Queue(name, { connection: bundle.server.connection, ...opts })),
    worker: (name, processor, opts = {}) =>
      bundle.track(new Worker(name, processor, { connection: bundle.server.connection, ...opts })),
    events: (name, opts = {}) =>
      bundle.track(new QueueEvents(name, { connection: bundle.server.connection, ...opts })),
    track: (object) => {
      open.push(object);
      return object;
    },
  };
  return bundle;
}
