// Reads job schedulers: one entry with its next time in a sorted set, one definition each.

import { decodeTemplateOptions } from './codec.ts';
import type { Session } from './session.ts';

/** A scheduler as BullMQ tells of it. */
export interface JobSchedulerJson {
  key: string;
  name: string;
  /** When the next iteration is due, in ms since the epoch; null if there is none. */
  next: number | null;
  iterationCount?: number;
  limit?: number;
  startDate?: number;
  endDate?: number;
  tz?: string;
  pattern?: string;
  every?: number;
  offset?: number;
  template?: { data?: unknown; opts?: object };
}

const numberOf = {
  ic: 'iterationCount',
  limit: 'limit',
  startDate: 'startDate',
  endDate: 'endDate',
  every: 'every',
  offset: 'offset',
} as const;

export class ScheduleStore {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  async count(): Promise<number> {
    return Number(await this.#session.command('ZCARD', [this.#entries]));
  }

  async get(id: string): Promise<JobSchedulerJson | undefined> {
    const next = (await this.#session.command('ZSCORE', [this.#entries, id])) as string | number | null;
    return this.#read(id, next === null ? null : Number(next));
  }

  async list(first: number, last: number, isAscending: boolean): Promise<JobSchedulerJson[]> {
    const command = isAscending ? 'ZRANGE' : 'ZREVRANGE';
    const rows = (await this.#session.command(command, [
      this.#entries,
      first,
      last,
      'WITHSCORES',
    ])) as unknown[];
    // RESP3 answers in pairs, RESP2 flat.
    const flat = rows.flat() as (string | number)[];
    const reads: Promise<JobSchedulerJson | undefined>[] = [];
    for (let i = 0; i < flat.length; i += 2) reads.push(this.#read(String(flat[i]), Number(flat[i + 1])));
    return (await Promise.all(reads)).filter((scheduler) => scheduler !== undefined);
  }

  get #entries(): string {
    return `${this.#session.root}:repeat`;
  }

  // An entry without a definition is passed over; tidying it up is for those who change schedulers.
  async #read(id: string, next: number | null): Promise<JobSchedulerJson | undefined> {
    const reply = (await this.#session.command('HGETALL', [`${this.#entries}:${id}`])) as
      | string[]
      | Record<string, string>;
    const fields = Array.isArray(reply) ? pairsOf(reply) : reply;
    if (Object.keys(fields).length === 0) return undefined;
    const scheduler: JobSchedulerJson = { key: id, name: fields.name ?? '', next };
    for (const [field, name] of Object.entries(numberOf)) {
      if (fields[field]) scheduler[name] = Number.parseInt(fields[field], 10);
    }
    if (fields.tz) scheduler.tz = fields.tz;
    if (fields.pattern) scheduler.pattern = fields.pattern;
    if (fields.data || fields.opts) {
      scheduler.template = {};
      if (fields.data) scheduler.template.data = JSON.parse(fields.data);
      if (fields.opts) scheduler.template.opts = decodeTemplateOptions(fields.opts);
    }
    return scheduler;
  }
}

function pairsOf(flat: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let i = 0; i < flat.length; i += 2) fields[flat[i]!] = flat[i + 1]!;
  return fields;
}
