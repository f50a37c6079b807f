// What there is to go by: what was planned, what the streams told, what the handlers wrote, by job and by group.

import type { Queue } from '../../src/index.ts';
import type { Fault, Note } from '../support/processes.ts';
import type { GroupPlan } from './plan.ts';
import type { Told } from './streams.ts';

export interface CheckInput {
  readonly plans: readonly GroupPlan[];
  readonly queues: ReadonlyMap<string, Queue>;
  readonly told: readonly Told[];
  readonly history: readonly Note[];
  readonly faults: readonly Fault[];
  /** Ids of the groups whose cancelling was accepted. */
  readonly cancelled: ReadonlySet<string>;
  /** Queues whose finished jobs are trimmed by count. */
  readonly trimmed: ReadonlySet<string>;
  readonly maxStalls: number;
}

const RUN_KINDS = ['added', 'active', 'completed', 'failed', 'removed', 'stalled'] as const;
export type RunEvents = Record<(typeof RUN_KINDS)[number], Told[]>;

export class Evidence {
  readonly #ofJob = new Map<string, RunEvents>();
  readonly #ofGroup = new Map<string, Told[]>();
  readonly #notes = new Map<string, Note[]>();
  readonly jobsAdded: { queue: string; jobId: string }[] = [];

  constructor({ told, history }: CheckInput) {
    for (const event of told) {
      if (event.groupId) this.#list(this.#ofGroup, `${event.queue} ${event.groupId}`).push(event);
      else if (RUN_KINDS.includes(event.event as never))
        this.job(event.queue, event.jobId!)[event.event as keyof RunEvents].push(event);
      if (event.event === 'added') this.jobsAdded.push({ queue: event.queue, jobId: event.jobId! });
    }
    for (const note of history) if (note.job) this.#list(this.#notes, `${note.queue} ${note.job}`).push(note);
  }

  #list<T>(map: Map<string, T[]>, key: string): T[] {
    const list = map.get(key) ?? [];
    map.set(key, list);
    return list;
  }

  job(queue: string, id: string): RunEvents {
    const key = `${queue} ${id}`;
    let events = this.#ofJob.get(key);
    if (!events) {
      events = { added: [], active: [], completed: [], failed: [], removed: [], stalled: [] };
      this.#ofJob.set(key, events);
    }
    return events;
  }

  group(home: string, id: string, event: string): Told[] {
    return (this.#ofGroup.get(`${home} ${id}`) ?? []).filter((told) => told.event === event);
  }

  notes(queue: string, id: string, op?: string): Note[] {
    const notes = this.#notes.get(`${queue} ${id}`) ?? [];
    return op ? notes.filter((note) => note.op === op) : notes;
  }
}
