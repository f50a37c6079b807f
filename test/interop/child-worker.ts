// Runs `holding-worker.mjs` with one of the libraries. Yoke is bundled once per test file from the sources at hand.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'tsdown';
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { Bundle } from '../support/bundle.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = fileURLToPath(new URL('./holding-worker.mjs', import.meta.url));

export interface ChildWorker {
  /** Resolves with the ids of the first `count` jobs that it has started. */
  started(count: number): Promise<string[]>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
}

export function useChildWorkers(
  bundle: Bundle,
): (libraryName: string, queue: string, opts: object) => ChildWorker {
  let outDir = '';
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    // Inside node_modules, so that its dependencies resolve as for a user.
    const parent = `${root}node_modules/.cache`;
    mkdirSync(parent, { recursive: true });
    outDir = mkdtempSync(`${parent}/yoke-interop-`);
    await build({
      config: false,
      cwd: root,
      entry: { index: 'src/index.ts' },
      format: 'esm',
      platform: 'node',
      target: 'node20.19',
      dts: false,
      outDir,
      clean: false,
      logLevel: 'silent',
      report: false,
    });
  });
  afterEach(async () => {
    for (const child of children.splice(0)) await kill(child);
  });
  afterAll(() => rmSync(outDir, { recursive: true, force: true }));

  return (libraryName, queue, opts) => {
    const modules: Record<string, string> = {
      yoke: pathToFileURL(`${outDir}/index.mjs`).href,
      'bullmq 6': 'bullmq',
      'bullmq 5': 'bullmq5',
    };
    const settings = JSON.stringify({ queue, opts: { connection: bundle.server.connection, ...opts } });
    const child = spawn(process.execPath, [program, modules[libraryName] as string, settings], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    const ids: string[] = [];
    const lines = createInterface({ input: child.stdout! });
    lines.on('line', (id) => ids.push(id));
    return {
      started: async (count) => {
        while (ids.length < count) await once(lines, 'line');
        return ids.slice(0, count);
      },
      kill: () => kill(child),
    };
  };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
