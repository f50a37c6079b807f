// What the server is, and whether a queue can be trusted to it. Read once per connection.

import { yokeError } from '../model/errors.ts';
import { isCluster, mastersOf, type RedisClient } from './client.ts';

export interface ServerFacts {
  readonly version: string;
  readonly databaseType: 'redis' | 'valkey' | 'dragonfly';
  readonly isCluster: boolean;
  /** What the server calls itself, until it is restarted; undefined if it was not asked or does not say. */
  readonly runId: string | undefined;
}

export interface ServerCheck {
  readonly isSkipped: boolean;
  /** Warnings become errors. */
  readonly isStrict: boolean;
  readonly warn: (message: string) => void;
}

// The Lua of the engine needs LMOVE, LPOS and the count of RPOP.
const MINIMUM_VERSION = '6.2.0';

export async function checkServer(client: RedisClient, check: ServerCheck): Promise<ServerFacts> {
  if (check.isSkipped)
    return {
      version: MINIMUM_VERSION,
      databaseType: 'redis',
      isCluster: isCluster(client),
      runId: undefined,
    };
  const info = await readInfo(client);
  const databaseType = info.has('dragonfly_version')
    ? 'dragonfly'
    : info.has('valkey_version')
      ? 'valkey'
      : 'redis';
  const version = info.get('valkey_version') ?? info.get('redis_version') ?? MINIMUM_VERSION;
  if (databaseType === 'redis' && isLower(version, MINIMUM_VERSION)) {
    throw yokeError('SERVER_TOO_OLD', { minimum: MINIMUM_VERSION, current: version });
  }
  const policy = info.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    const error = yokeError('EVICTION_POLICY', { policy });
    if (check.isStrict) throw error;
    check.warn(error.message);
  }
  return { version, databaseType, isCluster: isCluster(client), runId: info.get('run_id') };
}

async function readInfo(client: RedisClient): Promise<Map<string, string>> {
  const [master] = mastersOf(client);
  if (!master) return new Map();
  try {
    const text = String(await master.call('INFO', []));
    return new Map(
      text
        .split('\r\n')
        .filter((line) => line.includes(':'))
        .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
    );
  } catch (error) {
    // A restricted user may not ask; the engine's own calls will show whether the server can do the work.
    if (error instanceof Error && /NOPERM|unknown command/i.test(error.message)) return new Map();
    throw error;
  }
}

export function isLower(version: string, minimum: string): boolean {
  const have = version.split('.').map(Number);
  const need = minimum.split('.').map(Number);
  for (let i = 0; i < need.length; i++) {
    const difference = (have[i] ?? 0) - (need[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
