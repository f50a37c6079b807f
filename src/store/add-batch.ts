// Adds made in one turn of the event loop become one call. Up to two calls are on their way, so that a lone job
// never waits for another's reply; what comes meanwhile goes with the next. Nothing waits on a timer.

import { type AddArg, addManyCall, pushAdd } from './generated/engine.ts';
import { refusal } from './replies.ts';
import type { Session } from './session.ts';

// Bounds one call, so that the server is never held for more than a few milliseconds.
const MOST_JOBS = 128;
const MOST_BYTES = 1_000_000;
const MOST_IN_FLIGHT = 2;

interface Waiting {
  readonly arg: AddArg;
  readonly resolve: (id: string) => void;
  readonly reject: (error: unknown) => void;
}

export class AddBatch {
  readonly #session: Session;
  readonly #flights = new Set<Promise<void>>();
  #waiting: Waiting[] = [];
  #isScheduled = false;
  #isSending = false;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Resolves to the job's id: a new one, or that of the job which already had it. */
  add(arg: AddArg): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ arg, resolve, reject });
      this.#sendSoon();
    });
  }

  /** Sends all that waits, now: whatever the caller does next comes after it. */
  flush(): void {
    // A batch being sent is a call too, and asks for this.
    if (!this.#isSending) this.#send(Number.POSITIVE_INFINITY);
  }

  /** Resolves when nothing is waiting or on its way. */
  async settle(): Promise<void> {
    this.flush();
    while (this.#flights.size > 0) await Promise.all(this.#flights);
  }

  // At the end of this turn: what others add in it joins the same call.
  #sendSoon(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#send(MOST_IN_FLIGHT);
    });
  }

  #send(mostInFlight: number): void {
    this.#isSending = true;
    while (this.#waiting.length > 0 && this.#flights.size < mostInFlight) {
      const batch = this.#takeBatch();
      const argv: string[] = [];
      for (const { arg } of batch) pushAdd(argv, arg);
      const flight: Promise<void> = this.#session
        .run(addManyCall, addManyCall.encode(argv))
        .then(
          (outcome) => settleBatch(batch, outcome as string[]),
          (error) => {
            for (const { reject } of batch) reject(error);
          },
        )
        .finally(() => {
          this.#flights.delete(flight);
          this.#sendSoon();
        });
      this.#flights.add(flight);
    }
    this.#isSending = false;
  }

  #takeBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#waiting.length && count < MOST_JOBS && (bytes < MOST_BYTES || count === 0)) {
      const { arg } = this.#waiting[count]!;
      bytes += arg.data.length + arg.opts.length + arg.name.length;
      count++;
    }
    return this.#waiting.splice(0, count);
  }
}

function settleBatch(batch: readonly Waiting[], outcome: readonly string[]): void {
  for (let i = 0; i < batch.length; i++) {
    const word = outcome[2 * i]!;
    const value = outcome[2 * i + 1]!;
    const { arg, resolve, reject } = batch[i]!;
    if (word === 'added' || word === 'duplicate') resolve(value);
    else reject(refusal(word, value, { jobId: arg.jobId, command: 'addJob' }));
  }
}
