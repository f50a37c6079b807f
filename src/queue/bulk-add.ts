// The jobs of one addBulk: collected, sent together, and each completed as soon as its call is answered, while the
// server works on the next. No promise and no closure for each of them: there may be many.

import { Job } from '../core/job.ts';
import { placeJob } from '../core/job-adding.ts';
import type { JobHost } from '../core/job-host.ts';
import { BulkAddError, type RefusedJob } from '../model/errors.ts';
import type { JobsOptions, ResolvedJobOptions } from '../model/options/job-options.ts';
import type { Adder, NewJob } from '../store/add-batch.ts';

export class BulkAdd<D, R, N extends string> implements Adder {
  readonly #queue: JobHost;
  readonly #args: NewJob[] = [];
  readonly #data: D[] = [];
  readonly #options: ResolvedJobOptions[] = [];
  readonly #refused: RefusedJob[] = [];
  #jobs: Job<D, R, N>[] = [];
  #leftCount = 0;
  #done: () => void = () => {};

  constructor(queue: JobHost) {
    this.#queue = queue;
  }

  /** Nothing is sent yet: one of those that follow may be wrong. */
  take(arg: NewJob, data: D, options: ResolvedJobOptions): void {
    this.#args.push(arg);
    this.#data.push(data);
    this.#options.push(options);
  }

  /** Resolves to the jobs in their order when all are answered. Throws where the server refused some. */
  async send(): Promise<Job<D, R, N>[]> {
    this.#leftCount = this.#args.length;
    if (this.#leftCount === 0) return [];
    const done = new Promise<void>((resolve) => {
      this.#done = resolve;
    });
    this.#queue.jobs.addAll(this.#args, this);
    // While the server works, and in the same turn: no answer is read before.
    this.#jobs = this.#args.map((arg, index) => this.#jobOf(arg, index));
    await done;
    if (this.#refused.length > 0) throw this.#refusal();
    return this.#jobs;
  }

  added(id: string, at: number, place: number): void {
    placeJob(this.#jobs[place]!, this.#args[place]!, id, at);
    this.#settle();
  }

  refused(error: unknown, place: number): void {
    this.#refused.push({ index: place, error: error as Error });
    this.#settle();
  }

  #settle(): void {
    if (--this.#leftCount === 0) this.#done();
  }

  #jobOf({ name }: NewJob, index: number): Job<D, R, N> {
    const options = this.#options[index]!.stored as JobsOptions;
    return new Job<D, R, N>(this.#queue, name as N, this.#data[index]!, options);
  }

  // What was refused as a whole, for one reason, is told that reason.
  #refusal(): Error {
    const refused = this.#refused.sort((a, b) => a.index - b.index);
    const first = refused[0]!.error;
    if (refused.length === this.#jobs.length && refused.every(({ error }) => error === first)) return first;
    const without = new Set(refused.map(({ index }) => index));
    const added = this.#jobs.filter((_, index) => !without.has(index));
    return new BulkAddError(
      added.map(({ id }) => id as string),
      refused,
    );
  }
}
