// A queue's upkeep: one bounded call per tick. Any worker may run it; the server lets one through per interval, and
// the others come back when that interval is over.

import type { LeaseStore } from '../store/lease-store.ts';

export interface UpkeepSettings {
  readonly intervalMs: number;
  readonly maxStalls: number;
  readonly onStalled: (jobId: string) => void;
  readonly onError: (error: Error) => void;
}

export class Upkeep {
  readonly #leases: LeaseStore;
  readonly #settings: UpkeepSettings;
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;

  constructor(leases: LeaseStore, settings: UpkeepSettings) {
    this.#leases = leases;
    this.#settings = settings;
  }

  /** Runs the first tick at once. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#arm(0);
  }

  stop(): void {
    this.#isRunning = false;
    clearTimeout(this.#timer);
  }

  async tick(): Promise<number> {
    const { recovered, waitMs } = await this.#leases.maintain(
      this.#settings.maxStalls,
      this.#settings.intervalMs,
    );
    for (const jobId of recovered) this.#settings.onStalled(jobId);
    return waitMs;
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(async () => {
      let waitMs = 0;
      try {
        waitMs = await this.tick();
      } catch (error) {
        if (this.#isRunning) this.#settings.onError(error as Error);
      }
      // Another worker's tick: be there when its interval ends, or jobs of a dead worker wait up to twice as long.
      if (this.#isRunning)
        this.#arm(waitMs > 0 ? Math.min(waitMs, this.#settings.intervalMs) : this.#settings.intervalMs);
    }, ms);
  }
}
