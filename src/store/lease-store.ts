// What a worker does with jobs it holds: fetch, finish, renew, look after the queue.

import { yokeError } from '../model/errors.ts';
import { type JobRecord, markStarted } from './codec.ts';
import { decodeFetched } from './fetched-records.ts';
import {
  type CompleteInLaneArg,
  completeOneCall,
  exchangeCall,
  extendManyCall,
  maintainCall,
  pushExtend,
  type ScheduleNextCallArg,
  scheduleNextCall,
  signalCall,
} from './generated/engine.ts';
import type { Session, TimedReply } from './session.ts';

export interface Exchange {
  /** The server's time of the exchange. */
  readonly at: number;
  /** Number (from 0, in the order handed in), word and value of each finish that was not accepted. */
  readonly refused: readonly string[];
  readonly jobs: readonly JobRecord[];
  /** Ids that lay in the queue without a readable record; they are gone now. */
  readonly ghosts: readonly string[];
  /** Milliseconds until the rate limit lets a job start; 0 if it does. */
  readonly limitedMs: number;
  /** When the next delayed job is due; 0 if there is none or there was other work. */
  readonly dueAt: number;
  /** There is more than this fetch was given. */
  readonly isMore: boolean;
  /** Why the fetch ended early; the finishes and the jobs beside it stand. */
  readonly trouble: Error | undefined;
}

type ExchangeReply = [string[], unknown[], string[], string, string, string, string];

/** All parts of a reply. One that tells of fetched jobs alone is nothing but those: ids, which are text, and records. */
export function exchangeParts(body: unknown[]): ExchangeReply {
  return Array.isArray(body[0]) ? (body as ExchangeReply) : [[], body, [], '0', '0', '', ''];
}

/** Whose jobs a fetch gets, and on which terms. */
export interface FetchTerms {
  /** Milliseconds. */
  readonly leaseMs: number;
  /** '' = none. */
  readonly workerName: string;
  /** The worker's own rate limit. */
  readonly limiter: { readonly max: number; readonly duration: number } | null;
}

export interface FetchWish extends FetchTerms {
  /** Jobs to run at once; with 0 here and below nothing is fetched. */
  readonly count: number;
  /** Jobs to take beside them, of those that have never begun. Default 0. */
  readonly aheadCount?: number;
  /** For the jobs it gets. */
  readonly token: string;
  /** Fetch only if all that was handed in was accepted. Default false. */
  readonly isAfterFinish?: boolean;
}

/** For finishes alone. */
export const NO_FETCH: FetchWish = Object.freeze({
  count: 0,
  token: '0',
  leaseMs: 0,
  workerName: '',
  limiter: null,
});

const NONE: readonly never[] = Object.freeze([]);

// A fetch ends after this much payload, so that the server is not held by one reply.
const MOST_REPLY_BYTES = 1_000_000;

export interface Lease {
  readonly jobId: string;
  readonly token: string;
}

export class LeaseStore {
  readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** Hands in finishes (encoded by the `push…` functions of the engine) and fetches. */
  exchange(finishes: string[], wish: FetchWish): Promise<Exchange> {
    return new Promise((resolve, reject) => this.post(finishes, wish, performance.now(), resolve, reject));
  }

  /** The same without a promise. One of the two is called, once. */
  post(
    finishes: string[],
    wish: FetchWish,
    askedAt: number,
    answered: (exchange: Exchange) => void,
    failed: (error: unknown) => void,
  ): void {
    const { limiter, workerName } = wish;
    const arg = {
      fetchCount: wish.count,
      aheadCount: wish.aheadCount ?? 0,
      token: wish.token,
      leaseMs: String(wish.leaseMs),
      worker: workerName,
      limitMax: limiter ? String(limiter.max) : '',
      limitMs: limiter ? String(limiter.duration) : '',
      maxBytes: MOST_REPLY_BYTES,
      afterFinish: wish.isAfterFinish === true,
    };
    const read = (reply: TimedReply) => answered(readExchange(reply, workerName));
    this.session.post(exchangeCall, exchangeCall.encode(arg, finishes), askedAt, read, failed);
  }

  /** The same for one completion without a fetch, in a shorter call. `holdsOthers`: the worker has leases of others. */
  postOne(
    completion: CompleteInLaneArg,
    holdsOthers: boolean,
    askedAt: number,
    answered: (exchange: Exchange) => void,
    failed: (error: unknown) => void,
  ): void {
    const read = ({ body, at }: TimedReply) => answered(completed(body as string[], at));
    const args = completeOneCall.encode({ ...completion, holdsOthers });
    this.session.post(completeOneCall, args, askedAt, read, failed);
  }

  /** The leases that are lost. */
  async extend(leases: readonly Lease[], leaseMs: number): Promise<Lease[]> {
    const argv: string[] = [];
    for (const lease of leases) pushExtend(argv, { ...lease, leaseMs: String(leaseMs) });
    const words = (await this.session.run(extendManyCall, extendManyCall.encode(argv))) as string[];
    return leases.filter((_, i) => words[2 * i] !== 'ok');
  }

  /** Recovered ids, and in how many ms the next tick may run if another worker ran this one. */
  async maintain(maxStalls: number, intervalMs: number): Promise<{ recovered: string[]; waitMs: number }> {
    const [recovered, waitMs] = await this.session.run(
      maintainCall,
      maintainCall.encode({ maxStalls, intervalMs }),
    );
    return { recovered: recovered as string[], waitMs: Number(waitMs) };
  }

  async scheduleNext(arg: ScheduleNextCallArg): Promise<void> {
    await this.session.run(scheduleNextCall, scheduleNextCall.encode(arg));
  }

  /** Wakes whoever should be awake: for a marker that this worker popped but cannot act on. */
  async signal(): Promise<void> {
    await this.session.run(signalCall, signalCall.encode());
  }
}

// Of one completion: a refusal is its word and its value.
function completed(refusal: readonly string[], at: number): Exchange {
  return {
    at,
    refused: refusal.length === 0 ? NONE : ['0', ...refusal],
    jobs: NONE,
    ghosts: NONE,
    limitedMs: 0,
    dueAt: 0,
    isMore: false,
    trouble: undefined,
  };
}

function readExchange({ body, at }: TimedReply, workerName: string): Exchange {
  const [refused, fetched, ghosts, limitedMs, dueAt, isMore, reason] = exchangeParts(body);
  const jobs = decodeFetched(fetched);
  for (const record of jobs) markStarted(record, at, workerName);
  return {
    at,
    refused,
    jobs,
    ghosts,
    limitedMs: Number(limitedMs),
    dueAt: Number(dueAt),
    isMore: isMore === '1',
    trouble: reason ? yokeError('CALL_REFUSED', { call: exchangeCall.name, reason }) : undefined,
  };
}
