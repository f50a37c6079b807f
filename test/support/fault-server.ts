// A server to be broken: native, because the embedded one has no process, no append-only file and no replication.
// The scripts leg is chosen at the client, since a restarted server has forgotten its users.

import { Redis } from 'ioredis';
import { describe } from 'vitest';
import {
  type RunningServer,
  startServer,
  type ThrowawayServerOptions,
} from '../../src/server/throwaway-server.ts';
import { hasNative, leg } from './leg.ts';

/** Says "not run" (as skipped) in the embedded leg and where there is no redis-server. */
export const describeFaults = describe.runIf(hasNative && leg !== 'wasm');

if (leg === 'scripts') process.env.YOKE_ENGINE = 'scripts';

// With `everysec` a server answers while its disk is slow and writes up to two seconds later: killed in between, it has
// lost what it acknowledged (docs/guarantees.md). Tests that kill it are about what we do, and allow no such loss.
const DURABLE = ['--appendfsync', 'always'];

export interface FaultServer extends RunningServer {
  readonly admin: Redis;
}

export async function startFaultServer(options: ThrowawayServerOptions = {}): Promise<FaultServer> {
  const args = [...(options.persistence ? DURABLE : []), ...(options.args ?? [])];
  const server = await startServer({ ...options, args, kind: 'native' });
  const admin = new Redis({ ...server.connection, maxRetriesPerRequest: null, retryStrategy: () => 50 });
  admin.on('error', () => {});
  return {
    kind: server.kind,
    connection: server.connection,
    url: server.url,
    dir: server.dir,
    admin,
    get pid() {
      return server.pid;
    },
    stop: async () => {
      admin.disconnect();
      await server.stop();
    },
    kill: () => server.kill(),
    start: () => server.start(),
  };
}

/** A sequence of numbers from 0 to 1 that a seed repeats. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}

/** A new one per run, printed, and repeated by setting YOKE_TEST_SEED. It fixes the faults, not the scheduler. */
export function seedOfRun(): number {
  const seed = Number(process.env.YOKE_TEST_SEED ?? (Date.now() % 1_000_000) + 1);
  console.log(`seed ${seed} (repeat with YOKE_TEST_SEED=${seed})`);
  return seed;
}
