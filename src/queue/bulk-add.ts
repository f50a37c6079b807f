// The jobs of one addBulk: checked one by one, sent together, and each completed as soon as its call is answered, while
// the server works on the next. No promise and no closure for each of them: there may be many.

import { Job } from '../core/job.ts';
import { encodeAdd, placeJob } from '../core/job-adding.ts';
import type { JobHost } from '../core/job-host.ts';
import { BulkAddError, type RefusedJob } from '../model/errors.ts';
import type { JobsOptions, ResolvedJobOptions } from '../model/options/job-options.ts';
import { isSurelyEncodable } from '../model/payload.ts';
import type { Adder, NewJob } from '../store/add-batch.ts';

// So many go with one call, and are encoded while the server works on those before them. The first call is a short one,
// because until it leaves the server has nothing to do.
const AT_ONCE = 128;
const AT_FIRST = 64;

export class BulkAdd<D, R, N extends string> implements Adder {
  readonly #queue: JobHost;
  readonly #names: N[] = [];
  readonly #data: D[] = [];
  readonly #options: ResolvedJobOptions[] = [];
  readonly #refused: RefusedJob[] = [];
  readonly #args: (NewJob | undefined)[] = [];
  #jobs: Job<D, R, N>[] = [];
  /** All before this place are encoded. */
  #encodedTo = 0;
  #leftCount = 0;
  #done: () => void = () => {};

  constructor(queue: JobHost) {
    this.#queue = queue;
  }

  /** Checks a job; throws where it cannot be added. Nothing is sent yet: one of those that follow may be wrong. */
  take(name: N, data: D, options: ResolvedJobOptions): void {
    const isLate = this.#args.length >= AT_FIRST && isSurelyEncodable(data, options);
    this.#args.push(isLate ? undefined : encodeAdd(name, data, options));
    this.#names.push(name);
    this.#data.push(data);
    this.#options.push(options);
  }

  /** From now on the caller may change the data of those before this place; of all, unless one is given. */
  encode(end = this.#args.length): void {
    for (; this.#encodedTo < end; this.#encodedTo++) {
      const place = this.#encodedTo;
      this.#args[place] ??= encodeAdd(this.#names[place]!, this.#data[place], this.#options[place]!);
    }
  }

  /** Resolves to the jobs in their order when all are answered. Throws where the server refused some. */
  async send(): Promise<Job<D, R, N>[]> {
    this.#leftCount = this.#args.length;
    if (this.#leftCount === 0) return [];
    const done = new Promise<void>((resolve) => {
      this.#done = resolve;
    });
    // All in the same turn: no answer is read before.
    this.#sendAll();
    this.#jobs = this.#names.map((name, place) => this.#jobOf(name, place));
    await done;
    if (this.#refused.length > 0) throw this.#refusal();
    return this.#jobs;
  }

  #sendAll(): void {
    const count = this.#args.length;
    let at = 0;
    try {
      while (at < count) {
        const end = Math.min(count, at + (at === 0 ? AT_FIRST : AT_ONCE));
        this.encode(end);
        this.#queue.jobs.addAll(this.#args.slice(at, end) as NewJob[], this, at, end < count);
        at = end;
      }
    } catch (error) {
      // Data that is another each time it is read: seen to be encodable, and then it was not.
      for (; at < count; at++) this.refused(error, at);
    }
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

  #jobOf(name: N, place: number): Job<D, R, N> {
    const options = this.#options[place]!.stored as JobsOptions;
    return new Job<D, R, N>(this.#queue, name, this.#data[place]!, options);
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
