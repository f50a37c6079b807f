// Typed verbs over one queue, a few lines each. Adds wait for others that are made with them; any other call of
// the same object sends them first.

import { AddBatch, type Added, type Adder, type NewJob } from './add-batch.ts';
import {
  addLogCall,
  changeDelayCall,
  changePriorityCall,
  cleanCall,
  detachCall,
  drainCall,
  keySuffix,
  obliterateCall,
  pauseCall,
  promoteCall,
  promoteManyCall,
  publishCall,
  type ReprocessCallArg,
  releaseDedupCall,
  removeCall,
  removeOrphanCall,
  removeUnprocessedChildrenCall,
  reprocessCall,
  reprocessManyCall,
  resumeCall,
  updateDataCall,
  updateProgressCall,
} from './generated/engine.ts';
import type { EngineCall } from './lua-source.ts';
import { expectWord } from './replies.ts';
import type { Session } from './session.ts';

export type { NewJob };

export type ObliterateWord = 'done' | 'more' | 'not_paused' | 'has_active' | 'has_groups';

export class JobStore {
  readonly session: Session;
  readonly #adds: AddBatch;

  constructor(session: Session) {
    this.session = session;
    this.#adds = new AddBatch(session);
    session.sendFirst(() => this.#adds.flush());
  }

  add(arg: NewJob): Promise<Added> {
    return this.#adds.add(arg);
  }

  /** `adder` is told of each by its index. */
  addAll(args: readonly NewJob[], adder: Adder, firstPlace: number, isFollowed: boolean): void {
    this.#adds.addAll(args, adder, firstPlace, isFollowed);
  }

  /** Resolves when every add made so far has been answered. */
  settle(): Promise<void> {
    return this.#adds.settle();
  }

  async promote(jobId: string): Promise<void> {
    expectWord(
      await this.#run(promoteCall, promoteCall.encode({ jobId })),
      { jobId, command: 'promote', state: 'delayed' },
      'ok',
    );
  }

  async reprocess(arg: ReprocessCallArg): Promise<void> {
    const of = { jobId: arg.jobId, command: 'reprocessJob', state: arg.from };
    expectWord(await this.#run(reprocessCall, reprocessCall.encode(arg)), of, 'ok');
  }

  async changeDelay(jobId: string, delay: number): Promise<void> {
    const of = { jobId, command: 'changeDelay', state: 'delayed' };
    expectWord(await this.#run(changeDelayCall, changeDelayCall.encode({ jobId, delay })), of, 'ok');
  }

  async changePriority(jobId: string, priority: number, isNext: boolean): Promise<void> {
    const reply = await this.#run(changePriorityCall, changePriorityCall.encode({ jobId, priority, isNext }));
    expectWord(reply, { jobId, command: 'changePriority' }, 'ok');
  }

  async updateData(jobId: string, data: string): Promise<void> {
    expectWord(
      await this.#run(updateDataCall, updateDataCall.encode({ jobId, data })),
      { jobId, command: 'updateData' },
      'ok',
    );
  }

  async updateProgress(jobId: string, progress: string): Promise<void> {
    const reply = await this.#run(updateProgressCall, updateProgressCall.encode({ jobId, progress }));
    expectWord(reply, { jobId, command: 'updateProgress' }, 'ok');
  }

  /** How many rows there are now. */
  async addLog(jobId: string, row: string, keep: number): Promise<number> {
    const reply = await this.#run(addLogCall, addLogCall.encode({ jobId, row, keep }));
    return Number(expectWord(reply, { jobId, command: 'addLog' }, 'ok').value);
  }

  async clearLogs(jobId: string, keep: number): Promise<void> {
    const key = `${this.session.root}:${jobId}:logs`;
    if (keep > 0) await this.session.command('LTRIM', [key, -keep, -1]);
    else await this.session.command('DEL', [key]);
  }

  /** False if a worker holds the job, or one that it waits for. */
  async remove(jobId: string, withChildren: boolean): Promise<boolean> {
    const reply = await this.#run(removeCall, removeCall.encode({ jobId, withChildren }));
    return expectWord(reply, { jobId, command: 'removeJob' }, 'ok', 'locked').word === 'ok';
  }

  /** False if a collection holds the job. */
  async removeOrphan(jobId: string): Promise<boolean> {
    const reply = await this.#run(removeOrphanCall, removeOrphanCall.encode({ jobId }));
    return expectWord(reply, { jobId, command: 'removeOrphanedJobs' }, 'ok', 'placed').word === 'ok';
  }

  async removeUnprocessedChildren(jobId: string): Promise<void> {
    await this.#run(removeUnprocessedChildrenCall, removeUnprocessedChildrenCall.encode({ jobId }));
  }

  /** False if the parent was not waiting for this job. */
  async detach(jobId: string, parentKey: string): Promise<boolean> {
    const reply = await this.#run(detachCall, detachCall.encode({ jobId, parentKey }));
    const of = { jobId, parentKey, command: 'removeChildDependency' };
    return expectWord(reply, of, 'ok', 'unrelated').word === 'ok';
  }

  /** False if the id stands for another job, or is free. */
  async releaseDedup(jobId: string, dedupId: string): Promise<boolean> {
    const reply = await this.#run(releaseDedupCall, releaseDedupCall.encode({ jobId, dedupId }));
    return expectWord(reply, { jobId, command: 'removeDeduplicationKey' }, 'ok', 'unrelated').word === 'ok';
  }

  async pause(): Promise<void> {
    await this.#run(pauseCall, pauseCall.encode());
  }

  async resume(): Promise<void> {
    for (let isFirst = true, left = 1; left > 0; isFirst = false) {
      const reply = await this.#run(resumeCall, resumeCall.encode({ isFirst }));
      left = Number(reply[0]);
    }
  }

  /** The rate counter is full for this many ms. */
  async holdStarts(ms: number): Promise<void> {
    const full = String(Number.MAX_SAFE_INTEGER);
    await this.session.command('SET', [
      `${this.session.root}:${keySuffix.limiter}`,
      full,
      'PX',
      Math.round(ms),
    ]);
  }

  async drain(withDelayed: boolean): Promise<void> {
    await this.#untilFewer(1000, (most) => this.#run(drainCall, drainCall.encode({ withDelayed, most })));
  }

  /** The ids of one bounded step. */
  async clean(state: string, cutoff: number, limit: number, most: number): Promise<string[]> {
    const arg = { state, cutoff: String(cutoff), limit, most };
    return (await this.#run(cleanCall, cleanCall.encode(arg))) as string[];
  }

  /** One bounded step. */
  async obliterate(isForced: boolean, most: number): Promise<ObliterateWord> {
    const [word] = await this.#run(obliterateCall, obliterateCall.encode({ isForced, most }));
    return word as ObliterateWord;
  }

  async promoteMany(count: number): Promise<void> {
    await this.#untilFewer(count, (most) => this.#run(promoteManyCall, promoteManyCall.encode({ most })));
  }

  async reprocessMany(from: string, cutoff: number, count: number): Promise<void> {
    const arg = { from, cutoff: String(cutoff) };
    let skip = 0;
    await this.#untilFewer(count, async (most) => {
      const reply = await this.#run(reprocessManyCall, reprocessManyCall.encode({ ...arg, most, skip }));
      skip += Number(reply[1]);
      return reply;
    });
  }

  async publish(fields: readonly string[], maxEvents: number): Promise<void> {
    await this.#run(publishCall, publishCall.encode({ maxEvents: String(maxEvents) }, fields));
  }

  #run(call: EngineCall, args: readonly string[]): Promise<unknown[]> {
    return this.session.run(call, args);
  }

  // Bounded steps, repeated until one finds fewer than it might have taken.
  async #untilFewer(most: number, step: (most: number) => Promise<unknown[]>): Promise<void> {
    for (let count = most; count >= most; ) count = Number((await step(most))[0]);
  }
}
