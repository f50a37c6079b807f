// What everything with a connection has in common: it opens and closes, and its listeners cannot crash the process.

import { EventEmitter } from 'node:events';
import { ClientClock, ServerClock } from '../model/clock.ts';
import { yokeError } from '../model/errors.ts';
import { type BoundLogger, boundLogger, LogEvent } from '../model/logger.ts';
import type { ResolvedBaseOptions } from '../model/options/base-options.ts';
import type { UnknownOption } from '../model/options/unknown-options.ts';
import type { RedisClient } from '../store/client.ts';
import { Connection, type ConnectionInput, lacksServer } from '../store/connection.ts';
import type { EngineMode } from '../store/engine.ts';
import { Session } from '../store/session.ts';

/** `YOKE_ENGINE=scripts` runs the engine without server functions, for tests and for servers that forbid them. */
function engineMode(): EngineMode {
  return process.env.YOKE_ENGINE === 'scripts' ? 'scripts' : 'functions';
}

// biome-ignore lint/suspicious/noExplicitAny: what EventEmitter itself says of listeners.
export type AnyListeners = Record<string, (...args: any[]) => void>;

/** `Listeners` is the interface of the object's events: name -> listener. */
export abstract class LinkOwner<
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  Listeners extends { [E in keyof Listeners]: (...args: any[]) => void } = AnyListeners,
> extends EventEmitter {
  /** A shallow copy of the options as they were given; unknown keys are kept. */
  // biome-ignore lint/suspicious/noExplicitAny: wrappers put their own keys here and read them back.
  readonly opts: any;
  /** Set once close has begun. */
  closing: Promise<void> | undefined;

  /** @internal */ readonly connection: Connection;
  /** @internal */ readonly log: BoundLogger;

  /** How long an outage may hold up a close. */
  readonly #outageMs: number;

  protected constructor(
    given: object,
    resolved: ResolvedBaseOptions & { readonly unknown: readonly UnknownOption[] },
    logFields: Record<string, unknown>,
  ) {
    super();
    const server = (resolved.connection ?? undefined) as ConnectionInput;
    // Who was deployed without a server should learn it at the start, not by the first job.
    if (lacksServer(server)) throw yokeError('CONNECTION_REQUIRED', { what: new.target.name });
    this.setMaxListeners(0);
    this.opts = { ...given };
    this.opts.prefix ??= resolved.prefix;
    this.log = boundLogger(resolved.logger, logFields);
    this.connection = this.openConnection(server, resolved, false);
    this.#outageMs = resolved.callTimeout;
    for (const { name: option, nearest } of resolved.unknown) {
      this.log.warn(LogEvent.unknownOption, { option, nearest });
    }
  }

  /** The ioredis client; dashboards ask it for the server's facts. */
  get client(): Promise<RedisClient> {
    return this.connection.ready();
  }

  get redisVersion(): string {
    return this.connection.facts?.version ?? '';
  }

  get databaseType(): string {
    return this.connection.facts?.databaseType ?? 'redis';
  }

  override on<E extends keyof Listeners & string>(event: E, listener: Listeners[E]): this {
    return super.on(event, listener);
  }

  override once<E extends keyof Listeners & string>(event: E, listener: Listeners[E]): this {
    return super.once(event, listener);
  }

  override off<E extends keyof Listeners & string>(event: E, listener: Listeners[E]): this {
    return super.off(event, listener);
  }

  override emit<E extends keyof Listeners & string>(event: E, ...args: Parameters<Listeners[E]>): boolean {
    return this.tell(event, ...args);
  }

  /** A listener that throws becomes an `error` event; where nobody listens to that, it is printed. */
  protected tell(event: string, ...args: unknown[]): boolean {
    try {
      return super.emit(event, ...args);
    } catch (error) {
      try {
        return super.emit('error', error);
      } catch (unheard) {
        console.error(unheard);
        return false;
      }
    }
  }

  close(): Promise<void> {
    this.closing ??= this.#beginClosing(false);
    return this.closing;
  }

  /** Cuts the connection without waiting for anything. */
  async disconnect(): Promise<void> {
    this.closing ??= this.#beginClosing(true);
    return this.closing;
  }

  #beginClosing(isForced: boolean): Promise<void> {
    this.tell('closing');
    return this.shutDown(isForced);
  }

  protected abstract shutDown(isForced: boolean): Promise<void>;

  /** Whether calls wait for a lost server although the user's connection options want errors at once. */
  protected get isPatient(): boolean {
    return false;
  }

  /** For the end of an object's life: the work is done, or the server has been gone for as long as a call may take. */
  protected async unlessOutage(work: Promise<unknown>): Promise<void> {
    await this.connection.unlessDownFor(this.#outageMs, work);
  }

  /** A way to the queue with this root. */
  protected openSession(root: string, resolved: ResolvedBaseOptions): Session {
    return new Session(this.connection, {
      root,
      callTimeoutMs: resolved.callTimeout,
      clock: resolved.clock === 'client' ? new ClientClock() : new ServerClock(),
      tellsTime: resolved.clock === 'client',
      mode: engineMode(),
      isPatient: this.isPatient,
    });
  }

  /** Opens a connection whose troubles become events of this object. */
  protected openConnection(
    input: ConnectionInput,
    resolved: ResolvedBaseOptions,
    isBlocking: boolean,
    clientName?: string,
  ): Connection {
    const connection = new Connection(input, {
      isBlocking,
      isPatient: isBlocking || this.isPatient,
      greetingTimeoutMs: resolved.callTimeout,
      clientName,
      skipVersionCheck: resolved.skipVersionCheck,
      isStrict: resolved.strict,
      warn: (message) => {
        console.warn(message);
      },
    });
    let isDown = false;
    connection.on('error', (error: Error) => this.emitError(error));
    connection.on('down', () => {
      if (this.closing) return;
      isDown = true;
      this.log.error(LogEvent.redisDisconnected);
      this.tell('ioredis:close');
    });
    connection.on('ready', () => {
      if (isDown) this.log.info(LogEvent.redisReconnected);
      isDown = false;
    });
    return connection;
  }

  protected emitError(error: Error): void {
    if (!this.closing) this.tell('error', error);
  }
}
