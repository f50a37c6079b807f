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
  readonly #settling: (() => void)[] = [];
  #inFlight = 0;
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
    while (this.#inFlight > 0) await new Promise<void>((resolve) => this.#settling.push(resolve));
  }

  protected wish(wish: Wish<Arg, Answer>): void {
    this.#waiting.push(wish);
    this.#waitingJobs += this.jobCount(wish.arg);
    this.#sendSoon();
  }

  /** Many at once are worth calls of their own: those go now, so that their caller may go on while the server works. */
  protected wishAll(wishes: readonly Wish<Arg, Answer>[]): void {
    for (const wish of wishes) {
      this.#waiting.push(wish);
      this.#waitingJobs += this.jobCount(wish.arg);
    }
    if (this.#waitingJobs > WORTH_SHARING) this.#send(this.#session.roundTrip.mostInFlight);
    else this.#sendSoon();
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
    while (this.#waiting.length > 0 && this.#inFlight < mostInFlight)
      this.#sendBatch(this.#takeBatch(Number.isFinite(mostInFlight) ? mostInFlight - this.#inFlight : 1));
    this.#isSending = false;
  }

  #sendBatch(batch: readonly Wish<Arg, Answer>[]): void {
    const argv: string[] = [];
    let before: Arg | undefined;
    for (const { arg } of batch) before = this.push(argv, arg, before);
    this.#inFlight++;
    this.#session.post(
      this.#call,
      argv,
      // An outage is no longer for those who waited behind others: the time they have waited counts.
      batch.at(-1)!.askedAt,
      ({ body, at }) => {
        this.#land();
        this.answer(batch, body, at);
      },
      (error) => {
        this.#land();
        for (const { reject } of batch) reject(error);
      },
    );
  }

  // What waits goes first: the server works on it while this answer is told.
  #land(): void {
    this.#inFlight--;
    if (this.#waiting.length > 0) this.#send(this.#session.roundTrip.mostInFlight);
    for (const wake of this.#settling.splice(0)) wake();
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
