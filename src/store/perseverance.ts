// Whether a call that got no answer is worth another try, and what its caller is told when it is not.

import { setTimeout as pause } from 'node:timers/promises';
import { ConnectionClosedError, OutcomeUnknownError } from '../model/errors.ts';
import type { Connection } from './connection.ts';
import { type Flight, outcomeUnknown } from './flight.ts';
import { isLinkError, patienceFor, translateServerError } from './server-errors.ts';

// Shorter than the five minutes for which the server remembers outcomes.
const GIVE_UP_AFTER_MS = 120_000;
const PAUSE_BETWEEN_TRIES_MS = 100;
// No more than it takes to know that the link is down; then the wait is for the link.
export const PAUSE_AFTER_LOSS_MS = 10;

export interface PerseveranceSettings {
  /** Waits for a server that takes no writes as long as for one that is gone, because its caller cannot do better. */
  readonly isPatient?: boolean;
  /** Milliseconds after which a call without an answer is given up. Default two minutes. */
  readonly giveUpAfterMs?: number;
}

export class Perseverance {
  readonly giveUpAfterMs: number;
  readonly #connection: Connection;
  readonly #isPatient: boolean;

  constructor(connection: Connection, { isPatient, giveUpAfterMs }: PerseveranceSettings) {
    this.#connection = connection;
    this.#isPatient = isPatient === true;
    this.giveUpAfterMs = giveUpAfterMs ?? GIVE_UP_AFTER_MS;
  }

  // During an outage calls wait here and not in the client library: what is given up meanwhile must not run after it.
  // A user's instance keeps its own rules.
  async untilSendable(flight: Flight): Promise<void> {
    const connection = this.#connection;
    const waitedMs = () => performance.now() - flight.askedAt;
    if (connection.client && !connection.isUp && connection.isOwned && !connection.isFailFast) {
      await connection.whenUp(this.giveUpAfterMs - waitedMs());
      if (!connection.isUp && !connection.isClosed) throw outcomeUnknown(flight, waitedMs());
    }
    if (waitedMs() > this.giveUpAfterMs) throw outcomeUnknown(flight, waitedMs());
  }

  /** Returns if the call is worth another try, after a pause; throws what the user is told if not. */
  async orGiveUp(flight: Flight, error: unknown): Promise<void> {
    if (this.#connection.isClosed || error instanceof ConnectionClosedError)
      throw new ConnectionClosedError();
    if (error instanceof OutcomeUnknownError) throw error;
    const waitedMs = performance.now() - flight.askedAt;
    const isLink = isLinkError(error);
    if (isLink && this.#connection.isFailFast) throw error;
    if (waitedMs > this.#patience(error, isLink)) {
      throw isLink ? outcomeUnknown(flight, waitedMs, error) : translateServerError(error, flight.name);
    }
    if (String(error).includes('READONLY')) (flight.connection ?? this.#connection).drop();
    await pause(isLink ? PAUSE_AFTER_LOSS_MS : PAUSE_BETWEEN_TRIES_MS);
  }

  #patience(error: unknown, isLink: boolean): number {
    const patience = patienceFor(error);
    return isLink || (this.#isPatient && patience > 0) ? this.giveUpAfterMs : patience;
  }
}
