// Jobs that a worker takes before it has a slot for them, so that slots do not stand idle for a round trip after every
// job. Only while handlers are quick, as many as end during a few round trips, and for a moment: what no slot has become
// free for by then goes back as new. At concurrency 1 none is taken: whoever runs one job at a time may rely on one
// being completed before the next begins.

import type { JobRecord } from '../store/codec.ts';

export interface HeldJob {
  readonly record: JobRecord;
  readonly token: string;
  /** On the monotonic clock. */
  readonly leasedAt: number;
  readonly heldAt: number;
}

export interface LookaheadSettings {
  readonly isAllowed: boolean;
  /** No slot has become free for these in time. */
  readonly onOverdue: (held: readonly HeldJob[]) => void;
}

// More would make calls no cheaper: what a call costs by itself is small beside this many jobs.
const MOST_HELD = 128;
// A finish waits for the call before it, then its own call takes one round trip; the third is for uneven ones.
const ROUND_TRIPS = 3;
// What is held for longer than this would have run elsewhere by now. Quick handlers free a slot every few milliseconds.
const MOST_WAIT_MS = 50;
// One handler that takes longer ends it until so many in a row have been quick again.
const QUICK_MS = 20;
const QUICK_STREAK = 100;
// Of an average: recent ones count, single ones hardly.
const WEIGHT = 0.05;
// A handler that does nothing keeps the process busy for about this long.
const SHORTEST_HANDLER_MS = 0.02;

export class Lookahead {
  readonly #settings: LookaheadSettings;
  #held: HeldJob[] = [];
  #timer: NodeJS.Timeout | undefined;
  #quickCount = 0;
  #handlerMs = 0;
  #callMs = 0;

  constructor(settings: LookaheadSettings) {
    this.#settings = settings;
  }

  get heldCount(): number {
    return this.#held.length;
  }

  /** How many to hold: what ends before the next ones can be here. */
  target(concurrency: number): number {
    if (!this.#settings.isAllowed || concurrency < 2 || this.#quickCount < QUICK_STREAK) return 0;
    const endingMs = Math.max(this.#handlerMs, SHORTEST_HANDLER_MS) / concurrency;
    return Math.min(MOST_HELD, Math.ceil((ROUND_TRIPS * this.#callMs) / endingMs));
  }

  noteHandler(ms: number): void {
    this.#handlerMs += (ms - this.#handlerMs) * WEIGHT;
    this.#quickCount = ms > QUICK_MS ? 0 : this.#quickCount + 1;
  }

  noteCall(ms: number): void {
    this.#callMs += (ms - this.#callMs) * WEIGHT;
  }

  hold(job: HeldJob): void {
    this.#held.push(job);
    this.#timer ??= setTimeout(() => this.#look(), MOST_WAIT_MS);
  }

  /** The one that has been held the longest. */
  take(): HeldJob | undefined {
    return this.#held.shift();
  }

  takeAll(): readonly HeldJob[] {
    return this.#held.splice(0);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  // One timer for all, set anew only when it has rung.
  #look(): void {
    this.#timer = undefined;
    const [first] = this.#held;
    if (!first) return;
    const leftMs = MOST_WAIT_MS - (performance.now() - first.heldAt);
    if (leftMs > 0) this.#timer = setTimeout(() => this.#look(), leftMs);
    else {
      this.#quickCount = 0;
      this.#settings.onOverdue(this.takeAll());
    }
  }
}
