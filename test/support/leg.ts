// One leg of the test matrix: which server, and whether its user may call functions. Suites ask for a server of
// the current leg; `npm test` runs them once per leg.

import { Redis } from 'ioredis';
import {
  nativeServerBinary,
  type RunningServer,
  startServer,
  type ThrowawayServerOptions,
} from '../../src/server/throwaway-server.ts';

export type Leg = 'functions' | 'scripts' | 'wasm';

export const leg = (process.env.YOKE_TEST_LEG ?? 'functions') as Leg;

/** Suites that need redis-server say "not run" where there is none; CI sets YOKE_TEST_REQUIRE_NATIVE. */
export const hasNative = nativeServerBinary() !== undefined;
if (!hasNative && process.env.YOKE_TEST_REQUIRE_NATIVE)
  throw new Error('redis-server is required here and was not found');

export interface TestServer extends RunningServer {
  /** What queues and workers connect with; in the scripts leg a user who may not call functions. */
  readonly connection: RunningServer['connection'] & { username?: string; password?: string };
  /** A client with all rights, for looking and for breaking things. */
  readonly admin: Redis;
}

export async function startLegServer(options: ThrowawayServerOptions = {}): Promise<TestServer> {
  const server = await startServer({ kind: leg === 'wasm' ? 'wasm' : 'native', ...options });
  const admin = new Redis({ ...server.connection, maxRetriesPerRequest: null, retryStrategy: () => 50 });
  admin.on('error', () => {});
  let connection: TestServer['connection'] = server.connection;
  if (leg === 'scripts') {
    await admin.call(
      'ACL',
      'SETUSER',
      'scripts',
      'on',
      '>secret',
      '~*',
      '&*',
      '+@all',
      '-fcall',
      '-fcall_ro',
      '-function',
    );
    connection = { ...server.connection, username: 'scripts', password: 'secret' };
  }
  return {
    ...server,
    connection,
    get pid() {
      return server.pid;
    },
    admin,
    stop: async () => {
      admin.disconnect();
      await server.stop();
    },
    kill: () => server.kill(),
    start: () => server.start(),
  } as TestServer;
}
