// Runs the programs of test/processes as real child processes, on a bundle of the library made for this run, and
// keeps what each of them wrote about itself.

import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'tsdown';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Note {
  readonly at: bigint;
  readonly pid: number;
  readonly op: string;
  readonly job?: string;
  readonly n?: number;
  readonly [field: string]: unknown;
}

/** What the test did to the system, on the same clock as the histories. */
export interface Fault {
  readonly kind: string;
  readonly from: bigint;
  to: bigint;
  /** The process it was done to; none for the server or the link. */
  readonly pid?: number;
  /** How much longer a process may take to notice that its link is dead: nobody has closed it. Default 0. */
  readonly unnoticedMs?: number;
}

export class Processes {
  readonly #bundle: string;
  readonly #dir: string;
  readonly #children: Child[] = [];
  #count = 0;
  readonly faults: Fault[] = [];

  private constructor(bundle: string, dir: string) {
    this.#bundle = bundle;
    this.#dir = dir;
  }

  static async start(): Promise<Processes> {
    // Inside node_modules, so that the bundle finds its packages as it would for a user.
    mkdirSync(join(root, 'node_modules/.cache'), { recursive: true });
    const outDir = mkdtempSync(join(root, 'node_modules/.cache/yoke-processes-'));
    const entry = { index: 'src/index.ts', 'wasm-thread': 'src/server/wasm-thread.mjs' };
    const shape = { format: 'esm', platform: 'node', target: 'node20.19', dts: false, clean: false } as const;
    await build({ config: false, cwd: root, entry, ...shape, outDir, logLevel: 'silent', report: false });
    const file = ['index.js', 'index.mjs'].map((name) => join(outDir, name)).find(isReadable);
    if (!file) throw new Error('the bundle has no index');
    return new Processes(file, mkdtempSync(join(tmpdir(), 'yoke-histories-')));
  }

  spawn(
    program: 'worker' | 'producer' | 'group-worker' | 'groupmq-worker',
    config: object,
    { skewMs = 0 }: { skewMs?: number } = {},
  ): Child {
    const history = join(this.#dir, `${program}-${++this.#count}.jsonl`);
    const skew = pathToFileURL(join(root, 'test/processes/skew.mjs')).href;
    const args = skewMs === 0 ? [] : ['--import', skew];
    const { NODE_OPTIONS: _, ...inherited } = process.env;
    const settings = JSON.stringify({ bundle: pathToFileURL(this.#bundle).href, history, ...config });
    const child = new Child(
      spawn(process.execPath, [...args, join(root, `test/processes/${program}.mjs`)], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        env: { ...inherited, YOKE_PROCESS: settings, YOKE_SKEW_MS: String(skewMs) },
      }),
      history,
      this.faults,
    );
    this.#children.push(child);
    return child;
  }

  /** Everything that was written down, in one order. */
  history(): Note[] {
    const notes = this.#children.flatMap((child) => child.history());
    return notes.sort((a, b) => (a.at < b.at ? -1 : 1));
  }

  /** Forgets what happened so far; whatever still runs is ended. */
  async clear(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.kill({ isFault: false })));
    this.#children.length = 0;
    this.faults.length = 0;
  }

  async stop(): Promise<void> {
    await this.clear();
    rmSync(this.#dir, { recursive: true, force: true });
    rmSync(join(this.#bundle, '..'), { recursive: true, force: true });
  }
}

export class Child extends EventEmitter {
  readonly #process: ChildProcess;
  readonly #history: string;
  readonly #faults: Fault[];
  readonly #heard: Note[] = [];
  readonly exited: Promise<number | null>;

  constructor(process: ChildProcess, history: string, faults: Fault[]) {
    super();
    this.setMaxListeners(0);
    this.#process = process;
    this.#history = history;
    this.#faults = faults;
    this.exited = new Promise((resolve) => process.once('exit', (code) => resolve(code)));
    process.on('message', (line) => {
      const note = parse(line as Record<string, unknown>);
      this.#heard.push(note);
      this.emit('note', note);
    });
    process.on('error', () => {});
  }

  get pid(): number {
    return this.#process.pid!;
  }

  get isAlive(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Resolves with the first such note, of the past or of the future. */
  async heard(op: string, test: (note: Note) => boolean = () => true, timeoutMs = 20_000): Promise<Note> {
    const past = this.#heard.find((note) => note.op === op && test(note));
    if (past) return past;
    return new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        this.off('note', onNote);
      };
      const onNote = (note: Note) => {
        if (note.op !== op || !test(note)) return;
        stop();
        resolve(note);
      };
      const timer = setTimeout(() => {
        stop();
        const last = this.#heard.slice(-5).map((note) => JSON.stringify({ ...note, at: undefined }));
        reject(
          new Error(`no ${op} from process ${this.pid} within ${timeoutMs} ms; last: ${last.join(' ')}`),
        );
      }, timeoutMs);
      this.on('note', onNote);
    });
  }

  command(name: string, argument?: unknown): void {
    this.#process.send({ name, argument }, () => {});
  }

  /** Asks it to close and waits until the process has left by itself. */
  async close(timeoutMs = 30_000): Promise<void> {
    this.command('close');
    let timer: NodeJS.Timeout | undefined;
    const overdue = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`process ${this.pid} did not end ${timeoutMs} ms after close`)),
        timeoutMs,
      );
    });
    const code = await Promise.race([this.exited, overdue]).finally(() => clearTimeout(timer));
    if (code !== 0) throw new Error(`process ${this.pid} ended with ${code}`);
  }

  async kill({ isFault = true } = {}): Promise<void> {
    if (!this.isAlive) return;
    const now = process.hrtime.bigint();
    if (isFault) this.#faults.push({ kind: 'kill', from: now, to: now, pid: this.pid });
    this.#process.kill('SIGKILL');
    await this.exited;
  }

  /** Stops it as a swapped-out machine would. */
  freeze(): void {
    this.#faults.push({
      kind: 'freeze',
      from: process.hrtime.bigint(),
      to: process.hrtime.bigint(),
      pid: this.pid,
    });
    this.#process.kill('SIGSTOP');
  }

  thaw(): void {
    const fault = this.#faults.findLast(({ kind, pid }) => kind === 'freeze' && pid === this.pid);
    if (fault) fault.to = process.hrtime.bigint();
    this.#process.kill('SIGCONT');
  }

  history(): Note[] {
    if (!isReadable(this.#history)) return [];
    const lines = readFileSync(this.#history, 'utf8').split('\n');
    // The last line of a killed process may be torn.
    return lines.flatMap((line) => {
      try {
        return [parse(JSON.parse(line))];
      } catch {
        return [];
      }
    });
  }
}

function parse(line: Record<string, unknown>): Note {
  return { ...line, at: BigInt(line.at as string) } as Note;
}

function isReadable(file: string): boolean {
  try {
    readFileSync(file);
    return true;
  } catch {
    return false;
  }
}
