// One object's way to its queue: every call has a deadline, and a call whose reply was lost is sent again under
// the same number, so that the server can tell a repetition from a new wish.

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../model/clock.ts';
import { ConnectionClosedError, yokeError } from '../model/errors.ts';
import type { RedisClient } from './client.ts';
import type { Connection } from './connection.ts';
import { Engine, type EngineMode } from './engine.ts';
import { type Errand, Flight, outcomeUnknown } from './flight.ts';
import type { EngineCall } from './lua-source.ts';
import { PAUSE_AFTER_LOSS_MS, Perseverance, type PerseveranceSettings } from './perseverance.ts';
import { readReply } from './replies.ts';
import { RoundTrip } from './round-trip.ts';
import { isLinkError } from './server-errors.ts';
import { expectAnswer, noteAnswer } from './vigil.ts';

export interface SessionSettings extends PerseveranceSettings {
  /** The queue's qualified name. */
  readonly root: string;
  /** Milliseconds after which a silent link is dropped and its calls are sent again. */
  readonly callTimeoutMs: number;
  readonly clock: Clock;
  /** The client's clock decides: every call tells the server what time it is. */
  readonly tellsTime: boolean;
  readonly mode: EngineMode;
}

// The server keeps the outcomes of 256 calls of one client (lua/lib/replay.lua); more must not be on their way.
const MOST_IN_FLIGHT = 128;
const LAYOUT = '1';

export interface TimedReply {
  readonly body: unknown[];
  /** The server's time at which the call ran; what it stored as "now". */
  readonly at: number;
}

export class Session {
  readonly #connection: Connection;
  readonly #settings: SessionSettings;
  readonly #clientId = randomUUID();
  /**
   * In the order of their numbers. No Set: in V8 one whose members come and go is rebuilt every few members, each old table
   * leads to the next, and one that a collection has kept keeps all that follow, with every call and its jobs.
   */
  readonly #flights: Flight[] = [];
  readonly #siblings = new Map<string, Session>();
  /** How far away the server is, and so how many calls a batch may have on their way. */
  readonly roundTrip = new RoundTrip();
  #waiting: Flight[] = [];
  #sequence = 0;
  #beforeCall: () => void = () => {};
  #engine: Engine | undefined;
  #starting: Promise<Engine> | undefined;
  #watchdog: NodeJS.Timeout | undefined;
  #isStopped = false;
  #carrier: Session | undefined;
  readonly #perseverance: Perseverance;

  constructor(connection: Connection, settings: SessionSettings) {
    this.#connection = connection;
    this.#settings = settings;
    this.#perseverance = new Perseverance(connection, settings);
  }

  get root(): string {
    return this.#settings.root;
  }

  get clock(): Clock {
    return this.#settings.clock;
  }

  get mode(): EngineMode | undefined {
    return this.#engine?.mode;
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** The same link and settings for another queue; ends with this one. */
  of(root: string): Session {
    if (root === this.root) return this;
    let sibling = this.#siblings.get(root);
    if (!sibling) {
      sibling = new Session(this.#connection, { ...this.#settings, root });
      this.#siblings.set(root, sibling);
    }
    return sibling;
  }

  /** What waits to be sent goes before any other call, so that calls happen in the order in which they were made. */
  sendFirst(send: () => void): void {
    this.#beforeCall = send;
  }

  /** All that is sent meanwhile over this link leaves in one packet: the server is woken once, and answers once. */
  together(send: () => void): void {
    const stream = this.#connection.client?.stream;
    stream?.cork?.();
    try {
      send();
    } finally {
      stream?.uncork?.();
    }
  }

  /**
   * What is sent meanwhile goes over another's link to the same server, where that is ours to drop if it falls silent. If
   * that link is lost it is sent again over its own, as any call whose reply was lost.
   */
  rideWith(carrier: Session, send: () => void): void {
    this.#carrier = carrier.#connection.isOwned ? carrier : undefined;
    try {
      send();
    } finally {
      this.#carrier = undefined;
    }
  }

  /** Runs a call that changes something, exactly once, and returns its reply. */
  async run(call: EngineCall, args: readonly string[]): Promise<unknown[]> {
    return (await this.runTimed(call, args)).body;
  }

  runTimed(call: EngineCall, args: readonly string[], askedAt = performance.now()): Promise<TimedReply> {
    return new Promise((resolve, reject) => this.post(call, args, askedAt, resolve, reject));
  }

  /**
   * The same for what is called all the time: without a promise of its own. One of the two is called, once.
   */
  post(
    call: EngineCall,
    args: readonly string[],
    askedAt: number,
    answered: (reply: TimedReply) => void,
    failed: (error: unknown) => void,
  ): void {
    this.#beforeCall();
    const read = (reply: unknown) => {
      let timed: TimedReply;
      try {
        timed = this.#read(call, reply);
      } catch (error) {
        failed(error);
        return;
      }
      answered(timed);
    };
    this.#fly({ name: call.name, call, args }, askedAt, read, failed);
  }

  async query(call: EngineCall, args: readonly string[]): Promise<unknown[]> {
    return this.#read(call, await this.#ask({ name: call.name, call, args })).body;
  }

  /** A single command of the server, one that may run twice without harm. */
  async command(name: string, args: readonly (string | number)[]): Promise<unknown> {
    return this.#ask({ name, args });
  }

  /** The client and the engine, once both are ready. */
  async ready(): Promise<RedisClient> {
    await this.#start();
    return this.#connection.ready();
  }

  /** Nothing is sent any more; what is on its way or waits to be is given up. */
  stop(): void {
    this.#isStopped = true;
    for (const sibling of this.#siblings.values()) sibling.stop();
    clearTimeout(this.#watchdog);
    this.#watchdog = undefined;
    for (const flight of [...this.#flights]) flight.giveUp(new ConnectionClosedError());
    for (const flight of this.#waiting.splice(0)) this.#begin(flight);
  }

  #read(call: EngineCall, reply: unknown): TimedReply {
    const { word, now, body } = readReply(reply);
    const at = Number(now);
    this.clock.observe(at);
    if (word === 'ok') return { body: body as unknown[], at };
    if (word === 'layout_unknown')
      throw yokeError('LAYOUT_UNKNOWN', { queue: this.root, known: LAYOUT, found: body });
    throw yokeError('CALL_REFUSED', { call: call.name, reason: word });
  }

  #toldTime(): string {
    return this.#settings.tellsTime ? String(Math.floor(this.clock.now())) : '';
  }

  // Below this number no reply is awaited any more. Flights are in the order of their numbers.
  #floor(sequence: number): number {
    for (const flight of this.#flights) if (flight.sequence > 0) return flight.sequence - 1;
    return sequence - 1;
  }

  #start(): Promise<Engine> {
    this.#starting ??= this.#connection.ready().then(async (client) => {
      const engine = new Engine(client, this.#settings.mode);
      await this.#load(engine, client);
      this.#engine = engine;
      return engine;
    });
    this.#starting.catch(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  // No flight watches over this one: whoever starts waits for it before the first call.
  async #load(engine: Engine, client: RedisClient): Promise<void> {
    const connection = this.#connection;
    for (;;) {
      const deadline = setTimeout(() => connection.isUp && connection.drop(), this.#settings.callTimeoutMs);
      deadline.unref();
      try {
        await engine.load();
        return;
      } catch (error) {
        const isOver = this.#isStopped || connection.isClosed || client.status === 'end';
        if (isOver || !isLinkError(error) || connection.isFailFast) throw error;
      } finally {
        clearTimeout(deadline);
      }
      await pause(PAUSE_AFTER_LOSS_MS);
      await connection.whenUp(this.#perseverance.giveUpAfterMs);
    }
  }

  #ask(errand: Errand): Promise<unknown> {
    this.#beforeCall();
    return new Promise((resolve, reject) => this.#fly(errand, performance.now(), resolve, reject));
  }

  // In the order in which they were asked for; numbers are given when a call is sent.
  #fly(
    errand: Errand,
    askedAt: number,
    answered: (reply: unknown) => void,
    failed: (error: unknown) => void,
  ): void {
    const flight = new Flight(errand, askedAt, answered, failed);
    if (this.#flights.length < MOST_IN_FLIGHT && this.#waiting.length === 0) this.#begin(flight);
    else this.#waiting.push(flight);
  }

  #begin(flight: Flight): void {
    if (this.#isStopped) {
      flight.giveUp(new ConnectionClosedError());
      return;
    }
    this.#number(flight);
    flight.startedAt = performance.now();
    if (flight.sequence > 0) timeWay(flight, this.#flights.length === 0);
    this.#flights.push(flight);
    this.#watch();
    if (this.roundTrip.isAtHand) expectAnswer(flight);
    this.#answer(flight).then(
      (reply) => {
        this.#land(flight);
        flight.succeed(reply);
      },
      (error) => {
        this.#land(flight);
        flight.giveUp(error);
      },
    );
  }

  #number(flight: Flight): void {
    if (!flight.call) return;
    const head: (string | number)[] = ['', '1', this.root];
    if (!flight.call.isQuery) {
      flight.sequence = ++this.#sequence;
      head.push(this.#clientId, String(flight.sequence), String(this.#floor(flight.sequence)));
    }
    head.push(this.#toldTime());
    flight.argv = head.concat(flight.argv);
  }

  #land(flight: Flight): void {
    const now = performance.now();
    const at = this.#flights.indexOf(flight);
    if (at >= 0) this.#flights.splice(at, 1);
    noteAnswer(flight, now);
    // What rode over another's link tells nothing of the way that ours takes.
    const isOwnWay = flight.connection === undefined || flight.connection === this.#connection;
    if (flight.sequence > 0 && isOwnWay) this.roundTrip.note(now - flight.wayFrom, flight.isAlone);
    if (this.#waiting.length > 0 && this.#flights.length < MOST_IN_FLIGHT)
      this.#begin(this.#waiting.shift() as Flight);
  }

  // Nearly always everything is there, and the call is sent without another step.
  #answer(flight: Flight): Promise<unknown> {
    const link = this.#carrier ?? this;
    const engine = link.#engine;
    const { client, isUp } = link.#connection;
    const isTimely = flight.startedAt - flight.askedAt < this.#perseverance.giveUpAfterMs;
    if (!engine || !client || !isUp || !isTimely) return this.#tryUntilAnswered(flight);
    flight.connection = link.#connection;
    return flight.send(engine, client).catch(async (error) => {
      await this.#overcome(flight, error);
      return this.#tryUntilAnswered(flight);
    });
  }

  async #tryUntilAnswered(flight: Flight): Promise<unknown> {
    for (;;) {
      try {
        await this.#perseverance.untilSendable(flight);
        const engine = this.#engine ?? (await this.#start());
        const client = this.#connection.client ?? (await this.#connection.ready());
        flight.connection = this.#connection;
        return await flight.send(engine, client);
      } catch (error) {
        await this.#overcome(flight, error);
      }
    }
  }

  // Returns if the call is worth another try; throws what the user is told if not.
  async #overcome(flight: Flight, error: unknown): Promise<void> {
    let trouble = error;
    try {
      // Twice: the library can be flushed once between load and call, not over and over.
      if (flight.call && flight.mendCount < 2 && (await this.#engine?.mend(error))) {
        flight.mendCount++;
        return;
      }
    } catch (failure) {
      trouble = failure;
    }
    await this.#perseverance.orGiveUp(flight, trouble);
  }

  // One timer for all flights. A link that stays silent past the deadline is dropped; what is unanswered is sent
  // again on the next.
  #watch(): void {
    if (this.#watchdog) return;
    const { callTimeoutMs } = this.#settings;
    this.#watchdog = setTimeout(
      () => {
        this.#watchdog = undefined;
        const now = performance.now();
        const silent = new Set<Connection>();
        for (const flight of [...this.#flights]) {
          const waitedMs = now - flight.askedAt;
          const { connection = this.#connection } = flight;
          if (waitedMs > this.#perseverance.giveUpAfterMs) {
            this.#land(flight);
            flight.giveUp(outcomeUnknown(flight, waitedMs));
          } else if (now - Math.max(flight.startedAt, connection.readyAt) > callTimeoutMs) {
            silent.add(connection);
          }
        }
        for (const connection of silent) if (connection.isUp) connection.drop();
        if (this.#flights.length > 0) this.#watch();
      },
      Math.max(callTimeoutMs / 2, 10),
    );
    this.#watchdog.unref();
  }
}

// What is left to do in this turn is no part of the way: until its end no reply can be read.
function timeWay(flight: Flight, isAlone: boolean): void {
  flight.isAlone = isAlone;
  flight.wayFrom = flight.startedAt;
  if (!isAlone) return;
  process.nextTick(() => {
    flight.wayFrom = performance.now();
  });
}
