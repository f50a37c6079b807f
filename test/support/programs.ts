// Runs a program of ours as a user would: a real process, its own data directory, nothing inherited that would send
// it to another server.

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const projectRoot = fileURLToPath(new URL('../..', import.meta.url));

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class Program {
  readonly #child: ChildProcess;
  readonly finished: Promise<Finished>;
  #stdout = '';
  #stderr = '';
  #onOutput: (() => void)[] = [];

  constructor(args: string[], env: NodeJS.ProcessEnv = {}) {
    const { REDIS_URL: _url, NODE_ENV: _env, YOKE_SERVER: _server, ...inherited } = process.env;
    this.#child = spawn(process.execPath, args, {
      cwd: projectRoot,
      env: { ...inherited, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout!.on('data', (chunk) => {
      this.#stdout += chunk;
      for (const look of this.#onOutput) look();
    });
    this.#child.stderr!.on('data', (chunk) => {
      this.#stderr += chunk;
    });
    this.finished = new Promise((resolve) => {
      this.#child.on('close', (code, signal) =>
        resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr }),
      );
    });
  }

  get stdout(): string {
    return this.#stdout;
  }

  /** Resolves as soon as the output satisfies it; rejects if the program ends before. */
  until(isThere: (stdout: string) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (isThere(this.#stdout)) resolve();
      };
      this.#onOutput.push(look);
      look();
      this.finished.then(({ code, stderr }) =>
        reject(new Error(`it ended with ${code} before:\n${this.#stdout}\n${stderr}`)),
      );
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}
