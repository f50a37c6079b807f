// Renews all leases of one worker, in one call per round. A lost lease means that the job may be running
// elsewhere: it is told once, and the job's signal is aborted.

import type { Lease, LeaseStore } from '../store/lease-store.ts';
import type { Running } from './executor.ts';

export interface LeaseKeeperSettings {
  readonly leaseMs: number;
  /** A lease older than half of this is renewed. */
  readonly renewMs: number;
  readonly running: ReadonlyMap<string, Running>;
  readonly onLost: (running: Running) => void;
  readonly onRound: (kept: readonly string[], lost: readonly string[]) => void;
  readonly onError: (error: Error) => void;
}

// One call renews at most this many, so that the server is not held.
const MOST_PER_CALL = 500;

export class LeaseKeeper {
  readonly #leases: LeaseStore;
  readonly #settings: LeaseKeeperSettings;
  #timer: NodeJS.Timeout | undefined;

  constructor(leases: LeaseStore, settings: LeaseKeeperSettings) {
    this.#leases = leases;
    this.#settings = settings;
  }

  get isRunning(): boolean {
    return this.#timer !== undefined;
  }

  start(): void {
    this.#timer ??= setTimeout(() => void this.#round(), this.#settings.renewMs / 2);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #round(): Promise<void> {
    const begun = this.#timer;
    await this.#renewDue();
    // stop() may have come while the call was on its way.
    if (this.#timer === begun && begun !== undefined) {
      this.#timer = undefined;
      this.start();
    }
  }

  async #renewDue(): Promise<void> {
    const now = performance.now();
    const due: Running[] = [];
    for (const running of this.#settings.running.values()) {
      if (now - running.renewedAt >= this.#settings.renewMs / 2) due.push(running);
    }
    for (let first = 0; first < due.length; first += MOST_PER_CALL)
      await this.#renew(due.slice(first, first + MOST_PER_CALL));
  }

  async #renew(due: readonly Running[]): Promise<void> {
    const leases: Lease[] = due.map(({ job, token }) => ({ jobId: job.id as string, token }));
    const sentAt = performance.now();
    let lost: Lease[];
    try {
      lost = await this.#leases.extend(leases, this.#settings.leaseMs);
    } catch (error) {
      this.#settings.onError(error as Error);
      return;
    }
    const lostIds = new Set(lost.map(({ jobId }) => jobId));
    const kept: string[] = [];
    for (const running of due) {
      const id = running.job.id as string;
      // The lease runs from when the call was sent at the earliest.
      running.renewedAt = sentAt;
      if (!lostIds.has(id)) kept.push(id);
      // Finished, or being finished, while the call was on its way: nothing is lost.
      else if (this.#settings.running.get(id) === running && !running.isDone) this.#settings.onLost(running);
      else lostIds.delete(id);
    }
    this.#settings.onRound(kept, [...lostIds]);
  }
}
