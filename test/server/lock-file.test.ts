// Exactly one process holds a data directory.

import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  createLock,
  holdsLock,
  type LockRecord,
  readLock,
  removeIncompleteLock,
  removeLock,
  updateLock,
} from '../../src/server/lock-file.ts';

let dir: string;
let file: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'yoke-test-'));
  file = join(dir, 'server.lock');
});

afterEach(() => {
  rmSync(dir, { recursive: true });
});

function record(token: string): LockRecord {
  return {
    token,
    ownerPid: process.pid,
    kind: 'native',
    address: { path: join(dir, 'server.sock') },
    startedAt: new Date(0).toISOString(),
    state: 'starting',
  };
}

it('is created by one of two', () => {
  expect(createLock(file, record('first'))).toBe(true);
  expect(createLock(file, record('second'))).toBe(false);
  expect(readLock(file)).toEqual(record('first'));
});

it('is updated and removed only under its own token', () => {
  createLock(file, record('first'));
  expect(updateLock(file, { ...record('second'), state: 'running' })).toBe(false);
  expect(removeLock(file, 'second')).toBe(false);
  expect(updateLock(file, { ...record('first'), state: 'running' })).toBe(true);
  expect(readLock(file)).toMatchObject({ token: 'first', state: 'running' });
  expect(removeLock(file, 'first')).toBe(true);
  expect(removeLock(file, 'first')).toBe(false);
  expect(readdirSync(dir)).toEqual([]);
});

it('is removed without content only when it is old', () => {
  writeFileSync(file, '{"tok');
  expect(readLock(file)).toBe('incomplete');
  expect(holdsLock(file, 'first')).toBe(false);
  removeIncompleteLock(file);
  expect(readLock(file)).toBe('incomplete');
  utimesSync(file, new Date(0), new Date(0));
  removeIncompleteLock(file);
  expect(readLock(file)).toBe('absent');
});
