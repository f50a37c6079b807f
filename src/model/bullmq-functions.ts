// The small pure functions that BullMQ exports and applications import, under its names and with its results.

import type { ParentOptions } from './options/job-option-types.ts';

/** Resolves after `ms`, or when the controller aborts. */
export function delay(ms: number, abortController?: AbortController): Promise<void> {
  return new Promise((resolve) => {
    const signal = abortController?.signal;
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
  });
}

export function lengthInUtf8Bytes(text: string): number {
  return Buffer.byteLength(text);
}

export function isEmpty(object: object): boolean {
  return Object.keys(object).length === 0;
}

/** `[a, 1, b, 2]` becomes `{ a: 1, b: 2 }`. */
export function array2obj(flat: readonly string[]): Record<string, string> {
  const rows: [string, string][] = [];
  for (let i = 0; i < flat.length; i += 2) rows.push([flat[i] as string, flat[i + 1] as string]);
  return Object.fromEntries(rows);
}

/** The reverse; what is undefined is left out. */
export function objectToFlatArray(object: Record<string, unknown>): unknown[] {
  return Object.entries(object)
    .filter(([, value]) => value !== undefined)
    .flat();
}

export function invertObject(object: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [value, key]));
}

export function removeUndefinedFields<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;
}

/** The full key of a parent. */
export function getParentKey(parent: ParentOptions): string;
export function getParentKey(parent?: ParentOptions): string | undefined;
export function getParentKey(parent?: ParentOptions): string | undefined {
  return parent && `${parent.queue}:${parent.id}`;
}

/** All own properties of an error, as JSON can hold them; what was seen before becomes `[Circular]`. */
export function errorToJSON(error: object): Record<string, unknown> {
  const seen = new WeakSet<object>([error]);
  const own = Object.fromEntries(
    Object.getOwnPropertyNames(error).map((name) => [name, Reflect.get(error, name)]),
  );
  const text = JSON.stringify(own, (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null) return value;
    if (seen.has(value)) return '[Circular]';
    seen.add(value);
    return value;
  });
  return JSON.parse(text) as Record<string, unknown>;
}

interface ListenerCount {
  getMaxListeners(): number;
  setMaxListeners(count: number): unknown;
}

export function increaseMaxListeners(emitter: ListenerCount, count: number): void {
  emitter.setMaxListeners(emitter.getMaxListeners() + count);
}

export function decreaseMaxListeners(emitter: ListenerCount, count: number): void {
  increaseMaxListeners(emitter, -count);
}

export { randomUUID } from 'node:crypto';
