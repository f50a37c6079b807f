// A page of a parent's children with their records, for tools that draw flows. Scans are bounded by what was asked.

import { decodeOptions, decodeRecord } from '../store/codec.ts';
import type { Session } from '../store/session.ts';

export interface DependencyItem {
  /** Full key of the child. */
  id: string;
  /** Its result, where it has one. */
  v?: unknown;
  /** Why its result could not be read. */
  err?: string;
}

export interface DependencyPageResult {
  items: DependencyItem[];
  /** Records of those children that still exist. */
  jobs: Record<string, unknown>[];
  total: number;
}

const STEP = 1000;

export async function dependencyPage(
  session: Session,
  parentId: string,
  type: 'processed' | 'pending',
  start: number,
  end: number,
): Promise<DependencyPageResult> {
  const isProcessed = type === 'processed';
  const key = `${session.root}:${parentId}:${isProcessed ? 'processed' : 'dependencies'}`;
  const total = Number(await session.command(isProcessed ? 'HLEN' : 'SCARD', [key]));
  const last = end < 0 ? total + end : Math.min(end, total - 1);
  const rows = await scanned(session, key, isProcessed, last + 1);
  const items = rows.slice(start, last + 1).map(([id, text]) => item(id, text));
  const records = await Promise.all(items.map(({ id }) => childRecord(session, id)));
  return { items, jobs: records.filter((record) => record !== undefined), total };
}

async function scanned(
  session: Session,
  key: string,
  isHash: boolean,
  most: number,
): Promise<[string, string | undefined][]> {
  const rows = new Map<string, string | undefined>();
  let cursor = '0';
  while (rows.size < most) {
    const [next, page] = (await session.command(isHash ? 'HSCAN' : 'SSCAN', [
      key,
      cursor,
      'COUNT',
      STEP,
    ])) as [string, string[]];
    for (let i = 0; i < page.length; i += isHash ? 2 : 1)
      rows.set(page[i]!, isHash ? page[i + 1] : undefined);
    if (next === '0') break;
    cursor = next;
  }
  return [...rows];
}

function item(id: string, text: string | undefined): DependencyItem {
  if (text === undefined) return { id };
  try {
    return { id, v: JSON.parse(text) };
  } catch (error) {
    return { id, err: (error as Error).message };
  }
}

async function childRecord(session: Session, key: string): Promise<Record<string, unknown> | undefined> {
  const reply = (await session.command('HGETALL', [key])) as string[] | Record<string, string>;
  const flat = Array.isArray(reply) ? reply : Object.entries(reply).flat();
  if (flat.length === 0) return undefined;
  const record = decodeRecord(key.slice(key.lastIndexOf(':') + 1), flat);
  return {
    ...record,
    opts: decodeOptions(record.opts),
    progress: JSON.parse(record.progress ?? '0'),
    ...(record.parent === undefined ? {} : { parent: JSON.parse(record.parent) }),
  };
}
