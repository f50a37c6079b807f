// QueueEvents: what happens in a queue, whoever does it, read from its stream. A reader resumes after the last event it
// saw, also when its connection was lost.

import { QueueBase } from '../core/queue-base.ts';
import { yokeError } from '../model/errors.ts';
import {
  type QueueEventsOptions,
  type ResolvedQueueEventsOptions,
  resolveQueueEventsOptions,
} from '../model/options/queue-events-options.ts';
import type { RedisClient } from '../store/client.ts';
import type { Connection, ConnectionInput } from '../store/connection.ts';
import { EventStore, type StreamEvent } from '../store/event-store.ts';
import { clientNameOf } from '../store/keys.ts';
import type { QueueEventsListener } from './event-types.ts';

const PAUSE_AFTER_ERROR_MS = 200;

// biome-ignore lint/suspicious/noExplicitAny: what EventEmitter itself says of listeners.
type AnyListener = (...args: any[]) => void;
type Names<Listeners> = keyof Listeners & string;
type Listener<Listeners, Name extends keyof Listeners> = Listeners[Name] extends AnyListener
  ? Listeners[Name]
  : never;

/** Every event about a job is also told under its own name: `completed:17`. */
type OfOneJob = `${keyof QueueEventsListener & string}:${string}`;

/** Events of one's own: `events.on<{ custom: (args: { text: string }, id: string) => void }>('custom', …)`. */
// biome-ignore lint/suspicious/noExplicitAny: as in BullMQ, the result's type is the user's business.
export class QueueEvents<ReturnType = any> extends QueueBase {
  readonly #options: ResolvedQueueEventsOptions;
  readonly #blocking: Connection;
  readonly #stream: EventStore;
  #isRunning = false;
  #lastId: string;
  #positioned: Promise<void> | undefined;

  constructor(name: string, opts: QueueEventsOptions = {}, _backendFactory?: unknown) {
    const options = resolveQueueEventsOptions(opts);
    super(name, opts, options);
    this.#options = options;
    this.#lastId = options.lastEventId;
    const clientName = clientNameOf(options.prefix, name, ':qe');
    this.#blocking = this.openConnection(
      (options.connection ?? undefined) as ConnectionInput,
      options,
      true,
      clientName,
    );
    this.#stream = new EventStore(this.#blocking, this.qualifiedName);
    if (options.autorun) this.run().catch((error) => this.emitError(error));
  }

  override on<QEL extends object = QueueEventsListener<ReturnType>, U extends Names<QEL> = Names<QEL>>(
    event: U,
    listener: Listener<QEL, U>,
  ): this;
  override on(event: OfOneJob, listener: AnyListener): this;
  override on(event: string, listener: AnyListener): this {
    return super.on(event, listener);
  }

  override once<QEL extends object = QueueEventsListener<ReturnType>, U extends Names<QEL> = Names<QEL>>(
    event: U,
    listener: Listener<QEL, U>,
  ): this;
  override once(event: OfOneJob, listener: AnyListener): this;
  override once(event: string, listener: AnyListener): this {
    return super.once(event, listener);
  }

  override off<QEL extends object = QueueEventsListener<ReturnType>, U extends Names<QEL> = Names<QEL>>(
    event: U,
    listener: Listener<QEL, U>,
  ): this;
  override off(event: OfOneJob, listener: AnyListener): this;
  override off(event: string, listener: AnyListener): this {
    return super.off(event, listener);
  }

  override async waitUntilReady(): Promise<RedisClient> {
    const client = await this.#blocking.ready();
    await this.#position();
    return client;
  }

  /** Reads until closed. */
  async run(): Promise<void> {
    if (this.#isRunning) throw yokeError('ALREADY_RUNNING', { what: 'Queue Events' });
    this.#isRunning = true;
    while (!this.closing) {
      try {
        await this.#position();
        const events = await this.#stream.read(this.#lastId, this.#options.blockingTimeout);
        for (const event of events) this.#tell(event);
      } catch (error) {
        if (this.closing) return;
        this.emitError(error as Error);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_AFTER_ERROR_MS));
      }
    }
  }

  protected override async shutDown(_isForced: boolean): Promise<void> {
    this.session.stop();
    await this.#blocking.close(true);
    await this.connection.close(true);
    this.emit('closed');
  }

  // `$` means now: it is turned into an id once, or every read would start at a new now and miss what came between.
  #position(): Promise<void> {
    this.#positioned ??= (async () => {
      if (this.#lastId === '$') this.#lastId = await this.#stream.newestId();
    })();
    this.#positioned.catch(() => {
      this.#positioned = undefined;
    });
    return this.#positioned;
  }

  #tell({ id, name, fields }: StreamEvent): void {
    this.#lastId = id;
    const args: Record<string, unknown> = fields;
    if (name === 'progress') args.data = parse(fields.data);
    else if (name === 'completed') args.returnvalue = parse(fields.returnvalue);
    else if (name === 'group:failed') args.compensationResults = parse(fields.compensationResults);
    else if (name === 'delayed') args.delay = Number(fields.delay);
    if (name === 'drained') this.emit(name, id);
    else {
      this.emit(name, args, id);
      if (fields.jobId) this.emit(`${name}:${fields.jobId}`, args, id);
    }
  }
}

function parse(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? 'null');
  } catch {
    return text;
  }
}
