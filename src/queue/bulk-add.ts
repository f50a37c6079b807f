// The jobs of one addBulk: checked one by one, sent together, and each completed as soon as its call is answered, while
// the server works on the next. No promise and no closure for each of them: there may be many.

import { Job } from '../core/job.ts';
import { encodeAdd, placeJob } from '../core/job-adding.ts';
import type { JobHost } from '../core/job-host.ts';
import { BulkAddError, type RefusedJob } from '../model/errors.ts';
import type { JobsOptions, ResolvedJobOptions } from '../model/options/job-options.ts';
import { encodeJobData, isSurelyEncodable } from '../model/payload.ts';
import type { Adder, NewJob } from '../store/add-batch.ts';

// So many go with one call, and are encoded while the server works on those before them. The first call is a short one,
// because until it leaves the server has nothing to do.
const AT_ONCE = 128;
const AT_FIRST = 64;

export class BulkAdd<D, R, N extends string> implements Adder {
  readonly #queue: JobHost;
  /** What is sent; not yet there for those of which nothing has been encoded. */
  readonly #args: (NewJob | undefined)[] = [];
  readonly #names: N[] = [];
  readonly #data: D[] = [];
  readonly #options: ResolvedJobOptions[] = [];
  readonly #refused: RefusedJob[] = [];
  #jobs: Job<D, R, N>[] = [];
  /** Places of those whose data is encoded later, and how many of them have been. */
  readonly #late: number[] = [];
  #encodedCount = 0;
  #leftCount = 0;
  #done: () => void = () => {};

  constructor(queue: JobHost) {
    this.#queue = queue;
  }

  /** Checks a job; throws where it cannot be added. Nothing is sent yet: one of those that follow may be wrong. */
  take(name: N, data: D, options: ResolvedJobOptions): void {
    const place = this.#args.length;
    const isLate = place >= AT_FIRST && isSurelyEncodable(data, options);
    if (isLate) this.#late.push(place);
    // Options of its own may be such that they cannot be encoded.
    const isUntouched = isLate && Object.isFrozen(options.stored);
    this.#args.push(isUntouched ? undefined : encodeAdd(name, isLate ? undefined : data, options));
    this.#names.push(name);
    this.#data.push(data);
    this.#options.push(options);
  }

  /** From now on the caller may change the data of those before this place; of all, unless one is given. */
  encode(end = this.#args.length): void {
    for (; this.#encodedCount < this.#late.length; this.#encodedCount++) {
      const place = this.#late[this.#encodedCount]!;
      if (place >= end) return;
      const arg = this.#args[place];
      const name = this.#names[place]!;
      const options = this.#options[place]!;
      const data = this.#data[place];
      if (arg) arg.data = encodeJobData(name, data, options);
      else this.#args[place] = encodeAdd(name, data, options);
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
    this.#jobs = this.#names.map((name, index) => this.#jobOf(name, index));
    await done;
    if (this.#refused.length > 0) throw this.#refusal();
    return this.#jobs;
  }

  #sendAll(): void {
    const count = this.#args.length;
    let at = 0;
    try {
      while (at < count) {
        const next = at + (at === 0 ? AT_FIRST : AT_ONCE);
        const end = this.#late[this.#encodedCount] === undefined ? count : Math.min(count, next);
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

  #jobOf(name: N, index: number): Job<D, R, N> {
    const options = this.#options[index]!.stored as JobsOptions;
    return new Job<D, R, N>(this.#queue, name, this.#data[index]!, options);
  }

  // What was refused as a whole, for one reason, is told that reason. Each call has an error of its own for it.
  #refusal(): Error {
    const refused = this.#refused.sort((a, b) => a.index - b.index);
    const first = refused[0]!.error;
    const isOneReason = refused.every(({ error }) => error.message === first.message);
    if (isOneReason && refused.length === this.#jobs.length) return first;
    const without = new Set(refused.map(({ index }) => index));
    const added = this.#jobs.filter((_, index) => !without.has(index));
    return new BulkAddError(
      added.map(({ id }) => id as string),
      refused,
    );
  }
}
