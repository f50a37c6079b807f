// What a job needs of the queue or worker that it came from.

import type { InspectStore } from '../store/inspect-store.ts';
import type { JobStore } from '../store/job-store.ts';
import type { LeaseStore } from '../store/lease-store.ts';

// biome-ignore lint/suspicious/noExplicitAny: what EventEmitter itself says of listeners.
export type Listener = (...args: any[]) => void;

export interface JobHost {
  readonly name: string;
  readonly qualifiedName: string;
  readonly opts: { prefix?: string };
  readonly closing: Promise<void> | undefined;
  readonly jobs: JobStore;
  readonly leases: LeaseStore;
  readonly inspect: InspectStore;
  toKey(type: string): string;
  waitUntilReady(): Promise<unknown>;
  emit(event: string, ...args: unknown[]): boolean;
  on(event: string, listener: Listener): unknown;
  off(event: string, listener: Listener): unknown;
  /** @internal Settings that finishing by hand needs; a worker's own, the defaults elsewhere. */
  readonly finishSettings?: FinishSettings;
}

export interface FinishSettings {
  readonly errorPolicy: import('../model/error-policy.ts').ErrorPolicy;
  readonly backoffStrategy: import('../model/backoff.ts').BackoffStrategy | null;
  readonly removeOnComplete: import('../model/options/keep-jobs.ts').KeepJobs | null;
  readonly removeOnFail: import('../model/options/keep-jobs.ts').KeepJobs | null;
  readonly maxPayloadBytes: number;
  readonly leaseMs: number;
  readonly workerName: string;
  readonly limiter: { readonly max: number; readonly duration: number } | null;
}

/** For jobs that were read through a Queue. */
export const defaultFinishSettings: FinishSettings = Object.freeze({
  errorPolicy: 'retry' as const,
  backoffStrategy: null,
  removeOnComplete: null,
  removeOnFail: null,
  maxPayloadBytes: 10 * 1024 * 1024,
  leaseMs: 30_000,
  workerName: '',
  limiter: null,
});

export function settingsOf(host: JobHost): FinishSettings {
  return host.finishSettings ?? defaultFinishSettings;
}
