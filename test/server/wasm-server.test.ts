// The embedded server under clients that misbehave, and its snapshots.

import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from '../../src/server/throwaway-server.ts';
import { clientOf } from './clients.ts';

describe('with clients that misbehave', () => {
  let server: RunningServer;

  beforeAll(async () => {
    // On a port, since only TCP knows a reset.
    server = await startServer({ kind: 'wasm', port: true });
  });

  afterAll(async () => {
    await server.stop();
  });

  it('forgets clients that vanish while they wait, send or receive', async () => {
    const witness = clientOf(server.connection);
    await witness.set('large', Buffer.alloc(4 * 1024 * 1024));
    for (const request of [
      'BLPOP nothing 0\r\n',
      '*2\r\n$3\r\nGET\r\n$5\r\nlar',
      'GET large\r\n'.repeat(20),
    ]) {
      for (let i = 0; i < 20; i++) {
        const socket = connect(server.connection);
        await once(socket, 'connect');
        socket.write(request);
        if (i % 2 === 0) socket.resetAndDestroy();
        else socket.destroy();
      }
    }
    while ((await clientCount(witness)) > 1);
    expect(await witness.ping()).toBe('PONG');
  });

  it('survives more connections than it has room for at once', async () => {
    const witness = clientOf(server.connection);
    // Its table holds some 10,000; numbers must be used again.
    for (let round = 0; round < 120; round++) {
      await Promise.all(
        Array.from({ length: 100 }, async () => {
          const socket = connect(server.connection);
          socket.end('PING\r\n');
          const [reply] = await once(socket, 'data');
          expect(String(reply)).toBe('+PONG\r\n');
          await once(socket, 'close');
        }),
      );
    }
    expect(await witness.ping()).toBe('PONG');
  });

  it('holds replies back for a client that does not read, and serves others meanwhile', async () => {
    const witness = clientOf(server.connection);
    const value = Buffer.alloc(1024 * 1024, 'y');
    await witness.set('large', value);
    const slow = connect(server.connection);
    await once(slow, 'connect');
    slow.pause();
    const requestCount = 64;
    slow.write('GET large\r\n'.repeat(requestCount));
    while (!/ omem=[1-9]/.test((await witness.client('LIST')) as string));
    expect(await witness.ping()).toBe('PONG');

    const replySize = `$${value.length}\r\n`.length + value.length + 2;
    let received = 0;
    slow.on('data', (chunk) => {
      received += chunk.length;
      if (received >= replySize * requestCount) slow.destroy();
    });
    slow.resume();
    await once(slow, 'close');
    expect(received).toBe(replySize * requestCount);
  });

  it('loses no piece of a long reply that a slow client takes bit by bit', async () => {
    const witness = clientOf(server.connection);
    const pieces = Array.from({ length: 20_000 }, (_, i) => `piece-${i}`);
    for (let i = 0; i < pieces.length; i += 1000) await witness.rpush('pieces', ...pieces.slice(i, i + 1000));
    const slow = connect(server.connection);
    await once(slow, 'connect');
    slow.pause();
    const requestCount = 20;
    slow.write('LRANGE pieces 0 -1\r\n'.repeat(requestCount));
    while (!/ omem=[1-9]/.test((await witness.client('LIST')) as string));

    const reply = `*${pieces.length}\r\n${pieces.map((piece) => `$${piece.length}\r\n${piece}\r\n`).join('')}`;
    const expected = reply.repeat(requestCount);
    let received = '';
    for await (const chunk of slow) {
      received += chunk;
      if (received.length >= expected.length) break;
    }
    expect(received === expected).toBe(true);
  });
});

it('takes a snapshot by itself soon after a change', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'yoke-test-'));
  const server = await startServer({ kind: 'wasm', dir, persistence: true });
  const client = clientOf(server.connection);
  await client.set('kept', 'yes');
  while (!(await client.info('persistence')).includes('rdb_changes_since_last_save:0'));
  expect(statSync(join(dir, 'dump.rdb')).size).toBeGreaterThan(0);
  await server.kill();
  await server.start();
  expect(await clientOf(server.connection).get('kept')).toBe('yes');
  await server.stop();
  rmSync(dir, { recursive: true });
});

async function clientCount(client: ReturnType<typeof clientOf>): Promise<number> {
  return Number(/connected_clients:(\d+)/.exec(await client.info('clients'))?.[1]);
}
