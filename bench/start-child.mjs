// A child process that is given one task after the other and answers each. Asking never rejects: what goes wrong is an
// answer with an error. After an error the process is gone, since nobody knows what it has left half done.

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('./child.mjs', import.meta.url));

const MOST_COMPLAINTS = 1 << 16;

// One listener for all: a run that is broken off leaves no process behind.
const living = new Set();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

export class Child {
  #process;
  #closed;
  #failure;
  #onAnswer = () => {};

  /** `env` is added to the environment; `program` is for tests. */
  constructor({ env, program = PROGRAM }) {
    // No NODE_ENV: libraries choose defaults by it.
    const { NODE_ENV: _, ...inherited } = process.env;
    // Tasks and answers go over a channel of their own, so that a library may print what it likes. The channel also tells
    // a child whose parent was killed that nobody is left to work for.
    this.#process = fork(program, {
      env: { ...inherited, ...env },
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    living.add(this.#process);
    const complaints = collect(this.#process.stderr);
    this.#process.on('message', (answer) => {
      if ('error' in answer) this.#fail(answer.error);
      else this.#onAnswer(answer);
    });
    this.#process.once('error', (error) => this.#fail(error.message));
    this.#closed = new Promise((resolve) => {
      this.#process.once('close', (code, signal) => {
        living.delete(this.#process);
        this.#failure ??= { error: died(code, signal, complaints()) };
        this.#onAnswer(this.#failure);
        resolve();
      });
    });
  }

  /** One at a time. Resolves to `{ figures, stolen }` or `{ error }`; an error comes once the process is gone. */
  async ask(task, timeoutMs) {
    if (this.#failure) {
      await this.#closed;
      return this.#failure;
    }
    return new Promise((resolve) => {
      const overdue = setTimeout(() => this.#fail(`not done after ${timeoutMs / 1000} s`), timeoutMs);
      this.#onAnswer = (answer) => {
        clearTimeout(overdue);
        this.#onAnswer = () => {};
        resolve(answer);
      };
      // A process that cannot be told anything any more has ended, and answers by that.
      this.#process.send(task, () => {});
    });
  }

  /** Resolves when the process is gone. */
  async end() {
    this.#fail('ended by the benchmark');
    await this.#closed;
  }

  #fail(reason) {
    this.#failure ??= { error: reason };
    this.#process.kill('SIGKILL');
  }
}

function collect(stream) {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk) => {
    text = (text + chunk).slice(-MOST_COMPLAINTS);
  });
  return () => text;
}

function died(code, signal, complaints) {
  const last = complaints.trim().split('\n').at(-1);
  return `the process ended (${signal ?? `code ${code}`})${last ? `: ${last}` : ''}`;
}
