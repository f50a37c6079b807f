// Where a private server listens: a unix socket by default, a loopback port on request. Nothing here ever
// names an outside interface.

import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

export type ServerAddress = { path: string } | { host: string; port: number };

// sun_path holds 104 bytes on macOS and 108 on Linux, and the server may append a suffix while it binds.
const maxSocketPathBytes = 100;

/** The address as a URL; ioredis reads both forms. */
export function serverUrl(address: ServerAddress): string {
  return 'path' in address ? `unix://${address.path}` : `redis://${address.host}:${address.port}`;
}

/** The address as a reader of a log line wants it. */
export function describeAddress(address: ServerAddress): string {
  return 'path' in address ? address.path : `${address.host}:${address.port}`;
}

/** The socket path that belongs to a data directory: the same answer in every process that asks. */
export function socketPathFor(dir: string): string {
  const digest = createHash('sha256').update(dir).digest('hex').slice(0, 16);
  if (process.platform === 'win32') return `\\\\.\\pipe\\yoke-${digest}`;
  const inside = join(dir, 'server.sock');
  if (Buffer.byteLength(inside) < maxSocketPathBytes) return inside;
  return join(privateSocketDir(), `${digest}.sock`);
}

// The name is guessable and the temp directory is shared, so the directory must be ours and closed to others.
function privateSocketDir(): string {
  const { uid } = userInfo();
  const name = `yoke-${uid}`;
  const preferred = join(tmpdir(), name);
  // 16 hex digits, a slash and ".sock" follow.
  const dir = Buffer.byteLength(preferred) + 22 < maxSocketPathBytes ? preferred : join('/tmp', name);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const found = lstatSync(dir);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
    throw new Error(`${dir} must be a directory that only the current user can enter`);
  }
  return dir;
}

/** A loopback port that was free a moment ago. Another process may take it first, so callers retry. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const listener = createServer();
    listener.once('error', reject);
    listener.listen(0, '127.0.0.1', () => {
      const address = listener.address();
      listener.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
        else reject(new Error('no loopback port could be found'));
      });
    });
  });
}
