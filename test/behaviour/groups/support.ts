// What the suites about groups share: producers, jobs that are run by hand step by step, and what a home's stream
// says. Events are written in the transition itself, so a stream that is read after a reply is complete.

import { afterEach, expect } from 'vitest';
import {
  FlowProducer,
  type FlowProducerOptions,
  type GroupJobDefinition,
  type GroupNode,
  type GroupOptions,
  type GroupState,
  type Job,
  type Queue,
  type Worker,
  type WorkerOptions,
} from '../../../src/index.ts';
import { type Bundle, useBundle } from '../../support/bundle.ts';
import { eventually } from '../../support/eventually.ts';
import { type Keyspace, snapshot } from '../../support/keyspace.ts';

export const TOKEN = 'by-hand';

export interface GroupEvent {
  readonly event: string;
  readonly [field: string]: unknown;
}

/** A promise that a test opens. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Each of these jobs with a compensation `undo-<name>`, tried once unless told otherwise. */
export function undone(
  jobs: readonly GroupJobDefinition[],
  opts: object | undefined = { attempts: 1 },
): NonNullable<GroupOptions['compensation']> {
  return Object.fromEntries(
    jobs.map(({ name }) => [name, { name: `undo-${name}`, data: { undoes: name }, opts }]),
  );
}

export const complete = (job: Job, value: unknown = null): Promise<unknown> =>
  job.moveToCompleted(value, TOKEN, false);

export const fail = (job: Job, reason = 'broken'): Promise<unknown> =>
  job.moveToFailed(new Error(reason), TOKEN);

export class Groups {
  readonly bundle: Bundle;
  #hands = new Map<string, Worker>();
  #queues = new Map<string, Queue>();
  #producer: FlowProducer | undefined;

  constructor(bundle: Bundle) {
    this.bundle = bundle;
  }

  forget(): void {
    this.#hands = new Map();
    this.#queues = new Map();
    this.#producer = undefined;
  }

  names(count: number): string[] {
    return Array.from({ length: count }, () => this.bundle.name());
  }

  producer(opts: FlowProducerOptions = {}): FlowProducer {
    return this.bundle.track(new FlowProducer({ connection: this.bundle.server.connection, ...opts }));
  }

  add(options: GroupOptions): Promise<GroupNode> {
    this.#producer ??= this.producer();
    return this.#producer.addGroup(options);
  }

  /** A group of one job per queue name, named a, b, c and so on, each with a compensation. */
  addPlain(
    queues: readonly string[],
    { opts = [], ...more }: Partial<GroupOptions> & { opts?: GroupJobDefinition['opts'][] } = {},
  ): Promise<GroupNode> {
    const jobs = queues.map((queueName, i) => ({
      name: String.fromCharCode(97 + i),
      queueName,
      data: { n: i },
      ...(opts[i] && { opts: opts[i] }),
    }));
    return this.add({ name: 'order', jobs, compensation: undone(jobs), ...more });
  }

  queue(name: string): Queue {
    let queue = this.#queues.get(name);
    if (!queue) {
      queue = this.bundle.queue(name);
      this.#queues.set(name, queue);
    }
    return queue;
  }

  /** The next job of the queue, leased by hand; undefined where there is none. */
  async tryClaim(name: string): Promise<Job | undefined> {
    let worker = this.#hands.get(name);
    if (!worker) {
      worker = this.bundle.worker(name, null, { lockDuration: 60_000 });
      this.#hands.set(name, worker);
    }
    return worker.getNextJob(TOKEN, { block: false });
  }

  async claim(name: string): Promise<Job> {
    const job = await this.tryClaim(name);
    if (!job) throw new Error(`nothing to fetch in ${name}`);
    return job;
  }

  /** Looks after the queue and its groups, without running anything. */
  upkeep(name: string, opts: WorkerOptions = {}): Worker {
    const worker = this.bundle.worker(name, null, { stalledInterval: 50, ...opts });
    void worker.startStalledCheckTimer();
    return worker;
  }

  /** All that a queue has told, in order. */
  async stream(name: string): Promise<GroupEvent[]> {
    const rows = await this.bundle.server.admin.xrange(`bull:${name}:events`, '-', '+');
    return rows.map(([, fields]) => {
      const entry: Record<string, unknown> = {};
      for (let i = 0; i < fields.length; i += 2) entry[fields[i]!] = fields[i + 1];
      if (typeof entry.compensationResults === 'string')
        entry.compensationResults = JSON.parse(entry.compensationResults);
      return entry as GroupEvent;
    });
  }

  /** What happened to groups at home here, in order. */
  async events(home: string, groupId?: string): Promise<GroupEvent[]> {
    return (await this.stream(home)).filter(
      (entry) => entry.event.startsWith('group:') && (groupId === undefined || entry.groupId === groupId),
    );
  }

  async eventNames(home: string, groupId?: string): Promise<string[]> {
    return (await this.events(home, groupId)).map(({ event }) => event);
  }

  async statuses(node: GroupNode): Promise<string[]> {
    return (await node.group.getJobs()).map(({ status }) => status);
  }

  /** Resolves when the group is in this state. */
  until(node: GroupNode, state: GroupState['state']): Promise<GroupState> {
    return eventually(async () => {
      const now = await node.group.getState();
      expect(now?.state).toBe(state);
      return now!;
    });
  }

  /** Completes every compensation job that waits in this queue's compensation queue; what they were. */
  async undoAll(queueName: string): Promise<Job[]> {
    const done: Job[] = [];
    for (;;) {
      const job = await this.tryClaim(`${queueName}:compensation`);
      if (!job) return done;
      await complete(job, 'undone');
      done.push(job);
    }
  }

  /** All keys of these queues, but for what passes by itself. */
  async keyspace(...names: string[]): Promise<Keyspace> {
    const ignore = (key: string) => key.includes('meta:replay:') || key.endsWith('stalled-check');
    const spaces = await Promise.all(
      names.map((name) => snapshot(this.bundle.server.admin, `bull:${name}:`, { ignore })),
    );
    return Object.assign(
      {},
      ...spaces.map((space, i) =>
        Object.fromEntries(Object.entries(space).map(([key, value]) => [`${names[i]}:${key}`, value])),
      ),
    );
  }
}

export function useGroups(): Groups {
  const groups = new Groups(useBundle());
  afterEach(() => groups.forget());
  return groups;
}
