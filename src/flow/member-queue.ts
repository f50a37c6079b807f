// A queue as the members of a group know it: enough for their Job objects, over the producer's own connection.

import type { JobHost, Listener } from '../core/job-host.ts';
import type { LinkOwner } from '../core/link-owner.ts';
import { InspectStore } from '../store/inspect-store.ts';
import { JobStore } from '../store/job-store.ts';
import { LeaseStore } from '../store/lease-store.ts';
import type { Session } from '../store/session.ts';

export class MemberQueue implements JobHost {
  readonly name: string;
  readonly qualifiedName: string;
  readonly opts: { prefix: string };
  readonly jobs: JobStore;
  readonly leases: LeaseStore;
  readonly inspect: InspectStore;
  readonly #owner: LinkOwner;
  readonly #session: Session;

  constructor(owner: LinkOwner, session: Session, name: string) {
    this.#owner = owner;
    this.#session = session;
    this.name = name;
    this.qualifiedName = session.root;
    this.opts = { prefix: owner.opts.prefix };
    this.jobs = new JobStore(session);
    this.leases = new LeaseStore(session);
    this.inspect = new InspectStore(session);
  }

  get closing(): Promise<void> | undefined {
    return this.#owner.closing;
  }

  toKey(type: string): string {
    return `${this.qualifiedName}:${type}`;
  }

  waitUntilReady(): Promise<unknown> {
    return this.#session.ready();
  }

  emit(event: string, ...args: unknown[]): boolean {
    return this.#owner.emit(event, ...args);
  }

  on(event: string, listener: Listener): unknown {
    return this.#owner.on(event, listener);
  }

  off(event: string, listener: Listener): unknown {
    return this.#owner.off(event, listener);
  }
}
