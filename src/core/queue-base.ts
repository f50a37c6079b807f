// What Queue, Worker, QueueEvents and QueueEventsProducer have in common: a name, keys, and a way to the queue.

import { assertQueueName } from '../model/names.ts';
import type { ResolvedBaseOptions } from '../model/options/base-options.ts';
import type { UnknownOption } from '../model/options/unknown-options.ts';
import { isClient, isCluster, type RedisClient } from '../store/client.ts';
import type { Connection } from '../store/connection.ts';
import { InspectStore } from '../store/inspect-store.ts';
import { JobStore } from '../store/job-store.ts';
import { keyTable, qualifiedName } from '../store/keys.ts';
import { LeaseStore } from '../store/lease-store.ts';
import type { Session } from '../store/session.ts';
import { BackendView } from './backend-view.ts';
import { type AnyListeners, LinkOwner } from './link-owner.ts';

/** `Listeners` is the interface of the object's events: name -> listener. */
export abstract class QueueBase<
  // biome-ignore lint/suspicious/noExplicitAny: what EventEmitter itself says of listeners.
  Listeners extends { [E in keyof Listeners]: (...args: any[]) => void } = AnyListeners,
> extends LinkOwner<Listeners> {
  readonly name: string;
  readonly qualifiedName: string;
  /** Full key of each reserved suffix. */
  readonly keys: Record<string, string>;

  /** @internal */ readonly session: Session;
  /** @internal */ readonly jobs: JobStore;
  /** @internal */ readonly leases: LeaseStore;
  /** @internal */ readonly inspect: InspectStore;

  #backend: BackendView | undefined;

  protected constructor(
    name: string,
    given: object,
    resolved: ResolvedBaseOptions & { readonly unknown: readonly UnknownOption[] },
    logFields: Record<string, unknown> = {},
  ) {
    assertQueueName(name);
    super(given, resolved, { queue: name, ...logFields });
    this.name = name;
    this.qualifiedName = qualifiedName(
      resolved.prefix,
      name,
      isClient(resolved.connection) && isCluster(resolved.connection),
    );
    this.keys = keyTable(this.qualifiedName);
    this.session = this.openSession(this.qualifiedName, resolved);
    this.jobs = new JobStore(this.session);
    this.leases = new LeaseStore(this.session);
    this.inspect = new InspectStore(this.session);
  }

  toKey(type: string): string {
    return `${this.qualifiedName}:${type}`;
  }

  /** The connection's client, once it is ready. */
  async waitUntilReady(): Promise<RedisClient> {
    return this.session.ready();
  }

  get backend(): BackendView {
    return this.getBackend();
  }

  getBackend(): BackendView {
    this.#backend ??= new BackendView(this.connection, this.blockingConnection);
    return this.#backend;
  }

  protected async shutDown(isForced: boolean): Promise<void> {
    if (!isForced) await this.unlessOutage(this.jobs.settle());
    this.session.stop();
    await this.connection.close(isForced);
  }

  /** The connection that waits for work or events; the ordinary one where there is none. */
  protected get blockingConnection(): Connection {
    return this.connection;
  }
}
