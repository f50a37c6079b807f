// Lanes as one would write them with nothing but arrays: what the server is compared with, step by step.

export type ModelState = 'resting' | 'later' | 'ready' | 'active' | 'completed' | 'failed';

export interface ModelJob {
  readonly id: string;
  readonly lane: string;
  readonly order: number;
  readonly sequence: number;
  state: ModelState;
  hasRun: boolean;
  /** It has run and was turned back: in front of all others. */
  isFront: boolean;
  /** When it enters its lane. */
  due: number;
}

export interface ModelLane {
  readonly name: string;
  out: string[];
  isPaused: boolean;
  isHalted: boolean;
  concurrency: number | undefined;
}

export interface ModelRules {
  readonly concurrency: number;
  readonly skips: boolean;
  readonly halts: boolean;
}

export class LaneModel {
  readonly jobs = new Map<string, ModelJob>();
  readonly lanes = new Map<string, ModelLane>();
  /** Ready ids; the first runs next. */
  wait: string[] = [];
  readonly #rules: ModelRules;
  #sequence = 0;

  constructor(rules: ModelRules) {
    this.#rules = rules;
  }

  lane(name: string): ModelLane {
    const known = this.lanes.get(name);
    if (known) return known;
    const lane = { name, out: [], isPaused: false, isHalted: false, concurrency: undefined };
    this.lanes.set(name, lane);
    return lane;
  }

  inState(...states: ModelState[]): ModelJob[] {
    return [...this.jobs.values()].filter(({ state }) => states.includes(state));
  }

  /** Those that rest in a lane, in their order. */
  resting(name: string): ModelJob[] {
    return this.inState('resting')
      .filter(({ lane }) => lane === name)
      .sort(before);
  }

  add(id: string, lane: string, order: number, due: number): void {
    const sequence = ++this.#sequence;
    const job = { id, lane, order, sequence, hasRun: false, isFront: false, due, state: 'later' as const };
    this.jobs.set(id, job);
    if (due === 0) this.#enter(job);
  }

  /** What is due enters its lane: before a fetch, before a retry at once, at a tick of the upkeep. */
  promote(now: number): void {
    const due = this.inState('later')
      .filter((job) => job.due <= now)
      .sort((a, b) => a.due - b.due || a.sequence - b.sequence);
    for (const job of due) job.state = 'resting';
    for (const { lane } of due) this.#release(this.lane(lane));
  }

  /** The job that a fetch gets now, if any. */
  take(): string | undefined {
    for (;;) {
      const id = this.wait.shift();
      if (id === undefined) return undefined;
      const job = this.jobs.get(id)!;
      if (this.#passes(job)) {
        job.state = 'active';
        job.hasRun = true;
        return id;
      }
      const lane = this.lane(job.lane);
      job.isFront = lane.out.includes(id) && job.hasRun;
      job.state = 'resting';
      leave(lane, id);
      this.#release(lane);
    }
  }

  finish(id: string, state: 'completed' | 'failed'): void {
    const job = this.jobs.get(id)!;
    const lane = this.lane(job.lane);
    job.state = state;
    leave(lane, id);
    if (state === 'failed' && this.#rules.halts) lane.isHalted = true;
    this.#release(lane);
  }

  /** An attempt failed and the next may start at once. */
  retry(id: string): void {
    const job = this.jobs.get(id)!;
    const lane = this.lane(job.lane);
    if (!this.#rules.skips) {
      job.state = 'ready';
      this.wait.push(id);
      return;
    }
    leave(lane, id);
    this.#release(lane);
    job.state = 'resting';
    job.isFront = false;
    this.#release(lane);
  }

  /** Handed back, or its worker died: it runs next. */
  giveBack(id: string): void {
    this.jobs.get(id)!.state = 'ready';
    this.wait.unshift(id);
  }

  remove(id: string): void {
    const { lane } = this.jobs.get(id)!;
    this.jobs.delete(id);
    this.wait = this.wait.filter((other) => other !== id);
    leave(this.lane(lane), id);
    this.#release(this.lane(lane));
  }

  /** A finished job runs again. */
  reprocess(id: string): void {
    const job = this.jobs.get(id)!;
    job.isFront = false;
    this.#enter(job);
  }

  pause(name: string): void {
    this.lane(name).isPaused = true;
  }

  resume(name: string): void {
    const lane = this.lane(name);
    lane.isPaused = false;
    lane.isHalted = false;
    this.#release(lane);
  }

  limit(name: string, concurrency: number | undefined): void {
    const lane = this.lane(name);
    lane.concurrency = concurrency;
    this.#release(lane);
  }

  drain(): void {
    for (const { id, lane } of this.inState('resting', 'ready')) {
      this.jobs.delete(id);
      leave(this.lane(lane), id);
    }
    this.wait = [];
  }

  isBlocked(name: string): boolean {
    const { isPaused, isHalted } = this.lane(name);
    return isPaused || isHalted;
  }

  #room(lane: ModelLane): number {
    return lane.concurrency ?? this.#rules.concurrency;
  }

  #enter(job: ModelJob): void {
    job.state = 'resting';
    this.#release(this.lane(job.lane));
  }

  #passes(job: ModelJob): boolean {
    const lane = this.lane(job.lane);
    if (this.isBlocked(lane.name)) return false;
    const at = lane.out.indexOf(job.id);
    if (at === -1) throw new Error(`${job.id} is ready and not out`);
    if (lane.out.length <= this.#room(lane)) return true;
    const running = lane.out.filter((id) => id !== job.id && this.jobs.get(id)!.state === 'active');
    return at < this.#room(lane) && running.length < this.#room(lane);
  }

  #release(lane: ModelLane): void {
    while (!this.isBlocked(lane.name) && lane.out.length < this.#room(lane)) {
      const [first] = this.resting(lane.name);
      if (!first) return;
      first.state = 'ready';
      first.isFront = false;
      lane.out.push(first.id);
      this.wait.push(first.id);
    }
  }
}

function before(a: ModelJob, b: ModelJob): number {
  if (a.isFront !== b.isFront) return a.isFront ? -1 : 1;
  return (a.isFront ? 0 : a.order - b.order) || a.sequence - b.sequence;
}

function leave(lane: ModelLane, id: string): void {
  lane.out = lane.out.filter((other) => other !== id);
}
