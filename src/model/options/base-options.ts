// The options that Queue, Worker and QueueEvents have in common.

import { type Logger, silentLogger } from '../logger.ts';
import { invalidOption, isGiven, readBoolean, readNumber, readString, refuseUnsupported } from './checks.ts';

/** Options, a URL or a client instance; the room that opens connections knows more. */
export type ConnectionOptions = object | string;

export interface BaseOptions {
  /** Where the server is. Default: `REDIS_URL`, else a private server for development, else (in production) an error. */
  connection?: ConnectionOptions;
  /** First part of every key. Default `bull`. */
  prefix?: string;
  /** Do not ask the server for its version. Default false. */
  skipVersionCheck?: boolean;
  /** Ignored: a call waits for its connection unless the client itself fails fast (`enableOfflineQueue: false`). */
  skipWaitingForReady?: boolean;
  /** Ignored; kept because BullMQ accepts it. */
  blockingConnection?: boolean;
  /** Not supported yet. */
  telemetry?: unknown;
  /** Where log lines go. Default: nowhere. */
  logger?: Logger;
  /** Warnings at start, such as a server that may evict keys, become errors. Default false. */
  strict?: boolean;
  /** Whose clock decides about delays, backoff and retention; leases are always the server's. Default `server`. */
  clock?: 'server' | 'client';
  /** Milliseconds one call may take before its connection is dropped and the call is sent again. Default 5000. */
  callTimeout?: number;
}

export interface ResolvedBaseOptions {
  /** null = not given. */
  readonly connection: ConnectionOptions | null;
  readonly prefix: string;
  readonly skipVersionCheck: boolean;
  readonly skipWaitingForReady: boolean;
  readonly logger: Logger;
  readonly strict: boolean;
  readonly clock: 'server' | 'client';
  /** Milliseconds. */
  readonly callTimeout: number;
}

export const baseOptionNames = [
  'connection',
  'prefix',
  'skipVersionCheck',
  'skipWaitingForReady',
  'blockingConnection',
  'telemetry',
  'logger',
  'strict',
  'clock',
  'callTimeout',
] as const satisfies readonly (keyof BaseOptions)[];

const DEFAULT_PREFIX = 'bull';

// Well above any call of ours on a busy server, well below the lease, so that a dead connection costs no job.
const DEFAULT_CALL_TIMEOUT_MS = 5_000;

export function resolveBaseOptions(opts: BaseOptions): ResolvedBaseOptions {
  refuseUnsupported('options', opts, ['telemetry']);
  return {
    connection: readConnection(opts.connection),
    prefix: readString('prefix', opts.prefix, DEFAULT_PREFIX),
    skipVersionCheck: readBoolean('skipVersionCheck', opts.skipVersionCheck, false),
    skipWaitingForReady: readBoolean('skipWaitingForReady', opts.skipWaitingForReady, false),
    logger: readLogger(opts.logger),
    strict: readBoolean('strict', opts.strict, false),
    clock: readClock(opts.clock),
    callTimeout: readNumber('callTimeout', opts.callTimeout, DEFAULT_CALL_TIMEOUT_MS, { min: 1 }),
  };
}

function readConnection(connection: unknown): ConnectionOptions | null {
  if (!isGiven(connection)) return null;
  // A client may be a proxy over a function, so functions pass as objects do.
  if (typeof connection === 'object' || typeof connection === 'function' || typeof connection === 'string') {
    return connection as ConnectionOptions;
  }
  throw invalidOption('connection', 'options, a URL or a client', connection);
}

function readClock(clock: unknown): 'server' | 'client' {
  if (!isGiven(clock)) return 'server';
  if (clock === 'server' || clock === 'client') return clock;
  throw invalidOption('clock', "'server' or 'client'", clock);
}

function readLogger(logger: Logger | null | undefined): Logger {
  if (!isGiven(logger)) return silentLogger;
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    if (typeof logger[level] !== 'function') {
      throw invalidOption(
        `logger.${level}`,
        'a function, as console, pino and winston have it',
        logger[level],
      );
    }
  }
  return logger;
}
