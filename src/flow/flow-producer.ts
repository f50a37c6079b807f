// FlowProducer: adds jobs that belong together. Groups are here; BullMQ's flows are refused until this version can
// make them.

import { randomUUID } from 'node:crypto';
import { Job } from '../core/job.ts';
import { JobGroup } from '../core/job-group.ts';
import { LinkOwner } from '../core/link-owner.ts';
import { type YokeError, yokeError } from '../model/errors.ts';
import { type BaseOptions, baseOptionNames, resolveBaseOptions } from '../model/options/base-options.ts';
import { readObject } from '../model/options/checks.ts';
import {
  type GroupOptions,
  type ResolvedGroupJob,
  resolveGroupOptions,
} from '../model/options/group-options.ts';
import { readMaxPayloadBytes } from '../model/options/queue-options.ts';
import { findUnknownOptions } from '../model/options/unknown-options.ts';
import { isClient, isCluster, type RedisClient } from '../store/client.ts';
import { GroupBatch } from '../store/group-batch.ts';
import { GroupStore } from '../store/group-store.ts';
import { hashTagOf, qualifiedName } from '../store/keys.ts';
import type { Session } from '../store/session.ts';
import { encodeGroup } from './group-encoding.ts';
import { MemberQueue } from './member-queue.ts';

export interface FlowProducerOptions extends BaseOptions {
  /** Most bytes of JSON one payload may have. Default 10 MB. */
  maxPayloadBytes?: number;
}

export interface FlowProducerListener {
  error: (error: Error) => void;
  closing: () => void;
  /** The connection was lost; it is being restored. */
  'ioredis:close': () => void;
}

export interface GroupNode {
  groupId: string;
  groupName: string;
  /** The members in the order given; of a group that existed, those that still have a record. */
  jobs: Job[];
  group: JobGroup;
}

/** Where groups are kept. */
interface Home {
  readonly store: GroupStore;
  readonly adds: GroupBatch;
}

const names = [...baseOptionNames, 'maxPayloadBytes'];

function notYet(name: string): YokeError {
  return yokeError('NOT_SUPPORTED_YET', { feature: `flowProducer.${name}` });
}

export class FlowProducer extends LinkOwner<FlowProducerListener> {
  readonly #session: Session;
  readonly #maxPayloadBytes: number;
  readonly #prefix: string;
  readonly #isCluster: boolean;
  readonly #queues = new Map<string, MemberQueue>();
  readonly #homes = new Map<string, Home>();

  constructor(opts: FlowProducerOptions = {}) {
    const given: FlowProducerOptions = readObject('options', opts);
    const resolved = resolveBaseOptions(given);
    super(given, { ...resolved, unknown: findUnknownOptions(given, names) }, {});
    this.#prefix = resolved.prefix;
    this.#maxPayloadBytes = readMaxPayloadBytes(given.maxPayloadBytes);
    this.#isCluster = isClient(resolved.connection) && isCluster(resolved.connection);
    this.#session = this.openSession(resolved.prefix, resolved);
  }

  async waitUntilReady(): Promise<RedisClient> {
    return this.#session.ready();
  }

  /**
   * Adds all jobs of a group, or none. They succeed as one; when one fails for good, what has not begun is cancelled
   * and what has completed is undone by the jobs in `compensation`.
   */
  async addGroup(options: GroupOptions): Promise<GroupNode> {
    if (this.closing) throw yokeError('PRODUCER_CLOSED');
    const group = resolveGroupOptions(options, this.#maxPayloadBytes);
    const roots = [group.home, ...group.jobs.map(({ queueName }) => queueName)].map((name) =>
      this.#rootOf(name),
    );
    if (this.#isCluster && new Set(roots.map(hashTagOf)).size > 1)
      throw yokeError('GROUP_SPANS_SLOTS', { queues: [...new Set(roots)].join(', ') });
    const groupId = group.groupId || randomUUID();
    const { store, adds } = this.#home(roots[0]!);
    const outcome = await adds.add(encodeGroup(group, groupId, (name) => this.#rootOf(name)));
    const jobs =
      outcome.word === 'added'
        ? group.jobs.map((member, i) => this.#newJob(member, outcome.ids[i]!, outcome.at, groupId, group))
        : await this.#existingJobs(outcome.members);
    return { groupId, groupName: group.name, jobs, group: new JobGroup(store, groupId) };
  }

  async add(_flow: object, _opts?: object): Promise<never> {
    throw notYet('add');
  }

  async addBulk(_flows: object[]): Promise<never> {
    throw notYet('addBulk');
  }

  async getFlow(_opts: object): Promise<never> {
    throw notYet('getFlow');
  }

  protected override async shutDown(isForced: boolean): Promise<void> {
    if (!isForced)
      await this.unlessOutage(Promise.all([...this.#homes.values()].map(({ adds }) => adds.settle())));
    this.#session.stop();
    await this.connection.close(isForced);
  }

  #rootOf(queueName: string): string {
    return qualifiedName(this.#prefix, queueName, this.#isCluster);
  }

  #home(root: string): Home {
    let home = this.#homes.get(root);
    if (!home) {
      const session = this.#session.of(root);
      home = { store: new GroupStore(session, this.#prefix), adds: new GroupBatch(session) };
      this.#homes.set(root, home);
    }
    return home;
  }

  #queue(root: string): MemberQueue {
    let queue = this.#queues.get(root);
    if (!queue) {
      queue = new MemberQueue(this as never, this.#session.of(root), root.slice(this.#prefix.length + 1));
      this.#queues.set(root, queue);
    }
    return queue;
  }

  #newJob(
    { name, queueName, data, options }: ResolvedGroupJob,
    id: string,
    at: number,
    groupId: string,
    group: { readonly name: string; readonly home: string },
  ): Job {
    const opts = { ...options.stored, group: { id: groupId, name: group.name } };
    const job = new Job(this.#queue(this.#rootOf(queueName)), name, data, opts, id);
    if (options.timestamp === undefined) job.timestamp = at;
    job.groupKey = `${this.#rootOf(group.home)}:groups:${groupId}`;
    return job;
  }

  async #existingJobs(members: readonly { root: string; id: string }[]): Promise<Job[]> {
    const jobs = await Promise.all(members.map(({ root, id }) => Job.fromId(this.#queue(root), id)));
    return jobs.filter((job) => job !== undefined);
  }
}
