// Jobs that a worker takes before it has a slot for them, so that slots do not stand idle for a round trip after every
// job. Only while handlers are quick, as many as end during a few round trips, and for a moment: what no slot has become
// free for by then goes back as new. Whoever runs one job at a time may rely on one being completed before the next
// begins, so there the slot stands idle until then; but a call that need not fetch is a short one.

import type { JobRecord } from '../store/codec.ts';
import type { PreparedJob } from './executor.ts';

export interface HeldJob {
  readonly record: JobRecord;
  readonly token: string;
  /** On the monotonic clock, as the next. */
  readonly leasedAt: number;
  /** When it came, with a lease that would last. */
  readonly heldAt: number;
  /** Made while there was time for it. */
  prepared?: PreparedJob;
}

export interface LookaheadSettings {
  readonly isAllowed: boolean;
  /** No slot has become free for the first one in time. */
  readonly onOverdue: () => void;
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
// One at a time: fetched together, so many cost little each; half of them at once, the others meanwhile.
const MOST_HELD_ALONE = 32;
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
    if (!this.#settings.isAllowed || this.#quickCount < QUICK_STREAK) return 0;
    if (concurrency === 1) return this.#targetAlone();
    const endingMs = Math.max(this.#handlerMs, SHORTEST_HANDLER_MS) / concurrency;
    return Math.min(MOST_HELD, Math.ceil((ROUND_TRIPS * this.#callMs) / endingMs));
  }

  // What surely ends in time, though handlers and calls get slower; a few are not worth it.
  #targetAlone(): number {
    const jobMs = this.#handlerMs + this.#callMs;
    const count = Math.min(MOST_HELD_ALONE, Math.floor(MOST_WAIT_MS / 4 / jobMs));
    return count < 4 ? 0 : count;
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
  }

  /** Some are held for longer than this turn. */
  watch(): void {
    this.#timer ??= setTimeout(() => this.#look(), MOST_WAIT_MS);
  }

  /** The one that has been held the longest. */
  get first(): HeldJob | undefined {
    return this.#held[0];
  }

  take(): HeldJob | undefined {
    return this.#held.shift();
  }

  takeAll(): readonly HeldJob[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#held.splice(0);
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
      this.#settings.onOverdue();
    }
  }
}
