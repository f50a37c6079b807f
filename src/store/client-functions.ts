// The functions about clients and servers that BullMQ exports and applications import, under its names.

import { isConnectionError } from '../model/errors.ts';
import { isCluster, type RedisClient } from './client.ts';
import { isLower } from './server-check.ts';

/** By shape, as everywhere: an instance may come from another copy of its library. */
export function isRedisInstance(value: unknown): value is RedisClient {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false;
  const candidate = value as Partial<RedisClient>;
  return [candidate.connect, candidate.disconnect, candidate.duplicate].every(
    (method) => typeof method === 'function',
  );
}

export function isRedisCluster(value: unknown): boolean {
  return isRedisInstance(value) && isCluster(value);
}

/** Versions of different kinds of servers do not compare: false. */
export function isRedisVersionLowerThan(
  currentVersion: string,
  minimumVersion: string,
  currentDatabaseType: string,
  desiredDatabaseType = 'redis',
): boolean {
  return currentDatabaseType === desiredDatabaseType && isLower(currentVersion, minimumVersion);
}

export function isNotConnectionError(error: Error): boolean {
  return !isConnectionError(error);
}

/** Deletes every key of a queue and quits the client; resolves to false, with nothing done, on a cluster. */
export async function removeAllQueueData(
  client: RedisClient,
  queueName: string,
  prefix = 'bull',
): Promise<undefined | false> {
  if (isCluster(client)) return false;
  const pattern = `${prefix}:${queueName}:`.replace(/[*?[\]\\]/g, '\\$&');
  let cursor = '0';
  do {
    const [next, keys] = (await client.call('SCAN', [cursor, 'MATCH', `${pattern}*`, 'COUNT', 500])) as [
      string,
      string[],
    ];
    cursor = next;
    if (keys.length > 0) await client.call('DEL', keys);
  } while (cursor !== '0');
  await client.quit().catch((error: Error) => {
    if (isNotConnectionError(error)) throw error;
  });
  return undefined;
}
