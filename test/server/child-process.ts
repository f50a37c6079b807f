// Runs `child-program.mjs` in real processes, on a bundle of the server room made once per test file.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'tsdown';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Bundles into a directory inside node_modules, so that optional packages resolve as for a user. */
export async function bundleServerRoom(parent = `${root}node_modules/.cache`): Promise<string> {
  mkdirSync(parent, { recursive: true });
  const outDir = mkdtempSync(`${parent}/yoke-server-room-`);
  await build({
    config: false,
    cwd: root,
    entry: {
      'development-server': 'src/server/development-server.ts',
      'throwaway-server': 'src/server/throwaway-server.ts',
      'wasm-thread': 'src/server/wasm-thread.mjs',
    },
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    dts: false,
    outDir,
    clean: false,
    logLevel: 'silent',
    report: false,
  });
  return outDir;
}

export function removeBundle(dir: string): void {
  rmSync(dir, { recursive: true, force: true });
}

export interface Joined {
  connection: { path: string };
  kind: string;
  dataDir: string;
  owner: boolean;
  lines: string[];
}

export class Child {
  readonly process: ChildProcess;
  readonly exited: Promise<unknown>;
  readonly #answers: AsyncIterator<string>;
  errorOutput = '';

  constructor(bundle: string, env: NodeJS.ProcessEnv = {}) {
    const program = fileURLToPath(new URL('./child-program.mjs', import.meta.url));
    const { NODE_ENV: _, NODE_OPTIONS: __, ...inherited } = process.env;
    this.process = spawn(process.execPath, [program, bundle], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...inherited, ...env },
    });
    this.exited = once(this.process, 'exit');
    this.process.stderr?.on('data', (text) => {
      this.errorOutput += text;
    });
    this.process.stdin?.on('error', () => {});
    this.#answers = createInterface({ input: this.process.stdout! })[Symbol.asyncIterator]();
  }

  async call<T>(name: string, argument?: unknown): Promise<T> {
    this.process.stdin?.write(`${JSON.stringify({ name, argument })}\n`);
    const answer = await this.#answers.next();
    if (answer.done) throw new Error(`the child ended: ${this.errorOutput}`);
    const { value, error, code } = JSON.parse(answer.value);
    if (error !== undefined) throw Object.assign(new Error(error), { code });
    return value as T;
  }

  ready(): Promise<void> {
    return this.call('ready');
  }

  join(dataDir: string): Promise<Joined> {
    return this.call<Joined>('join', { dataDir });
  }

  /** Lets it run out of work and leave by itself. */
  async finish(): Promise<void> {
    this.process.stdin?.end();
    await this.exited;
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill(signal);
    await this.exited;
  }
}
