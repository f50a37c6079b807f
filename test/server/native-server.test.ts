// The child process: its data after a crash, and paths that do not fit.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { askServer } from '../../src/server/ask-server.ts';
import { nativeServerBinary, startServer } from '../../src/server/throwaway-server.ts';
import { hasNative } from '../support/native.ts';
import { clientOf, untilAbsent } from './clients.ts';

it.skipIf(!hasNative)('keeps its data when it is killed', async () => {
  const server = await startServer({ kind: 'native', persistence: true });
  const client = clientOf(server.connection);
  await client.set('kept', 'yes');
  const pid = server.pid;
  await server.kill();
  await untilAbsent(server.connection);
  await server.start();
  expect(server.pid).not.toBe(pid);
  expect(await clientOf(server.connection).get('kept')).toBe('yes');
  await server.stop();
});

it.skipIf(!hasNative)(
  'puts its socket elsewhere when the path of the directory is too long or has spaces',
  async () => {
    const parent = mkdtempSync(join(tmpdir(), 'yoke-test-'));
    const dir = join(parent, 'a directory with spaces', 'x'.repeat(100));
    mkdirSync(dir, { recursive: true });
    const server = await startServer({ kind: 'native', dir, persistence: true });
    expect((server.connection as { path: string }).path.length).toBeLessThan(100);
    await clientOf(server.connection).set('kept', 'yes');
    expect(await clientOf(server.connection).config('GET', 'dir')).toContain(server.dir);
    await server.stop();
    await server.start();
    expect(await clientOf(server.connection).get('kept')).toBe('yes');
    await server.stop();
    rmSync(parent, { recursive: true });
  },
);

it('refuses a named binary that cannot be run', async () => {
  process.env.YOKE_SERVER_BINARY = join(tmpdir(), 'no-such-server');
  try {
    expect(() => nativeServerBinary()).toThrow(/YOKE_SERVER_BINARY names .*no-such-server/);
  } finally {
    delete process.env.YOKE_SERVER_BINARY;
  }
});

it.skipIf(!hasNative)('starts with a password', async () => {
  const server = await startServer({ kind: 'native', args: ['--requirepass', 'secret'] });
  expect(await askServer(server.connection, [['AUTH', 'secret'], ['PING']])).toEqual(['OK', 'PONG']);
  await server.stop();
});
