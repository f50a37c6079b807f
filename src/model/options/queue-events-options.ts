// The options of QueueEvents.

import {
  type BaseOptions,
  baseOptionNames,
  type ResolvedBaseOptions,
  resolveBaseOptions,
} from './base-options.ts';
import { readBoolean, readNumber, readObject, readString } from './checks.ts';
import { findUnknownOptions, type UnknownOption } from './unknown-options.ts';

export interface QueueEventsOptions extends BaseOptions {
  /** Start reading on construction. Default true. */
  autorun?: boolean;
  /** Stream entry after which to start; `$` is now, `0` the oldest kept. Default `$`. */
  lastEventId?: string;
  /** Longest wait for events in one call, in milliseconds. Default 10,000. */
  blockingTimeout?: number;
}

export interface ResolvedQueueEventsOptions extends ResolvedBaseOptions {
  readonly autorun: boolean;
  readonly lastEventId: string;
  /** Milliseconds. */
  readonly blockingTimeout: number;
  /** Option names nobody knows, for one warning. */
  readonly unknown: readonly UnknownOption[];
}

const names = [
  ...baseOptionNames,
  'autorun',
  'lastEventId',
  'blockingTimeout',
] as const satisfies readonly (keyof QueueEventsOptions)[];

const DEFAULT_BLOCKING_TIMEOUT_MS = 10_000;

export function resolveQueueEventsOptions(
  input: QueueEventsOptions | null | undefined,
): ResolvedQueueEventsOptions {
  const opts: QueueEventsOptions = readObject('options', input);
  return Object.freeze({
    ...resolveBaseOptions(opts),
    autorun: readBoolean('autorun', opts.autorun, true),
    lastEventId: readString('lastEventId', opts.lastEventId, '$') || '$',
    blockingTimeout: readNumber('blockingTimeout', opts.blockingTimeout, DEFAULT_BLOCKING_TIMEOUT_MS, {
      min: 1,
    }),
    unknown: findUnknownOptions(opts, names),
  });
}
