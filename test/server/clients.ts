// Clients for tests of servers; each test closes what it opened.

import { Redis } from 'ioredis';
import { afterEach } from 'vitest';
import { pingServer } from '../../src/server/ask-server.ts';
import type { ServerAddress } from '../../src/server/server-address.ts';

const open = new Set<Redis>();

afterEach(() => {
  for (const client of open) client.disconnect();
  open.clear();
});

/** A client that fails instead of retrying: a lost connection is a result here. */
export function clientOf(address: ServerAddress): Redis {
  const client = new Redis({ ...address, retryStrategy: null, maxRetriesPerRequest: 0 });
  client.on('error', () => {});
  open.add(client);
  return client;
}

/** Resolves once nothing listens at the address any more. */
export async function untilAbsent(address: ServerAddress): Promise<void> {
  while ((await pingServer(address)) !== 'absent') await new Promise(setImmediate);
}
