// The part of ioredis that we use. Clients are recognised by shape, for a user's may come from another copy or version of
// it, and are asked by `call`. One thing is decided by class: `sendTexts` reaches behind `call` where the client is a Redis
// of the very ioredis that we import, the only one whose inside we know.

import type { Duplex } from 'node:stream';
import { Command, Redis } from 'ioredis';

export interface RedisClient {
  readonly status: string;
  call(command: string, args: readonly (string | number | Buffer)[]): Promise<unknown>;
  duplicate(...args: unknown[]): RedisClient;
  connect(): Promise<unknown>;
  disconnect(reconnect?: boolean): void;
  quit(): Promise<unknown>;
  /** Rejects all that is sent and unanswered. Not documented, but there since version 4. */
  flushQueue?(error: Error, queues: { offlineQueue?: boolean; commandQueue?: boolean }): void;
  on(event: string, listener: (...args: never[]) => void): unknown;
  once(event: string, listener: (...args: never[]) => void): unknown;
  off(event: string, listener: (...args: never[]) => void): unknown;
  readonly options: { keyPrefix?: string; maxRetriesPerRequest?: number | null; [name: string]: unknown };
  readonly stream?: Duplex;
  /** On a cluster only. */
  nodes?(role?: string): RedisClient[];
  readonly isCluster?: boolean;
}

export function isClient(value: unknown): value is RedisClient {
  const candidate = value as Partial<RedisClient> | null;
  return (
    typeof candidate === 'object' &&
    candidate !== null &&
    typeof candidate.duplicate === 'function' &&
    typeof candidate.disconnect === 'function' &&
    typeof candidate.on === 'function' &&
    (typeof candidate.call === 'function' || isCluster(candidate as RedisClient))
  );
}

export function isCluster(client: RedisClient): boolean {
  return client.isCluster === true || typeof client.nodes === 'function';
}

/** The single servers that hold masters: one, or all masters of a cluster. */
export function mastersOf(client: RedisClient): RedisClient[] {
  return client.nodes ? client.nodes('master') : [client];
}

export function keyPrefixOf(client: RedisClient): string {
  const redisOptions = client.options?.redisOptions as { keyPrefix?: string } | undefined;
  return client.options?.keyPrefix || redisOptions?.keyPrefix || '';
}

const NOTHING: string[] = [];
const AS_TEXT = { replyEncoding: 'utf8' } as const;

/**
 * Sends a command whose arguments are texts. ioredis copies the arguments of every command, for there may be lists among
 * them, which takes longer than all else that it does to send it: they are handed in behind that. What is handed in may
 * not change afterwards: ioredis can keep it, to be sent when the link is back, even after its promise was rejected. A
 * cluster, a client of another ioredis and one that makes pipelines by itself get their arguments through `call`.
 */
export function sendTexts(client: RedisClient, name: string, args: string[]): Promise<unknown> {
  const own: unknown = client;
  if (!(own instanceof Redis) || own.options.enableAutoPipelining) return client.call(name, args);
  const command = new Command(name, NOTHING, AS_TEXT);
  command.args = args;
  return own.sendCommand(command) as Promise<unknown>;
}
