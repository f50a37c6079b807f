// Adds made together become one call: those of one callback of the event loop and all that its promises lead to. A few
// calls may be on their way (round-trip.ts), so that a lone job never waits for another's reply; what comes meanwhile
// goes with the next. Nothing waits on a timer.

import { type AddArg, addManyCall, pushAdd, pushAddInLane } from './generated/engine.ts';
import { refusal } from './replies.ts';
import type { Session } from './session.ts';

// Bounds one call, so that the server is never held for more than a few milliseconds.
const MOST_JOBS = 128;
const MOST_BYTES = 1_000_000;
// More than this is shared among the calls that may be on their way: while the server works on one, the replies of the
// other lead to the next. Fewer are not worth a call of their own.
const WORTH_SHARING = 32;

/** A job to be added; one of a lane has both of these. */
export interface NewJob extends AddArg {
  lane?: string;
  /** '' = the time of the add. */
  order?: string;
}

export interface Added {
  /** A new one, or that of the job which already had it. */
  readonly id: string;
  /** The server's time of the call. */
  readonly at: number;
}

/** What became of one of many: added, or the reason why not. */
export type AddOutcome = Added | { readonly error: unknown };

interface Waiting {
  readonly arg: NewJob;
  readonly askedAt: number;
  readonly resolve: (added: Added) => void;
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

  add(arg: NewJob): Promise<Added> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ arg, askedAt: performance.now(), resolve, reject });
      this.#sendSoon();
    });
  }

  /** Many at once, without a promise for each; an outcome for each, in their order. Never rejects. */
  addAll(args: readonly NewJob[]): Promise<AddOutcome[]> {
    return new Promise((resolve) => {
      const outcomes = new Array<AddOutcome>(args.length);
      const askedAt = performance.now();
      let left = args.length;
      if (left === 0) resolve(outcomes);
      args.forEach((arg, index) => {
        const settle = (outcome: AddOutcome) => {
          outcomes[index] = outcome;
          if (--left === 0) resolve(outcomes);
        };
        this.#waiting.push({ arg, askedAt, resolve: settle, reject: (error) => settle({ error }) });
      });
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

  // Ticks come after all promise continuations that are ready: what those add joins the same call.
  #sendSoon(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    process.nextTick(() => {
      this.#isScheduled = false;
      this.#send(this.#session.roundTrip.mostInFlight);
    });
  }

  #send(mostInFlight: number): void {
    this.#isSending = true;
    while (this.#waiting.length > 0 && this.#flights.size < mostInFlight) {
      const batch = this.#takeBatch(Number.isFinite(mostInFlight) ? mostInFlight - this.#flights.size : 1);
      const argv: string[] = [];
      for (const { arg } of batch) pushNewJob(argv, arg);
      const flight: Promise<void> = this.#session
        // An outage is no longer for those who waited behind others: the time they have waited counts.
        .runTimed(addManyCall, addManyCall.encode(argv), batch.at(-1)?.askedAt)
        .then(
          ({ body, at }) => settleBatch(batch, body as string[], at),
          (error) => {
            for (const { reject } of batch) reject(error);
          },
        )
        .then(() => {
          this.#flights.delete(flight);
          this.#sendSoon();
        });
      this.#flights.add(flight);
    }
    this.#isSending = false;
  }

  #takeBatch(callCount: number): Waiting[] {
    const share = Math.max(WORTH_SHARING, Math.ceil(this.#waiting.length / callCount));
    const most = Math.min(MOST_JOBS, share);
    let bytes = 0;
    let count = 0;
    while (count < this.#waiting.length && count < most && (bytes < MOST_BYTES || count === 0)) {
      const { arg } = this.#waiting[count]!;
      bytes += arg.data.length + arg.opts.length + arg.name.length;
      count++;
    }
    return this.#waiting.splice(0, count);
  }
}

export function pushNewJob(argv: string[], arg: NewJob): void {
  if (arg.lane === undefined) pushAdd(argv, arg);
  else pushAddInLane(argv, { ...arg, lane: arg.lane, order: arg.order ?? '' });
}

function settleBatch(batch: readonly Waiting[], outcome: readonly string[], at: number): void {
  for (let i = 0; i < batch.length; i++) {
    const word = outcome[2 * i]!;
    const value = outcome[2 * i + 1]!;
    const { arg, resolve, reject } = batch[i]!;
    if (word === 'added' || word === 'duplicate') resolve({ id: value, at });
    else reject(refusal(word, value, { jobId: arg.jobId, command: 'addJob' }));
  }
}
