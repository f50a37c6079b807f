// A server never outlives the process that started it, and never keeps it alive.

import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cannotRun } from '../support/native.ts';
import { bundleServerRoom, Child, removeBundle } from './child-process.ts';
import { clientOf, untilAbsent } from './clients.ts';

let bundle: string;

beforeAll(async () => {
  bundle = await bundleServerRoom();
});

afterAll(() => removeBundle(bundle));

interface Started {
  connection: { path: string };
  dir: string;
}

for (const kind of ['native', 'wasm'] as const)
  describe.skipIf(cannotRun(kind))(`a ${kind} server`, () => {
    it('lets a program end that forgot to stop it, and ends with it', async () => {
      const child = new Child(bundle);
      const server = await child.call<Started>('throwaway', { kind, persistence: true });
      expect(await clientOf(server.connection).ping()).toBe('PONG');
      await child.finish();
      await untilAbsent(server.connection);
      expect(existsSync(server.dir)).toBe(false);
      expect(child.errorOutput).toBe('');
    });

    it.each(['SIGKILL', 'SIGINT', 'SIGTERM'] as const)(
      'ends when its owner is ended by %s',
      async (signal) => {
        const child = new Child(bundle);
        const server = await child.call<Started>('throwaway', { kind });
        expect(await clientOf(server.connection).ping()).toBe('PONG');
        await child.kill(signal);
        await untilAbsent(server.connection);
        await untilRemoved(server.dir);
      },
    );
  });

async function untilRemoved(dir: string): Promise<void> {
  while (existsSync(dir)) await new Promise(setImmediate);
}
