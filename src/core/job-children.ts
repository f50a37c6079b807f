// A parent's view of its children, for jobs that belong to a flow.

import type { JobHost } from './job-host.ts';

export interface DependencyPage {
  cursor?: number;
  count?: number;
}

export interface DependenciesOpts {
  processed?: DependencyPage;
  unprocessed?: DependencyPage;
  ignored?: DependencyPage;
  failed?: DependencyPage;
}

export interface DependencyKinds {
  processed?: boolean;
  unprocessed?: boolean;
  ignored?: boolean;
  failed?: boolean;
}

export interface Dependencies {
  processed?: Record<string, unknown>;
  unprocessed?: string[];
  ignored?: Record<string, string>;
  failed?: string[];
  nextProcessedCursor?: number;
  nextUnprocessedCursor?: number;
  nextIgnoredCursor?: number;
  nextFailedCursor?: number;
}

const PAGE = 20;

function pairs(flat: readonly string[]): [string, string][] {
  const list: [string, string][] = [];
  for (let i = 0; i < flat.length; i += 2) list.push([flat[i]!, flat[i + 1]!]);
  return list;
}

async function hash(queue: JobHost, key: string): Promise<[string, string][]> {
  const reply = (await queue.inspect.session.command('HGETALL', [key])) as string[] | Record<string, string>;
  return Array.isArray(reply) ? pairs(reply) : Object.entries(reply);
}

function parsed(rows: readonly [string, string][]): Record<string, unknown> {
  return Object.fromEntries(rows.map(([key, text]) => [key, JSON.parse(text)]));
}

export async function childrenValues<Value>(queue: JobHost, id: string): Promise<Record<string, Value>> {
  return parsed(await hash(queue, queue.toKey(`${id}:processed`))) as Record<string, Value>;
}

export async function ignoredFailures(queue: JobHost, id: string): Promise<Record<string, string>> {
  return Object.fromEntries(await hash(queue, queue.toKey(`${id}:failed`)));
}

export async function dependencies(
  queue: JobHost,
  id: string,
  opts?: DependenciesOpts,
): Promise<Dependencies> {
  const key = (tail: string) => queue.toKey(`${id}:${tail}`);
  const command = (name: string, args: (string | number)[]) => queue.inspect.session.command(name, args);
  if (!opts || Object.keys(opts).length === 0) {
    const [processed, unprocessed, ignored, failed] = await Promise.all([
      hash(queue, key('processed')),
      command('SMEMBERS', [key('dependencies')]) as Promise<string[]>,
      hash(queue, key('failed')),
      command('ZRANGE', [key('unsuccessful'), 0, -1]) as Promise<string[]>,
    ]);
    return { processed: parsed(processed), unprocessed, ignored: Object.fromEntries(ignored), failed };
  }
  const scan = async (name: string, tail: string, page: DependencyPage) => {
    const [cursor, rows] = (await command(name, [
      key(tail),
      page.cursor ?? 0,
      'COUNT',
      page.count ?? PAGE,
    ])) as [string, string[]];
    return { cursor: Number(cursor), rows };
  };
  const result: Dependencies = {};
  if (opts.processed) {
    const { cursor, rows } = await scan('HSCAN', 'processed', opts.processed);
    result.processed = parsed(pairs(rows));
    result.nextProcessedCursor = cursor;
  }
  if (opts.unprocessed) {
    const { cursor, rows } = await scan('SSCAN', 'dependencies', opts.unprocessed);
    result.unprocessed = rows;
    result.nextUnprocessedCursor = cursor;
  }
  if (opts.ignored) {
    const { cursor, rows } = await scan('HSCAN', 'failed', opts.ignored);
    result.ignored = Object.fromEntries(pairs(rows));
    result.nextIgnoredCursor = cursor;
  }
  if (opts.failed) {
    const { cursor = 0, count = PAGE } = opts.failed;
    result.failed = (await command('ZRANGE', [key('unsuccessful'), cursor, cursor + count - 1])) as string[];
    result.nextFailedCursor = cursor + count;
  }
  return result;
}

export async function dependenciesCount(
  queue: JobHost,
  id: string,
  kinds: DependencyKinds = {},
): Promise<Partial<Record<keyof DependencyKinds, number>>> {
  const key = (tail: string) => queue.toKey(`${id}:${tail}`);
  const counters: Record<keyof DependencyKinds, [string, string]> = {
    processed: ['HLEN', key('processed')],
    unprocessed: ['SCARD', key('dependencies')],
    ignored: ['HLEN', key('failed')],
    failed: ['ZCARD', key('unsuccessful')],
  };
  const all = Object.keys(counters) as (keyof DependencyKinds)[];
  const asked = all.filter((kind) => kinds[kind]);
  const counted = await Promise.all(
    (asked.length > 0 ? asked : all).map(async (kind) => {
      const [name, where] = counters[kind];
      return [kind, Number(await queue.inspect.session.command(name, [where]))] as const;
    }),
  );
  return Object.fromEntries(counted);
}
