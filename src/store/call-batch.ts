// What is wished for together becomes one call: the wishes of one callback of the event loop and all that its promises
// lead to. A few calls may be on their way (round-trip.ts), so that a lone wish never waits for another's reply; what
// comes meanwhile goes with the next. Nothing waits on a timer.

import type { EngineCall } from './lua-source.ts';
import type { Session } from './session.ts';

// Bounds one call, so that the server is never held for more than a few milliseconds.
const MOST_JOBS = 128;
const MOST_BYTES = 1_000_000;
// More than this is shared among the calls that may be on their way: while the server works on one, the replies of the
// other lead to the next. Fewer are not worth a call of their own.
const WORTH_SHARING = 32;

/** One wish: it is answered on its own, whatever becomes of those beside it. */
export interface Wish<Arg, Answer> {
  readonly arg: Arg;
  readonly askedAt: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export abstract class CallBatch<Arg, Answer> {
  readonly #session: Session;
  readonly #call: EngineCall;
  readonly #flights = new Set<Promise<void>>();
  #waiting: Wish<Arg, Answer>[] = [];
  #waitingJobs = 0;
  #isScheduled = false;
  #isSending = false;

  constructor(session: Session, call: EngineCall) {
    this.#session = session;
    this.#call = call;
  }

  /** How many jobs the wish adds. */
  protected abstract jobCount(arg: Arg): number;

  /** About how many bytes it sends. */
  protected abstract byteCount(arg: Arg): number;

  /** Answers what the next one may be said to repeat, and is handed that of the one before. */
  protected abstract push(argv: string[], arg: Arg, before: Arg | undefined): Arg | undefined;

  /** Answers each wish of a call from its reply. */
  protected abstract answer(batch: readonly Wish<Arg, Answer>[], body: readonly unknown[], at: number): void;

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

  protected wish(wish: Wish<Arg, Answer>): void {
    this.#waiting.push(wish);
    this.#waitingJobs += this.jobCount(wish.arg);
    this.#sendSoon();
  }

  // Ticks come after all promise continuations that are ready: what those wish for joins the same call.
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
      let before: Arg | undefined;
      for (const { arg } of batch) before = this.push(argv, arg, before);
      const flight: Promise<void> = this.#session
        // An outage is no longer for those who waited behind others: the time they have waited counts.
        .runTimed(this.#call, argv, batch.at(-1)?.askedAt)
        .then(
          ({ body, at }) => this.answer(batch, body, at),
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

  // The first goes in any case, however large it is; nothing is split.
  #takeBatch(callCount: number): Wish<Arg, Answer>[] {
    const share = Math.max(WORTH_SHARING, Math.ceil(this.#waitingJobs / callCount));
    const most = Math.min(MOST_JOBS, share);
    let jobs = 0;
    let bytes = 0;
    let count = 0;
    for (const { arg } of this.#waiting) {
      const jobsBehind = jobs + this.jobCount(arg);
      bytes += this.byteCount(arg);
      if (count > 0 && (jobsBehind > most || bytes > MOST_BYTES)) break;
      jobs = jobsBehind;
      count++;
    }
    this.#waitingJobs -= jobs;
    return this.#waiting.splice(0, count);
  }
}
