// A worker's one conversation with its queue: finishes that are ready together and the fetch of as many jobs as
// there are free slots become one call. A few calls may be on their way (round-trip.ts), so that one finish never
// waits for another's reply. Nothing waits on a timer.

import { type Finish, isAccepted } from '../core/finishing.ts';
import type { JobRecord } from '../store/codec.ts';
import type { Exchange, FetchTerms, LeaseStore } from '../store/lease-store.ts';
import { refusal } from '../store/replies.ts';

export interface ExchangerSettings extends FetchTerms {
  /** How many jobs could start now; called when a call is about to be sent. */
  readonly freeSlots: () => number;
  /** Handlers are running whose outcome may join the next call. */
  readonly isAnyRunning: () => boolean;
  /** The most that one call may ask for. */
  readonly mostPerFetch: () => number;
  /** A token for the jobs of one fetch. */
  readonly nextToken: () => string;
  /** Jobs to start; their leases are no older than `leasedAt`, on the monotonic clock. */
  readonly onJobs: (records: readonly JobRecord[], token: string, leasedAt: number) => void;
  /** A fetch has been answered, with or without jobs. */
  readonly onFetched: (exchange: Exchange) => void;
  readonly onError: (error: Error) => void;
}

interface PendingFinish {
  readonly finish: Finish;
  readonly resolve: (at: number) => void;
  readonly reject: (error: unknown) => void;
}

const MOST_FINISHES = 128;
// More than this is shared among the calls that may be on their way, so that the server works on one while the handlers
// of the other's jobs run. Fewer are not worth a call of their own.
const WORTH_SHARING = 64;
const MOST_FETCHED = 128;
// A server so far away that every answer is late gets its jobs done all the same.
const MOST_RENEWALS = 3;

export class Exchanger {
  readonly #leases: LeaseStore;
  readonly #settings: ExchangerSettings;
  readonly #flights = new Set<Promise<void>>();
  #finishes: PendingFinish[] = [];
  #requested = 0;
  #wantsWork = false;
  #isScheduled = false;

  constructor(leases: LeaseStore, settings: ExchangerSettings) {
    this.#leases = leases;
    this.#settings = settings;
  }

  /** Slots that a call on its way may fill. */
  get requested(): number {
    return this.#requested;
  }

  /** Nothing is asked for and no answer with jobs is on its way. */
  get isQuiet(): boolean {
    return this.#requested === 0 && !this.#wantsWork && this.#finishes.length === 0;
  }

  /** Resolves to the server's time when it has accepted it; rejects with the refusal. */
  finish(finish: Finish): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#finishes.push({ finish, resolve, reject });
      // Nobody else can finish in this turn: waiting for its end would only cost time.
      if (this.#settings.isAnyRunning()) this.schedule();
      else this.#send();
    });
  }

  /** There may be work: ask for it with the next call. */
  fetch(): void {
    this.#wantsWork = true;
    // With nothing in hand there is nobody whose outcome could join.
    if (this.#settings.isAnyRunning() || this.#flights.size > 0) this.schedule();
    else this.#send();
  }

  /** At the end of this turn, so that what else finishes in it joins the same call. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  /** Resolves when every finish handed in so far has been answered. */
  async settle(): Promise<void> {
    while (this.#finishes.length > 0 || this.#flights.size > 0) {
      this.#send();
      await Promise.all(this.#flights);
    }
  }

  #send(): void {
    for (;;) {
      const callCount = this.#leases.session.roundTrip.mostInFlight - this.#flights.size;
      if (callCount <= 0) return;
      const shareOf = (count: number) => (count <= WORTH_SHARING ? count : Math.ceil(count / callCount));
      const finishes = this.#finishes.splice(0, Math.min(MOST_FINISHES, shareOf(this.#finishes.length)));
      const free = finishes.length > 0 || this.#wantsWork ? this.#settings.freeSlots() : 0;
      const most = Math.min(MOST_FETCHED, shareOf(free), this.#settings.mostPerFetch());
      const wanted = Math.max(0, Math.min(free, most));
      if (finishes.length === 0 && wanted === 0) return;
      // What one call may not ask for goes with the next, at once.
      this.#wantsWork = wanted > 0 && wanted < free;
      const flight: Promise<void> = this.#exchange(finishes, wanted).finally(() => {
        this.#flights.delete(flight);
        if (this.#finishes.length > 0 || this.#wantsWork) this.schedule();
      });
      this.#flights.add(flight);
    }
  }

  async #exchange(finishes: PendingFinish[], fetchCount: number): Promise<void> {
    const { limiter, leaseMs, workerName } = this.#settings;
    const argv: string[] = [];
    for (const { finish } of finishes) argv.push(...finish.argv);
    const token = fetchCount > 0 ? this.#settings.nextToken() : '0';
    this.#requested += fetchCount;
    const sentAt = performance.now();
    let exchange: Exchange;
    try {
      exchange = await this.#leases.exchange(argv, {
        count: fetchCount,
        token,
        leaseMs,
        workerName,
        limiter,
      });
    } catch (error) {
      this.#requested -= fetchCount;
      for (const { reject } of finishes) reject(error);
      this.#settings.onError(error as Error);
      return;
    }
    const { refused, at } = exchange;
    for (let i = 0, next = 0; i < finishes.length; i++) {
      const { finish, resolve, reject } = finishes[i]!;
      if (next < refused.length && Number(refused[next]) === i) {
        const word = refused[next + 1]!;
        if (isAccepted(finish, word)) resolve(at);
        else reject(refusal(word, refused[next + 2]!, finish.of));
        next += 3;
      } else resolve(at);
    }
    // Outcomes are told before the next jobs start, or a listener would hear of a second job at concurrency 1.
    if (finishes.length > 0 && exchange.jobs.length > 0) await untilToldAll();
    if (exchange.jobs.length > 0 && this.#isLate(sentAt))
      await this.#startLate(exchange.jobs, token, fetchCount);
    else {
      this.#requested -= fetchCount;
      if (exchange.jobs.length > 0) this.#settings.onJobs(exchange.jobs, token, sentAt);
    }
    if (exchange.trouble) this.#settings.onError(exchange.trouble);
    else if (fetchCount > 0) {
      // A full answer, or one cut short on purpose, means that there may be more.
      if (exchange.isMore || exchange.jobs.length === fetchCount) this.#wantsWork = true;
      this.#settings.onFetched(exchange);
    }
  }

  #isLate(sentAt: number): boolean {
    return performance.now() - sentAt > this.#settings.leaseMs / 4;
  }

  // The leases run since the server gave the jobs out. A reply that took long (a lost one sent again, a frozen
  // process) may bring jobs that are running elsewhere by now, so each lease is renewed before its job starts; and
  // again if that reply took long too, for it may tell of a renewal that has run out since.
  async #startLate(records: readonly JobRecord[], token: string, fetchCount: number): Promise<void> {
    let kept = records;
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
    this.#requested -= fetchCount;
    if (kept.length > 0) this.#settings.onJobs(kept, token, renewedAt);
  }
}

// Ticks come after all promise continuations that are ready, however many steps those take.
function untilToldAll(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
