// Adds made together, one call.

import { CallBatch, type Wish } from './call-batch.ts';
import { type AddArg, addManyCall, pushAdd, pushAddInLane } from './generated/engine.ts';
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

/** What became of one of many: added, or the reason why not. */
export type AddOutcome = Added | { readonly error: unknown };

export class AddBatch extends CallBatch<NewJob, Added> {
  constructor(session: Session) {
    super(session, addManyCall);
  }

  add(arg: NewJob): Promise<Added> {
    return new Promise((resolve, reject) => {
      this.wish({ arg, askedAt: performance.now(), resolve, reject });
    });
  }

  /** Many at once, without a promise for each; an outcome for each, in their order. Never rejects. */
  addAll(args: readonly NewJob[]): Promise<AddOutcome[]> {
    return new Promise((resolve) => {
      const outcomes = new Array<AddOutcome>(args.length);
      const askedAt = performance.now();
      let left = args.length;
      if (left === 0) resolve(outcomes);
      const settle = (index: number, outcome: AddOutcome) => {
        outcomes[index] = outcome;
        if (--left === 0) resolve(outcomes);
      };
      this.wishAll(
        args.map((arg, index) => ({
          arg,
          askedAt,
          resolve: (added) => settle(index, added),
          reject: (error) => settle(index, { error }),
        })),
      );
    });
  }

  protected override jobCount(): number {
    return 1;
  }

  protected override byteCount({ data, opts, name }: NewJob): number {
    return data.length + opts.length + name.length;
  }

  protected override push(argv: string[], arg: NewJob, before: NewJob | undefined): NewJob | undefined {
    return pushNewJob(argv, arg, before);
  }

  protected override answer(
    batch: readonly Wish<NewJob, Added>[],
    body: readonly unknown[],
    at: number,
  ): void {
    for (let i = 0; i < batch.length; i++) {
      const word = body[2 * i] as string;
      const value = body[2 * i + 1] as string;
      const { arg, resolve, reject } = batch[i]!;
      if (word === 'added' || word === 'duplicate') resolve({ id: value, at });
      else reject(refusal(word, value, { jobId: arg.jobId, command: 'addJob' }));
    }
  }
}

export function pushNewJob(argv: string[], arg: NewJob, before?: NewJob): NewJob | undefined {
  if (arg.lane === undefined) return pushAdd(argv, arg, before);
  pushAddInLane(argv, { ...arg, lane: arg.lane, order: arg.order ?? '' });
  return before;
}
