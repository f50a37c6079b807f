// Says which process is in charge of a data directory. Two processes that want it at once: exactly one creates
// the file, since creation is exclusive. A stale file is moved aside before it is removed, and only if it is
// still the one that was judged, so that nobody removes the lock of a faster rival.

import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { ServerAddress } from './server-address.ts';
import type { ServerKind } from './server-instance.ts';

export interface LockRecord {
  /** Random; tells this holding from every other one. */
  token: string;
  /** The process in charge, which stops the server when it ends. */
  ownerPid: number;
  /** The server's process, once it runs. */
  serverPid?: number;
  kind: ServerKind;
  address: ServerAddress;
  /** ISO 8601. */
  startedAt: string;
  state: 'starting' | 'running';
}

// Creation and content are two steps. A file without content is young, or its writer died in between.
const unreadableForMs = 2_000;

/** The record, `absent`, or `incomplete` where a writer is at it. */
export function readLock(file: string): LockRecord | 'absent' | 'incomplete' {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'absent';
    throw error;
  }
  try {
    const record = JSON.parse(text) as Partial<LockRecord> | null;
    if (typeof record?.token === 'string' && typeof record.ownerPid === 'number' && record.address) {
      return record as LockRecord;
    }
  } catch {
    // Half written, or not ours: both are told by age.
  }
  return 'incomplete';
}

/** Creates the lock. False where another process was faster. */
export function createLock(file: string, record: LockRecord): boolean {
  try {
    writeFileSync(file, toText(record), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Replaces our own record in one step. False where the lock is no longer ours. */
export function updateLock(file: string, record: LockRecord): boolean {
  if (!holdsLock(file, record.token)) return false;
  const fresh = `${file}.${record.token}`;
  writeFileSync(fresh, toText(record), { mode: 0o600 });
  renameSync(fresh, file);
  return true;
}

export function holdsLock(file: string, token: string): boolean {
  const found = readLock(file);
  return typeof found === 'object' && found.token === token;
}

/** Removes the lock with this token, ours or a stale one. False where it is not there any more. */
export function removeLock(file: string, token: string): boolean {
  if (!holdsLock(file, token)) return false;
  const aside = `${file}.${randomUUID()}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  const isTheOne = holdsLock(aside, token);
  // Between our look and our grip the stale lock was replaced. What we hold belongs to a rival and goes back;
  // should a third have locked meanwhile, the rival finds out when it updates its record.
  if (!isTheOne) putBack(aside, file);
  rmSync(aside, { force: true });
  return isTheOne;
}

/** Removes a lock that nobody finished writing. */
export function removeIncompleteLock(file: string): void {
  try {
    if (Date.now() - statSync(file).mtimeMs > unreadableForMs && readLock(file) === 'incomplete')
      rmSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function putBack(aside: string, file: string): void {
  try {
    writeFileSync(file, readFileSync(aside), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function toText(record: LockRecord): string {
  return `${JSON.stringify(record, null, 2)}\n`;
}
