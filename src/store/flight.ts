// One errand to the server, from when it was asked for until its caller has been told, once.

import { OutcomeUnknownError } from '../model/errors.ts';
import type { RedisClient } from './client.ts';
import type { Connection } from './connection.ts';
import type { Engine } from './engine.ts';
import type { EngineCall } from './lua-source.ts';

/** What the engine runs, or a command of the server. */
export interface Errand {
  readonly name: string;
  readonly call?: EngineCall;
  readonly args: readonly (string | number)[];
}

export class Flight {
  readonly name: string;
  readonly call: EngineCall | undefined;
  /** When its caller began to wait; it may have waited to be sent. */
  readonly askedAt: number;
  /** What is sent: complete once it has been numbered. */
  argv: readonly (string | number)[];
  /** Given when it is first sent; 0 for what may run twice without harm. */
  sequence = 0;
  startedAt = 0;
  /** From when on its answer tells how far away the server is. */
  wayFrom = 0;
  /** Nothing else was on its way when it was sent. */
  isAlone = false;
  /** How often something was set right for it on the server. */
  mendCount = 0;
  /** Over which it was sent last. */
  connection: Connection | undefined;
  /** The process stays awake for its answer. */
  isAwaited = false;
  readonly #answered: (reply: unknown) => void;
  readonly #failed: (error: unknown) => void;
  #isOver = false;

  constructor(
    { name, call, args }: Errand,
    askedAt: number,
    answered: (reply: unknown) => void,
    failed: (error: unknown) => void,
  ) {
    this.name = name;
    this.call = call;
    this.argv = args;
    this.askedAt = askedAt;
    this.#answered = answered;
    this.#failed = failed;
  }

  send(engine: Engine, client: RedisClient): Promise<unknown> {
    // What is too large to be written fails before there is a promise.
    try {
      return this.call ? engine.send(this.call, this.argv as string[]) : client.call(this.name, this.argv);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  succeed(reply: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#answered(reply);
  }

  giveUp(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failed(error);
  }
}

export function outcomeUnknown(flight: Flight, waitedMs: number, cause?: unknown): OutcomeUnknownError {
  return new OutcomeUnknownError({ call: flight.name, waitedMs: Math.round(waitedMs) }, { cause });
}
