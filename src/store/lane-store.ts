// Typed verbs over the lanes of one queue.

import type { LaneSettings } from '../model/options/queue-options.ts';
import { decodeRecord, type JobRecord } from './codec.ts';
import {
  checkLanesCall,
  configureLanesCall,
  freeLanesCall,
  laneJobsCall,
  lanesCall,
  removeLaneCall,
  setLaneCall,
} from './generated/engine.ts';
import type { Session } from './session.ts';

/** A lane that has jobs or is stopped. */
export interface LaneInfo {
  readonly lane: string;
  /** Jobs that rest in the lane; those that are out come on top. */
  readonly depth: number;
  /** Ids of the jobs that are out: ready, active, backing off. */
  readonly out: string[];
  /** `orderMs` of the first job that rests; undefined if none does. */
  readonly oldestOrderMs: number | undefined;
  readonly isPaused: boolean;
  readonly isHalted: boolean;
  /** The lane's own; undefined where the queue's holds. */
  readonly concurrency: number | undefined;
}

/**
 * What an audit found: `gone` a job without a record, `finished` a job that ended elsewhere and still counts as out,
 * `lost` one that lies nowhere, `stuck` a lane that should go on and has not, `error` a lane that cannot be read.
 */
export interface LaneFinding {
  readonly lane: string;
  /** Empty where the lane itself is meant. */
  readonly jobId: string;
  readonly problem: 'gone' | 'finished' | 'lost' | 'stuck' | 'error';
}

export interface LaneAudit {
  /** Lanes that were checked. */
  readonly checked: number;
  readonly findings: LaneFinding[];
}

// What one call may do; longer work is done in steps, so that the server serves others in between.
const STEP = 1000;

export class LaneStore {
  readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  async list(first: number, last: number): Promise<{ count: number; lanes: LaneInfo[] }> {
    const [count, ...rows] = await this.session.query(lanesCall, lanesCall.encode({ first, last }));
    return { count: Number(count), lanes: rows.map((row) => decodeLane(row as string[])) };
  }

  async jobs(lane: string, first: number, last: number): Promise<JobRecord[]> {
    const rows = await this.session.query(laneJobsCall, laneJobsCall.encode({ lane, first, last }));
    const records: JobRecord[] = [];
    for (let i = 0; i < rows.length; i += 2)
      records.push(decodeRecord(rows[i] as string, rows[i + 1] as string[]));
    return records;
  }

  async pause(lane: string): Promise<void> {
    await this.#set({ lane, pauses: true, resumes: false, concurrency: '' });
  }

  async resume(lane: string): Promise<void> {
    await this.#set({ lane, pauses: false, resumes: true, concurrency: '' });
  }

  /** null goes back to the queue's. */
  async setConcurrency(lane: string, concurrency: number | null): Promise<void> {
    await this.#set({ lane, pauses: false, resumes: false, concurrency: String(concurrency ?? 0) });
  }

  /** Writes what is given; where that changes anything, every lane goes on by the new rules. */
  async configure(settings: LaneSettings): Promise<void> {
    const text = (value: string | number | undefined) => (value === undefined ? '' : String(value));
    const [word] = await this.session.run(
      configureLanesCall,
      configureLanesCall.encode({
        concurrency: text(settings.concurrency),
        onRetry: text(settings.onRetry),
        onFailure: text(settings.onFailure),
        orderingDelay: text(settings.orderingDelayMs),
      }),
    );
    if (word === 'changed') await this.audit(true, 1);
  }

  /** How many jobs were removed. */
  remove(lane: string): Promise<number> {
    return this.#untilDone((most) => this.session.run(removeLaneCall, removeLaneCall.encode({ lane, most })));
  }

  /** How many jobs have become ordinary ones. */
  free(): Promise<number> {
    return this.#untilDone((most) => this.session.run(freeLanesCall, freeLanesCall.encode({ most })));
  }

  async audit(heals: boolean, mostResting = STEP): Promise<LaneAudit> {
    const findings: LaneFinding[] = [];
    let checked = 0;
    let after = '';
    do {
      const arg = { after, most: STEP, mostResting, heals };
      const reply = (await this.session.run(checkLanesCall, checkLanesCall.encode(arg))) as string[];
      const [following = '', count = '0', text = '[]'] = reply;
      const found = JSON.parse(text) as string[];
      for (let i = 0; i < found.length; i += 3) {
        const problem = found[i + 2] as LaneFinding['problem'];
        findings.push({ lane: found[i]!, jobId: found[i + 1]!, problem });
      }
      checked += Number(count);
      after = following;
    } while (after !== '');
    return { checked, findings };
  }

  async #set(arg: Parameters<typeof setLaneCall.encode>[0]): Promise<void> {
    await this.session.run(setLaneCall, setLaneCall.encode(arg));
  }

  async #untilDone(step: (most: number) => Promise<unknown[]>): Promise<number> {
    for (let total = 0; ; ) {
      const [word, count] = await step(STEP);
      total += Number(count);
      if (word === 'done') return total;
    }
  }
}

function decodeLane([lane = '', depth, order, paused, halted, concurrency, ...out]: string[]): LaneInfo {
  return {
    lane,
    depth: Number(depth),
    out,
    oldestOrderMs: order ? Number(order) : undefined,
    isPaused: paused === '1',
    isHalted: halted === '1',
    concurrency: concurrency ? Number(concurrency) : undefined,
  };
}
