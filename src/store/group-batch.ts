// Groups added together at one home, one call. A group is never split, and each is added whole or not at all.

import { yokeError } from '../model/errors.ts';
import { type NewJob, pushNewJob } from './add-batch.ts';
import { type Asker, CallBatch, type Wish } from './call-batch.ts';
import {
  addGroupsCall,
  type MappingArg,
  type MemberArg,
  pushAddGroup,
  pushMapping,
  pushMember,
} from './generated/engine.ts';
import { refusal } from './replies.ts';
import type { Session } from './session.ts';

export interface NewGroup {
  readonly groupId: string;
  readonly name: string;
  /** JSON. */
  readonly compensation: string;
  readonly isReverse: boolean;
  /** 0 = none. */
  readonly timeoutMs: number;
  readonly mappings: readonly MappingArg[];
  readonly members: readonly { readonly member: MemberArg; readonly add: NewJob }[];
}

export type AddedGroup =
  | { readonly word: 'added'; readonly ids: readonly string[]; readonly at: number }
  | { readonly word: 'exists'; readonly members: readonly { root: string; id: string }[] };

/** A group as it is sent. */
interface Encoded {
  readonly argv: readonly string[];
  readonly jobCount: number;
  readonly length: number;
}

interface GroupAdder extends Asker {
  added(group: AddedGroup): void;
}

/** One call carries a group whole. */
const MOST_BYTES = 32 * 1024 * 1024;

export class GroupBatch extends CallBatch<Encoded, GroupAdder> {
  /** `session` is the home's; its other calls come after what waits here. */
  constructor(session: Session) {
    super(session, addGroupsCall);
    session.sendFirst(() => this.flush());
  }

  /** Throws at once where the group is too large to be sent. */
  add(group: NewGroup): Promise<AddedGroup> {
    const arg = encode(group);
    return new Promise((added, refused) => {
      this.wish(arg, { added, refused });
    });
  }

  protected override jobCount(arg: Encoded): number {
    return arg.jobCount;
  }

  protected override byteCount(arg: Encoded): number {
    return arg.length;
  }

  protected override encode(batch: readonly Wish<Encoded, GroupAdder>[]): string[] {
    return batch.flatMap(({ arg }) => arg.argv);
  }

  protected override answer(
    batch: readonly Wish<Encoded, GroupAdder>[],
    body: readonly unknown[],
    at: number,
  ): void {
    for (let i = 0; i < batch.length; i++) {
      const [word, ...values] = body[i] as [string, ...string[]];
      const { asker, place } = batch[i]!;
      if (word === 'added') asker.added({ word, ids: values, at });
      else if (word === 'exists') asker.added({ word, members: inPairs(values) });
      else if (word === 'taken') asker.refused(yokeError('GROUP_JOB_TAKEN', { jobKey: values[0] }), place);
      else asker.refused(refusal(word, values[0] ?? '', { jobId: '', command: 'add_group' }), place);
    }
  }
}

function encode(group: NewGroup): Encoded {
  const argv: string[] = [];
  pushAddGroup(argv, {
    groupId: group.groupId,
    name: group.name,
    compensation: group.compensation,
    order: group.isReverse ? 'reverse' : '',
    timeoutMs: group.timeoutMs > 0 ? String(group.timeoutMs) : '',
  });
  for (const mapping of group.mappings) pushMapping(argv, mapping);
  for (const { member, add } of group.members) {
    pushMember(argv, member);
    pushNewJob(argv, add);
  }
  let length = 0;
  for (const text of argv) length += text.length;
  assertBytes(argv, length);
  return { argv, jobCount: group.members.length, length };
}

// No character has more than three bytes for each unit of its length, so mostly the lengths say enough.
function assertBytes(argv: readonly string[], length: number): void {
  if (3 * length <= MOST_BYTES) return;
  let bytes = 0;
  for (const text of argv) bytes += Buffer.byteLength(text);
  if (bytes > MOST_BYTES) throw yokeError('GROUP_BYTES', { bytes, most: MOST_BYTES });
}

function inPairs(values: readonly string[]): { root: string; id: string }[] {
  const pairs: { root: string; id: string }[] = [];
  for (let i = 0; i < values.length; i += 2) pairs.push({ root: values[i]!, id: values[i + 1]! });
  return pairs;
}
