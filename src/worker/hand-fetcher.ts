// Fetches single jobs for people who process by hand.

import { Job } from '../core/job.ts';
import type { FinishSettings, JobHost } from '../core/job-host.ts';
import { UnrecoverableError } from '../model/errors.ts';
import type { RepeatStrategy } from '../model/options/queue-options.ts';
import { emptyRecord, type JobRecord } from '../store/codec.ts';
import type { Exchange } from '../store/lease-store.ts';
import type { MarkerStore } from '../store/marker-store.ts';
import { scheduleNextIteration } from './next-iteration.ts';

export interface HandFetcherSettings {
  readonly finish: FinishSettings;
  readonly repeatStrategy: RepeatStrategy | null;
  /** Longest wait for a job. */
  readonly blockMs: number;
  /** Told of every fetch. */
  readonly onFetched: (exchange: Exchange) => void;
  readonly onError: (error: Error) => void;
}

export class HandFetcher {
  readonly #host: JobHost;
  readonly #markers: MarkerStore;
  readonly #settings: HandFetcherSettings;

  constructor(host: JobHost, markers: MarkerStore, settings: HandFetcherSettings) {
    this.#host = host;
    this.#markers = markers;
    this.#settings = settings;
  }

  async next(token: string, isBlocking: boolean): Promise<Job | undefined> {
    const first = await this.#fetch(token);
    if (first || !isBlocking || this.#host.closing) return first;
    if (!(await this.#waitForWork())) return undefined;
    return this.#fetch(token);
  }

  /** False if the worker was closed meanwhile. */
  async #waitForWork(): Promise<boolean> {
    const { blockMs } = this.#settings;
    try {
      const wake = await this.#markers.wait(blockMs);
      if (wake.kind === 'due') {
        const ms = Math.min(this.#host.inspect.session.clock.untilMs(wake.dueAt), blockMs);
        await new Promise((resolve) => setTimeout(resolve, ms));
      }
    } catch (error) {
      if (!this.#host.closing) throw error;
    }
    return !this.#host.closing;
  }

  async #fetch(token: string): Promise<Job | undefined> {
    const { leaseMs, workerName, limiter } = this.#settings.finish;
    for (;;) {
      const exchange = await this.#host.leases.exchange([], {
        count: 1,
        token,
        leaseMs,
        workerName,
        limiter,
      });
      const [record] = exchange.jobs;
      if (!record && exchange.trouble) throw exchange.trouble;
      this.#settings.onFetched(exchange);
      if (record) {
        const job = await this.#read(record, token);
        if (job) return job;
        // Behind what had to be dropped or withheld there may be a job.
      } else if (!exchange.isMore) return undefined;
    }
  }

  /** A record that cannot be read fails, and the next one is looked at. */
  async #read(record: JobRecord, token: string): Promise<Job | undefined> {
    let job: Job;
    try {
      job = Job.fromRecord(this.#host, record);
    } catch (error) {
      this.#settings.onError(error as Error);
      const unreadable = Job.fromRecord(this.#host, {
        ...emptyRecord(record.id),
        name: record.name,
        attemptsMade: record.attemptsMade,
      });
      await unreadable.moveToFailed(new UnrecoverableError((error as Error).message), token, false);
      return undefined;
    }
    job.token = token;
    if (job.repeatJobKey) {
      const { clock } = this.#host.inspect.session;
      await scheduleNextIteration(this.#host.leases, job, this.#settings.repeatStrategy, clock.now());
    }
    return job;
  }
}
