// What the queues say of themselves: every event of every stream, from its first entry on, as QueueEvents tells it.

import { QueueEvents, QueueEventsProducer } from '../../src/index.ts';

export interface Told {
  readonly queue: string;
  readonly event: string;
  /** The server's time, from the entry's id. */
  readonly atMs: number;
  readonly jobId?: string;
  readonly groupId?: string;
  readonly [field: string]: unknown;
}

const NAMES = [
  'added',
  'waiting',
  'delayed',
  'active',
  'completed',
  'failed',
  'stalled',
  'removed',
  'group:completed',
  'group:compensating',
  'group:failed',
  'group:recovered',
] as const;

const END = 'end of the test';

// The last word on a stream must not trim what was said before.
export const MOST_EVENTS = 50_000_000;

export class Streams {
  readonly #connection: object;
  readonly #readers: QueueEvents[];
  readonly told: Told[] = [];
  #onTold: ((told: Told) => void) | undefined;

  constructor(connection: object, queues: readonly string[]) {
    this.#connection = connection;
    this.#readers = queues.map((queue) => this.#read(queue));
  }

  #read(queue: string): QueueEvents {
    const reader = new QueueEvents(queue, { connection: this.#connection, lastEventId: '0-0' });
    for (const event of NAMES) {
      reader.on(event, (args: object, id: string) => {
        const told = { ...args, queue, event, atMs: Number(id.split('-')[0]) };
        this.told.push(told);
        this.#onTold?.(told);
      });
    }
    reader.on('error', () => {});
    return reader;
  }

  /**
   * Resolves when all these groups have ended, or when nothing at all has been told for `patienceMs`: then something
   * is stuck, and it is for the checker to say what.
   */
  async allEnded(count: number, patienceMs: number): Promise<void> {
    const ended = new Set<string>();
    await new Promise<void>((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const listen = (told: Told) => {
        if (told.event === 'group:completed' || told.event === 'group:failed')
          ended.add(`${told.queue} ${told.groupId}`);
        clearTimeout(timer);
        if (ended.size >= count) resolve();
        else timer = setTimeout(resolve, patienceMs);
      };
      for (const told of this.told) listen(told);
      this.#onTold = listen;
    });
    this.#onTold = undefined;
  }

  /** Reads up to what is the end now, and stops. */
  async close(): Promise<void> {
    await Promise.all(
      this.#readers.map(async (reader) => {
        const producer = new QueueEventsProducer(reader.name, { connection: this.#connection });
        const isRead = new Promise<void>((resolve) => reader.once(END as never, () => resolve()));
        await producer.publishEvent({ eventName: END }, MOST_EVENTS);
        await isRead;
        await producer.close();
        await reader.close();
      }),
    );
  }
}
