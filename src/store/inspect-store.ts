// Reads: states, counts, ranges, records, settings. Nothing here changes a job.

import type { JobState, JobType } from '../model/states.ts';
import { decodeRecord, type JobRecord } from './codec.ts';
import {
  countsCall,
  finishedCall,
  limitCall,
  listCall,
  perPriorityCall,
  rangesCall,
  stateCall,
} from './generated/engine.ts';
import type { Session } from './session.ts';

export interface Page {
  readonly first: number;
  readonly last: number;
  readonly isAscending: boolean;
}

export class InspectStore {
  readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  async record(jobId: string): Promise<JobRecord | undefined> {
    const flat = (await this.session.command('HGETALL', [this.#key(jobId)])) as
      | string[]
      | Record<string, string>;
    const list = Array.isArray(flat) ? flat : Object.entries(flat).flat();
    return list.length > 0 ? decodeRecord(jobId, list) : undefined;
  }

  async state(jobId: string): Promise<JobState | 'unknown'> {
    const [state] = await this.session.query(stateCall, stateCall.encode({ jobId }));
    return state as JobState | 'unknown';
  }

  async finished(jobId: string): Promise<{ word: string; value: string }> {
    const [word, value] = (await this.session.query(finishedCall, finishedCall.encode({ jobId }))) as [
      string,
      string,
    ];
    return { word, value };
  }

  async counts(types: readonly JobType[]): Promise<number[]> {
    return (await this.session.query(countsCall, countsCall.encode(types))).map(Number);
  }

  async ranges(types: readonly JobType[], page: Page): Promise<string[]> {
    const lists = (await this.session.query(rangesCall, rangesCall.encode(page, types))) as string[][];
    return [...new Set(lists.flat())];
  }

  async list(types: readonly JobType[], page: Page): Promise<JobRecord[]> {
    const pages = (await this.session.query(listCall, listCall.encode(page, types))) as unknown[][];
    const records = new Map<string, JobRecord>();
    for (const rows of pages) {
      for (let i = 0; i < rows.length; i += 2) {
        const id = rows[i] as string;
        if (!records.has(id)) records.set(id, decodeRecord(id, rows[i + 1] as string[]));
      }
    }
    return [...records.values()];
  }

  async perPriority(priorities: readonly number[]): Promise<number[]> {
    return (await this.session.query(perPriorityCall, perPriorityCall.encode(priorities.map(String)))).map(
      Number,
    );
  }

  async limitMs(max: number | undefined): Promise<number> {
    const [ms] = await this.session.query(
      limitCall,
      limitCall.encode({ max: max === undefined ? '' : String(max) }),
    );
    return Number(ms);
  }

  async logs(
    jobId: string,
    first: number,
    last: number,
    isAscending: boolean,
  ): Promise<{ logs: string[]; count: number }> {
    const key = `${this.#key(jobId)}:logs`;
    const range = isAscending ? [first, last] : [-(last + 1), -(first + 1)];
    const [logs, count] = await Promise.all([
      this.session.command('LRANGE', [key, ...range]) as Promise<string[]>,
      this.session.command('LLEN', [key]) as Promise<number>,
    ]);
    return { logs: isAscending ? logs : logs.reverse(), count };
  }

  async meta(): Promise<Map<string, string>> {
    const reply = (await this.session.command('HGETALL', [`${this.session.root}:meta`])) as
      | string[]
      | Record<string, string>;
    const flat = Array.isArray(reply) ? reply : Object.entries(reply).flat();
    const meta = new Map<string, string>();
    for (let i = 0; i < flat.length; i += 2) meta.set(flat[i]!, flat[i + 1]!);
    return meta;
  }

  #key(jobId: string): string {
    return `${this.session.root}:${jobId}`;
  }
}
