// What time the server thinks it is. Delays and leases are measured by the server, so a client waits by the
// server's time carried forward on its own monotonic clock; a wrong or adjusted wall clock changes nothing.

export interface Clock {
  /** Takes in the server's time from a reply that has just arrived. */
  observe(serverNowMs: number): void;
  /** Whole milliseconds since the epoch. */
  now(): number;
  /** Whole milliseconds from now until that time; 0 if it has passed. */
  untilMs(serverTimeMs: number): number;
}

// A reply is never older than the deadline of a call, so an observation this far behind means that the server's
// clock was set back, not that the reply was slow.
const MAX_REPLY_AGE_MS = 5_000;

// Two clocks drift apart by some 50 ms in a quarter of an hour; half a minute keeps that near one millisecond.
const BEST_VALID_MS = 30_000;

export class ServerClock implements Clock {
  readonly #monotonic: () => number;
  #offsetMs: number | undefined;
  #takenAt = 0;

  constructor(monotonic: () => number = () => performance.now()) {
    this.#monotonic = monotonic;
  }

  /**
   * A reply spends time on its way, so each observation is late by that much: the largest offset seen is the
   * closest to the truth. It is kept for half a minute, and given up at once if the server's clock was set back.
   */
  observe(serverNowMs: number): void {
    if (!Number.isFinite(serverNowMs)) return;
    const local = this.#monotonic();
    const offset = serverNowMs - local;
    const best = this.#offsetMs;
    const isBetter = best === undefined || offset >= best;
    const isStale = local - this.#takenAt > BEST_VALID_MS;
    if (isBetter || isStale || best - offset > MAX_REPLY_AGE_MS) {
      this.#offsetMs = offset;
      this.#takenAt = local;
    }
  }

  get isSynchronised(): boolean {
    return this.#offsetMs !== undefined;
  }

  /** The server's time; the local wall clock until a first reply has come. */
  now(): number {
    return Math.floor(this.#exactNow());
  }

  untilMs(serverTimeMs: number): number {
    // Rounded up: a timer that rings a fraction early would only ring again.
    return Math.max(0, Math.ceil(serverTimeMs - this.#exactNow()));
  }

  #exactNow(): number {
    return this.#offsetMs === undefined ? Date.now() : this.#monotonic() + this.#offsetMs;
  }
}

/** For `clock: 'client'`: whoever fakes timers drives time, and the server is told what time it is. */
export class ClientClock implements Clock {
  observe(): void {}

  now(): number {
    return Date.now();
  }

  untilMs(timeMs: number): number {
    return Math.max(0, timeMs - Date.now());
  }
}
