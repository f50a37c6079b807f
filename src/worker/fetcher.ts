// Sleeps on the queue's marker while there is nothing to do, and wakes the worker when there may be: at a marker,
// when a delayed job is due, or after a while in any case, because a marker can be lost.

import type { Clock } from '../model/clock.ts';
import type { MarkerStore } from '../store/marker-store.ts';

export interface FetcherSettings {
  /** Longest sleep in ms. */
  readonly idleMs: number;
  readonly clock: Clock;
  /** A fetch is on its way already. */
  readonly isAnswerDue: () => boolean;
  readonly onWake: () => void;
  readonly onError: (error: Error) => void;
}

// The two clocks drift apart; a far-off due time is looked at again this often.
const LONGEST_ALARM_MS = 10_000;
// Due by our clock and not by the server's: it is not asked in a hot loop until they agree.
const OVERDUE_MS = 5;
// What arrives here is a refusal; a broken link is waited out where the read is made.
const PAUSE_AFTER_ERROR_MS = 1000;

export class Fetcher {
  readonly #markers: MarkerStore;
  readonly #settings: FetcherSettings;
  #dueAt = 0;
  #alarm: NodeJS.Timeout | undefined;
  #hasTakenDue = false;
  #isSleeping = false;
  #isStopped = false;
  #lastPollAt = 0;

  constructor(markers: MarkerStore, settings: FetcherSettings) {
    this.#markers = markers;
    this.#settings = settings;
  }

  /** When the server last answered, on the monotonic clock; 0 if never. */
  get lastPollAt(): number {
    return this.#lastPollAt;
  }

  get isSleeping(): boolean {
    return this.#isSleeping;
  }

  /** It has taken a marker that others would have been woken by. */
  get isOnDuty(): boolean {
    return this.#isSleeping || this.#hasTakenDue;
  }

  /** A fetch was answered: the link lives, and the next delayed job is due then (0: there is none; undefined: not told). */
  noteFetch(dueAt: number | undefined): void {
    this.#lastPollAt = performance.now();
    if (dueAt === undefined) return;
    if (dueAt === 0) this.#hasTakenDue = false;
    this.#wakeAt(dueAt);
  }

  /** Goes to sleep, unless asleep already. */
  sleep(): void {
    if (this.#isSleeping || this.#isStopped) return;
    this.#isSleeping = true;
    void this.#sleepUntilWork();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#alarm);
  }

  // The server ends a blocking read up to a tenth of a second late, so a due time has a timer of its own. The read goes
  // on beside it.
  #wakeAt(dueAt: number): void {
    this.#dueAt = dueAt;
    clearTimeout(this.#alarm);
    if (dueAt <= 0 || this.#isStopped) return;
    const ms = this.#settings.clock.untilMs(dueAt) || OVERDUE_MS;
    this.#alarm = setTimeout(() => this.#ring(), Math.min(ms, LONGEST_ALARM_MS));
  }

  #ring(): void {
    if (this.#settings.clock.untilMs(this.#dueAt) > 0) this.#wakeAt(this.#dueAt);
    else {
      this.#dueAt = 0;
      this.#settings.onWake();
    }
  }

  async #sleepUntilWork(): Promise<void> {
    while (!this.#isStopped) {
      try {
        if (await this.#sleepOnce()) break;
      } catch (error) {
        if (this.#isStopped) break;
        this.#settings.onError(error as Error);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_AFTER_ERROR_MS));
        break;
      }
    }
    this.#isSleeping = false;
    if (!this.#isStopped) this.#settings.onWake();
  }

  /** True if it is time to look. */
  async #sleepOnce(): Promise<boolean> {
    const wake = await this.#markers.wait(this.#settings.idleMs, this.#settings.isAnswerDue);
    this.#lastPollAt = performance.now();
    if (wake.kind !== 'due') return true;
    // The marker is gone for others; this worker is now the one to be awake at that time.
    this.#hasTakenDue = true;
    if (this.#dueAt === 0 || wake.dueAt < this.#dueAt) this.#wakeAt(wake.dueAt);
    return false;
  }
}
