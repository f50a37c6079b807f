// Sleeps on the queue's marker while there is nothing to do, and wakes the worker when there may be: at a marker,
// when a delayed job is due, or after a while in any case, because a marker can be lost.

import type { Clock } from '../model/clock.ts';
import type { MarkerStore } from '../store/marker-store.ts';

export interface FetcherSettings {
  /** Longest sleep in ms while no delayed job is known. */
  readonly idleMs: number;
  readonly clock: Clock;
  readonly onWake: () => void;
  readonly onError: (error: Error) => void;
}

// Even with a far-off delayed job, look in now and then: a marker can be lost.
const LONGEST_SLEEP_MS = 10_000;
// What arrives here is a refusal; a broken link is waited out where the read is made.
const PAUSE_AFTER_ERROR_MS = 1000;

export class Fetcher {
  readonly #markers: MarkerStore;
  readonly #settings: FetcherSettings;
  #dueAt = 0;
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

  /** A fetch was answered: the link lives, and the next delayed job is due then (0: none known). */
  noteFetch(dueAt: number): void {
    this.#lastPollAt = performance.now();
    this.#dueAt = dueAt;
  }

  /** Goes to sleep, unless asleep already. */
  sleep(): void {
    if (this.#isSleeping || this.#isStopped) return;
    this.#isSleeping = true;
    void this.#sleepUntilWork();
  }

  stop(): void {
    this.#isStopped = true;
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
    const ms = this.#sleepMs();
    if (ms <= 0) return true;
    const wake = await this.#markers.wait(ms);
    this.#lastPollAt = performance.now();
    if (wake.kind !== 'due') return true;
    // The marker is gone for others; this worker is now the one to be awake at that time.
    this.#dueAt = this.#dueAt > 0 ? Math.min(this.#dueAt, wake.dueAt) : wake.dueAt;
    return this.#settings.clock.untilMs(this.#dueAt) < 1;
  }

  #sleepMs(): number {
    if (this.#dueAt <= 0) return this.#settings.idleMs;
    return Math.min(this.#settings.clock.untilMs(this.#dueAt), LONGEST_SLEEP_MS);
  }
}
