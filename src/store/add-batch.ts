// Adds made together, one call.

import { type Asker, CallBatch, type Wish } from './call-batch.ts';
import { type AddArg, type AddInLaneArg, addManyCall, pushAdd, pushAddInLane } from './generated/engine.ts';
import { ItemRun } from './item-run.ts';
import { sendAmongNeighbours } from './neighbours.ts';
import { refusal } from './replies.ts';
import type { Session } from './session.ts';

/** A job to be added; one of a lane has both of these. */
export interface NewJob extends AddArg {
  lane?: string;
  /** '' = the time of the add. */
  order?: string;
}

export interface Added {
  /** A new one, or that of the job which already had it. */
  readonly id: string;
  /** The server's time of the call. */
  readonly at: number;
}

/** Is told of each of its jobs: added, or refused. */
export interface Adder extends Asker {
  /** `id` and `at` as above. */
  added(id: string, at: number, place: number): void;
}

export class AddBatch extends CallBatch<NewJob, Adder> {
  readonly #session: Session;

  constructor(session: Session) {
    super(session, addManyCall);
    this.#session = session;
  }

  protected override dispatch(batch: readonly Wish<NewJob, Adder>[], post: () => void): void {
    if (batch.some(({ arg }) => arg.delay === '0')) sendAmongNeighbours(this.#session, post);
    else post();
  }

  add(arg: NewJob): Promise<Added> {
    return new Promise((resolve, refused) => {
      this.wish(arg, { added: (id, at) => resolve({ id, at }), refused });
    });
  }

  /**
   * Many at once, without a promise for each; `adder` is told of each by its index, counted from `firstPlace` on.
   * `isFollowed`: its caller goes on with more, in the same turn.
   */
  addAll(args: readonly NewJob[], adder: Adder, firstPlace: number, isFollowed: boolean): void {
    this.wishAll(args, adder, firstPlace, isFollowed);
  }

  protected override jobCount(): number {
    return 1;
  }

  protected override byteCount({ data, opts, name }: NewJob): number {
    return data.length + opts.length + name.length;
  }

  protected override encode(batch: readonly Wish<NewJob, Adder>[]): string[] {
    const argv: string[] = [];
    const runs = newJobRuns();
    for (const { arg } of batch) pushNewJob(argv, arg, runs);
    return argv;
  }

  protected override answer(
    batch: readonly Wish<NewJob, Adder>[],
    body: readonly unknown[],
    at: number,
  ): void {
    let next = 0;
    for (let i = 0; i < batch.length; ) {
      const word = body[next++] as string;
      const value = body[next++] as string;
      if (word === 'numbered') {
        const first = Number(value);
        const count = Number(body[next++]);
        for (let k = 0; k < count; k++) tell(batch[i++]!, 'added', String(first + k), at);
      } else tell(batch[i++]!, word, value, at);
    }
  }
}

function tell({ arg, asker, place }: Wish<NewJob, Adder>, word: string, value: string, at: number): void {
  if (word === 'added' || word === 'duplicate') asker.added(value, at, place);
  else asker.refused(refusal(word, value, { jobId: arg.jobId, command: 'addJob' }), place);
}

/** What new jobs that go in one call have in common. */
export interface NewJobRuns {
  readonly plain: ItemRun<AddArg>;
  readonly inLanes: ItemRun<AddInLaneArg>;
}

export function newJobRuns(): NewJobRuns {
  return { plain: new ItemRun(), inLanes: new ItemRun() };
}

/** Without `runs` it is sent whole. */
export function pushNewJob(argv: string[], arg: NewJob, runs?: NewJobRuns): void {
  if (isInLane(arg)) pushAddInLane(argv, arg, runs?.inLanes);
  else pushAdd(argv, arg, runs?.plain);
}

function isInLane(arg: NewJob): arg is AddInLaneArg & NewJob {
  return arg.lane !== undefined;
}
