// The jobs that a worker has in hand. A slot is free again as soon as its job's outcome is known, so that the finish
// and the fetch of a successor go in one call; the job stays in hand until the server has taken the outcome.

import type { Running } from './executor.ts';

export class Slots {
  readonly #inHand = new Map<string, Running>();
  readonly #waiters = new Set<() => void>();
  #busy = 0;

  get inHand(): ReadonlyMap<string, Running> {
    return this.#inHand;
  }

  /** Handlers running. */
  get busy(): number {
    return this.#busy;
  }

  /** The job takes a slot. */
  take(running: Running): void {
    this.#inHand.set(running.job.id as string, running);
    this.#busy++;
  }

  /** All is done with the job. */
  release(running: Running): void {
    const id = running.job.id as string;
    this.free(running);
    if (this.#inHand.get(id) === running) this.#inHand.delete(id);
    if (this.#inHand.size === 0) for (const wake of [...this.#waiters]) wake();
  }

  /** The outcome is known. */
  free(running: Running): void {
    if (running.isDone) return;
    running.isDone = true;
    this.#busy--;
  }

  /** True when nothing is in hand; false if that takes longer. */
  untilIdle(timeoutMs: number): Promise<boolean> {
    if (this.#inHand.size === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const end = (isIdle: boolean) => {
        clearTimeout(timer);
        this.#waiters.delete(wake);
        resolve(isIdle);
      };
      const wake = () => end(true);
      const timer = setTimeout(() => end(false), Math.min(timeoutMs, 2 ** 31 - 1));
      this.#waiters.add(wake);
    });
  }

  /** False if the job is not here, or its handler takes no signal. */
  cancel(jobId: string, reason: unknown): boolean {
    const controller = this.#inHand.get(jobId)?.controller;
    controller?.abort(reason);
    return controller !== undefined;
  }

  cancelAll(reason: unknown): void {
    for (const { controller } of this.#inHand.values()) controller?.abort(reason);
  }
}
