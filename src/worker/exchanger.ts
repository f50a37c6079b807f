// A worker's one conversation with its queue: finishes that are ready together and the fetch of as many jobs as
// there are free slots, and of some ahead, become one call. A few calls may be on their way (round-trip.ts), so that
// one finish never waits for another's reply. Nothing waits on a timer.

import { completionOf, encodeFinishes, type Finish, isAccepted, sizeOf } from '../core/finishing.ts';
import type { JobRecord } from '../store/codec.ts';
import type { Exchange, FetchTerms, LeaseStore } from '../store/lease-store.ts';
import { refusal } from '../store/replies.ts';

export interface ExchangerSettings extends FetchTerms {
  /** How many jobs could start now; called when a call is about to be sent. */
  readonly freeSlots: () => number;
  /** How many jobs may be held without a slot, how many are worth being fetched, and how many are held. */
  readonly mostAhead: () => number;
  readonly fewestAhead: () => number;
  readonly heldCount: () => number;
  /** A call was answered after so many milliseconds. */
  readonly onCall: (ms: number) => void;
  /** Handlers are running whose outcome may join the next call. */
  readonly isAnyRunning: () => boolean;
  /** The most that one call may ask for. */
  readonly mostPerFetch: () => number;
  /** A token for the jobs of one fetch. */
  readonly nextToken: () => string;
  /** What a fetch has brought, if anything; the leases are no older than `leasedAt`, on the monotonic clock. */
  readonly onJobs: (records: readonly JobRecord[], token: string, leasedAt: number) => void;
  /** A fetch has been answered, with or without jobs. */
  readonly onFetched: (exchange: Exchange) => void;
  readonly onError: (error: Error) => void;
}

interface PendingFinish {
  readonly finish: Finish;
  /** Of a job that goes back unbegun, with others. */
  readonly isGoingBack: boolean;
  readonly resolve: (at: number) => void;
  readonly reject: (error: unknown) => void;
}

interface Answer {
  readonly exchange: Exchange;
  readonly finishes: readonly PendingFinish[];
  readonly fetchCount: number;
  readonly aheadCount: number;
  readonly token: string;
  readonly sentAt: number;
}

// Of finishes, and of jobs.
const MOST_PER_CALL = 128;
// Results may be large: so that the server is not held by one call, and a slow link brings one over before its deadline.
const MOST_BYTES = 1_000_000;
// More than this is shared among the calls that may be on their way, so that the server works on one while the handlers
// of the other's jobs run. Fewer are not worth a call of their own.
const WORTH_SHARING = 64;
// Where handlers take their time, slots stand idle until the reply: many short calls keep fewer waiting than a few long
// ones, and the jobs that start together are fewer, so that they do not end together again. One more may be on its way:
// a server that has the next at hand does not go to sleep in between.
const SHORT = 12;
const MOST_SHORT_IN_FLIGHT = 3;
// A server so far away that every answer is late gets its jobs done all the same.
const MOST_RENEWALS = 3;

export class Exchanger {
  readonly #leases: LeaseStore;
  readonly #settings: ExchangerSettings;
  readonly #waiters: (() => void)[] = [];
  readonly #answers: Answer[] = [];
  #finishes: PendingFinish[] = [];
  /** How many of them go back. */
  #goingBack = 0;
  /** Calls on their way. */
  #inFlight = 0;
  /** Calls on their way or answered and not yet acted upon. */
  #open = 0;
  #requested = 0;
  #requestedAhead = 0;
  #wantsWork = false;
  #isScheduled = false;
  /** An answer is being acted upon; what it leads to is sent at the end of that. */
  #isActing = false;
  /** The handlers of the last jobs returned without waiting for anything. */
  #isInstant = true;

  constructor(leases: LeaseStore, settings: ExchangerSettings) {
    this.#leases = leases;
    this.#settings = settings;
  }

  /** Slots that a call on its way may fill. */
  get requested(): number {
    return this.#requested;
  }

  /** A call on its way may bring jobs. */
  get isFetching(): boolean {
    return this.#requested + this.#requestedAhead > 0;
  }

  /** Nothing is asked for and no answer with jobs is on its way. */
  get isQuiet(): boolean {
    return this.#requested === 0 && !this.#wantsWork && this.#finishes.length === 0;
  }

  /** Resolves to the server's time when it has accepted it; rejects with the refusal. */
  finish(finish: Finish): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#finishes.push({ finish, isGoingBack: false, resolve, reject });
      // Nobody else can finish in this turn: waiting for its end would only cost time.
      if (this.#settings.isAnyRunning()) this.schedule();
      else this.#send();
    });
  }

  /** All of them before anything is fetched: a fetch between them would bring the last ones first. */
  giveBack(finishes: readonly Finish[], reject: (error: unknown) => void): void {
    for (const finish of finishes)
      this.#finishes.push({ finish, isGoingBack: true, resolve: () => {}, reject });
    this.#goingBack += finishes.length;
    this.#send();
  }

  /** There may be work: ask for it with the next call. */
  fetch(): void {
    this.#wantsWork = true;
    // With nothing in hand there is nobody whose outcome could join.
    if (this.#settings.isAnyRunning() || this.#open > 0) this.schedule();
    else this.#send();
  }

  /** At the end of this turn, so that what else finishes in it joins the same call. */
  schedule(): void {
    if (this.#isScheduled || this.#isActing) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  /** Resolves when every finish handed in so far has been answered. */
  async settle(): Promise<void> {
    while (this.#finishes.length > 0 || this.#open > 0) {
      this.#send();
      // A session that has been stopped refuses at once: then nobody is left to wake this.
      if (this.#finishes.length === 0 && this.#open === 0) return;
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
  }

  #send(): void {
    const { roundTrip } = this.#leases.session;
    const mostAhead = this.#settings.mostAhead();
    for (;;) {
      const isShort = !this.#isInstant && !roundTrip.isFar && mostAhead === 0;
      // Answers not yet acted upon lead to calls of their own: shared with those, these would reach the server together,
      // and it answers what it reads together together.
      const mostInFlight = isShort ? MOST_SHORT_IN_FLIGHT : roundTrip.mostInFlight;
      const callCount = mostInFlight - this.#inFlight - this.#answers.length;
      if (callCount <= 0) return;
      const finishes = this.#takeFinishes(shareOf(this.#finishes.length, callCount, isShort));
      if (this.#goingBack > 0) this.#goingBack -= finishes.filter(({ isGoingBack }) => isGoingBack).length;
      const mayFetch = this.#goingBack === 0 && (finishes.length > 0 || this.#wantsWork);
      const free = mayFetch ? this.#settings.freeSlots() : 0;
      const wanted = Math.max(0, Math.min(shareOf(free, callCount, isShort), this.#settings.mostPerFetch()));
      if (finishes.length === 0 && wanted === 0) return;
      // What one call may not ask for goes with the next, at once.
      this.#wantsWork = mayFetch ? wanted > 0 && wanted < free : true;
      this.#exchange(finishes, wanted, mayFetch && mostAhead > 0 ? this.#shareAhead(mostAhead, wanted) : 0);
    }
  }

  // The first goes in any case, however large it is.
  #takeFinishes(most: number): PendingFinish[] {
    let bytes = 0;
    let count = 0;
    while (count < most) {
      bytes += sizeOf(this.#finishes[count]!.finish);
      if (count > 0 && bytes > MOST_BYTES) break;
      count++;
    }
    return this.#finishes.splice(0, count);
  }

  // Half of them, for the same reason as of the slots.
  #shareAhead(mostAhead: number, wanted: number): number {
    const room = mostAhead - this.#requestedAhead - this.#settings.heldCount();
    if (room < this.#settings.fewestAhead()) return 0;
    return Math.max(0, Math.min(room, Math.ceil(mostAhead / 2), MOST_PER_CALL - wanted));
  }

  #exchange(finishes: readonly PendingFinish[], fetchCount: number, aheadCount: number): void {
    const token = fetchCount + aheadCount > 0 ? this.#settings.nextToken() : '0';
    this.#requested += fetchCount;
    this.#requestedAhead += aheadCount;
    this.#inFlight++;
    this.#open++;
    const sentAt = performance.now();
    const answered = (exchange: Exchange) => {
      this.#inFlight--;
      this.#settings.onCall(performance.now() - sentAt);
      // What waits goes first: the server works on it while the jobs of this answer start.
      if (this.#finishes.length > 0) this.#send();
      this.#answers.push({ exchange, finishes, fetchCount, aheadCount, token, sentAt });
      if (!this.#isActing) this.#act();
    };
    const failed = (error: unknown) => {
      this.#inFlight--;
      this.#requested -= fetchCount;
      this.#requestedAhead -= aheadCount;
      for (const { reject } of finishes) reject(error);
      this.#settings.onError(error as Error);
      this.#close();
      if (this.#finishes.length > 0 || this.#wantsWork) this.schedule();
    };
    const isAlone = finishes.length === 1 && fetchCount + aheadCount === 0;
    const completion = isAlone ? completionOf(finishes[0]!.finish) : undefined;
    if (completion)
      this.#leases.postOne(completion, this.#settings.heldCount() > 0, sentAt, answered, failed);
    else {
      const { limiter, leaseMs, workerName } = this.#settings;
      const wish = { count: fetchCount, aheadCount, token, leaseMs, workerName, limiter };
      const argv = encodeFinishes(finishes.map(({ finish }) => finish));
      this.#leases.post(argv, wish, sentAt, answered, failed);
    }
  }

  // One answer after the other, also where several came at once: the outcomes of the first one's jobs are on their way
  // to the server before those of the second start, so that the server and the handlers work at the same time.
  #act(): void {
    const answer = this.#answers.shift();
    this.#isActing = answer !== undefined;
    if (!answer) {
      if (this.#finishes.length > 0 || this.#wantsWork) this.schedule();
      return;
    }
    const { exchange, finishes } = answer;
    tellOutcomes(finishes, exchange);
    // Outcomes are told before the next jobs start, or a listener would hear of a second job at concurrency 1.
    if (finishes.length > 0 && exchange.jobs.length > 0) onceNothingIsReady(() => this.#start(answer));
    else this.#start(answer);
  }

  #start(answer: Answer): void {
    onceNothingIsReady(() => {
      this.#isInstant = !this.#settings.isAnyRunning();
      if (this.#isInstant) this.#send();
      this.#act();
    });
    const { exchange, sentAt } = answer;
    if (exchange.jobs.length > 0 && this.#isLate(sentAt)) void this.#startLate(answer);
    else this.#startJobs(answer, exchange.jobs, sentAt);
  }

  #startJobs(answer: Answer, jobs: readonly JobRecord[], leasedAt: number): void {
    const { exchange, fetchCount, aheadCount, token } = answer;
    this.#requested -= fetchCount;
    this.#requestedAhead -= aheadCount;
    if (fetchCount + aheadCount > 0) this.#settings.onJobs(jobs, token, leasedAt);
    if (exchange.trouble) this.#settings.onError(exchange.trouble);
    else if (fetchCount > 0) {
      // A full answer, or one cut short on purpose, means that there may be more.
      if (exchange.isMore || exchange.jobs.length >= fetchCount) this.#wantsWork = true;
      this.#settings.onFetched(exchange);
    }
    this.#close();
  }

  #close(): void {
    this.#open--;
    for (const wake of this.#waiters.splice(0)) wake();
  }

  #isLate(sentAt: number): boolean {
    return performance.now() - sentAt > this.#settings.leaseMs / 4;
  }

  // The leases run since the server gave the jobs out. A reply that took long (a lost one sent again, a frozen
  // process) may bring jobs that are running elsewhere by now, so each lease is renewed before its job starts; and
  // again if that reply took long too, for it may tell of a renewal that has run out since.
  async #startLate(answer: Answer): Promise<void> {
    const { token } = answer;
    let kept = answer.exchange.jobs;
    let renewedAt = 0;
    try {
      for (let tries = 0; kept.length > 0 && tries < MOST_RENEWALS; tries++) {
        renewedAt = performance.now();
        const lost = await this.#leases.extend(
          kept.map(({ id }) => ({ jobId: id, token })),
          this.#settings.leaseMs,
        );
        const lostIds = new Set(lost.map(({ jobId }) => jobId));
        kept = kept.filter(({ id }) => !lostIds.has(id));
        if (!this.#isLate(renewedAt)) break;
      }
    } catch (error) {
      kept = [];
      this.#settings.onError(error as Error);
    }
    this.#startJobs(answer, kept, renewedAt);
    if (this.#finishes.length > 0 || this.#wantsWork) this.schedule();
  }
}

// Ticks come after all promise continuations that are ready, however many steps those take; from within a tick only if
// a continuation asks for the next.
function onceNothingIsReady(act: () => void): void {
  queueMicrotask(() => process.nextTick(act));
}

/** How many of them go into the next of `callCount` calls. */
function shareOf(count: number, callCount: number, isShort: boolean): number {
  if (isShort) return Math.min(count, SHORT);
  return Math.min(MOST_PER_CALL, count <= WORTH_SHARING ? count : Math.ceil(count / callCount));
}

function tellOutcomes(finishes: readonly PendingFinish[], { refused, at }: Exchange): void {
  for (let i = 0, next = 0; i < finishes.length; i++) {
    const { finish, resolve, reject } = finishes[i]!;
    if (next < refused.length && Number(refused[next]) === i) {
      const word = refused[next + 1]!;
      if (isAccepted(finish, word)) resolve(at);
      else reject(refusal(word, refused[next + 2]!, finish.of));
      next += 3;
    } else resolve(at);
  }
}
