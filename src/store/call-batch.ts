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

/** Who is told what became of its wishes: of each by one call, here or as the kind of wish has it. */
export interface Asker {
  refused(error: unknown, place: number): void;
}

/** One wish: it is answered on its own, whatever becomes of those beside it. */
export interface Wish<Arg, By extends Asker> {
  readonly arg: Arg;
  readonly askedAt: number;
  readonly asker: By;
  /** Which of its asker's wishes it is. */
  readonly place: number;
}

export abstract class CallBatch<Arg, By extends Asker> {
  readonly #session: Session;
  readonly #call: EngineCall;
  readonly #settling: (() => void)[] = [];
  #inFlight = 0;
  #waiting: Wish<Arg, By>[] = [];
  #waitingJobs = 0;
  #isScheduled = false;
  #isSending = false;
  #askedAt = 0;
  /** What has been told in this turn leads to a call of its own, which comes first. */
  #isLeading = false;
  readonly #untold: (() => void)[] = [];

  constructor(session: Session, call: EngineCall) {
    this.#session = session;
    this.#call = call;
  }

  /** How many jobs the wish adds. */
  protected abstract jobCount(arg: Arg): number;

  /** About how many bytes it sends. */
  protected abstract byteCount(arg: Arg): number;

  /** All that is sent of the wishes of one call. */
  protected abstract encode(batch: readonly Wish<Arg, By>[]): string[];

  /** Answers each wish of a call from its reply. */
  protected abstract answer(batch: readonly Wish<Arg, By>[], body: readonly unknown[], at: number): void;

  /** Sends the call with these. */
  protected dispatch(_batch: readonly Wish<Arg, By>[], post: () => void): void {
    post();
  }

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

  protected wish(arg: Arg, asker: By): void {
    this.#sendSoon();
    this.#keep(arg, asker, 0);
  }

  /**
   * Many at once are worth calls of their own: those go now, so that their caller may go on while the server works. If it
   * goes on with more of them, these are not shared among calls: the next ones will be the other's.
   */
  protected wishAll(args: readonly Arg[], asker: By, firstPlace: number, isFollowed: boolean): void {
    this.#askedAt = performance.now();
    for (let i = 0; i < args.length; i++) this.#keep(args[i]!, asker, firstPlace + i);
    if (this.#waitingJobs > WORTH_SHARING) this.#send(this.#session.roundTrip.mostInFlight, !isFollowed);
    else this.#sendSoon();
  }

  #keep(arg: Arg, asker: By, place: number): void {
    this.#waiting.push({ arg, askedAt: this.#askedAt, asker, place });
    this.#waitingJobs += this.jobCount(arg);
  }

  // Ticks come after all promise continuations that are ready: what those wish for joins the same call.
  #sendSoon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // One look at the clock for all that is wished for in one turn.
    this.#askedAt = performance.now();
    process.nextTick(() => {
      this.#isScheduled = false;
      this.#send(this.#session.roundTrip.mostInFlightFor(this.#waitingJobs));
      if (this.#isLeading) this.#follow();
    });
  }

  #send(mostInFlight: number, isShared = Number.isFinite(mostInFlight)): void {
    this.#isSending = true;
    while (this.#waiting.length > 0 && this.#inFlight < mostInFlight)
      this.#sendBatch(this.#takeBatch(isShared ? mostInFlight - this.#inFlight : 1));
    this.#isSending = false;
  }

  #sendBatch(batch: readonly Wish<Arg, By>[]): void {
    const argv = this.encode(batch);
    this.#inFlight++;
    const post = () =>
      this.#session.post(
        this.#call,
        argv,
        // An outage is no longer for those who waited behind others: the time they have waited counts.
        batch.at(-1)!.askedAt,
        ({ body, at }) => this.#land(batch.length, () => this.answer(batch, body, at)),
        (error) =>
          this.#land(batch.length, () => {
            for (const { asker, place } of batch) asker.refused(error, place);
          }),
      );
    this.dispatch(batch, post);
  }

  // Answers that come together would lead to calls that leave together, and those to such answers again: the server would
  // have nothing to do whenever this process has. So the second is told when what the first leads to is on its way.
  #land(count: number, tell: () => void): void {
    if (this.#isLeading) {
      this.#untold.push(() => this.#land(count, tell));
      return;
    }
    this.#inFlight--;
    // What waits goes first: the server works on it while this is told.
    if (this.#waiting.length > 0) this.#send(this.#session.roundTrip.mostInFlight);
    for (const wake of this.#settling.splice(0)) wake();
    if (this.#inFlight > 0 && count >= WORTH_SHARING) {
      this.#isLeading = true;
      this.#sendSoon();
    }
    tell();
  }

  // One of them may lead to a call again, and the rest comes behind that.
  #follow(): void {
    this.#isLeading = false;
    while (!this.#isLeading && this.#untold.length > 0) this.#untold.shift()!();
  }

  // The first goes in any case, however large it is; nothing is split.
  #takeBatch(callCount: number): Wish<Arg, By>[] {
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
