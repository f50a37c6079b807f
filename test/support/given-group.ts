// Puts transactional groups into a keyspace by raw commands, as docs/keys.md lays them out: no engine has a hand in
// what a table test starts from.

import { type Command, hset, type JobSpec, job, NOW, ROOT, type State } from './given.ts';

export type MemberStatus = 'pending' | 'active' | 'completed' | 'failed' | 'cancelled';
export type GroupState = 'ACTIVE' | 'COMPENSATING' | 'COMPLETED' | 'FAILED' | 'FAILED_COMPENSATION';

export interface MemberSpec {
  readonly id: string;
  readonly status: MemberStatus;
  /** Where its job lies; what the status says if not given. `missing` for one without a job. */
  readonly at?: State;
  readonly root?: string;
  /** Number of its mapping; 0 for none. Default 1. */
  readonly mapping?: number;
  readonly job?: JobSpec;
  /** The state that the group knows of its compensation. */
  readonly undo?: 'waiting' | 'completed' | 'failed';
  /** Where the compensation's job lies; what `undo` says if not given. */
  readonly undoAt?: State;
  readonly reason?: string;
}

export interface GroupSpec {
  readonly id?: string;
  readonly home?: string;
  readonly state?: GroupState;
  readonly members: readonly MemberSpec[];
  readonly isReverse?: boolean;
  readonly timeoutAt?: number;
  /** When maintenance looks at it; a time to come if not said. */
  readonly checkAt?: number;
  /** Mappings for failed members too. */
  readonly onFailed?: boolean;
  readonly fields?: Readonly<Record<string, string>>;
}

export const GROUP = 'g';
export const RESULT = '"done"';
export const CREATED = NOW - 80_000;
export const CHECK_AT = NOW + 15_000;
export const compensationRoot = (root: string): string => `${root}:compensation`;
export const undoId = (index: number, group = GROUP): string => `${group}-${index}`;

const whereabouts: Record<MemberStatus, State> = {
  pending: 'waiting',
  active: 'active',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'missing',
};
const undoWhereabouts = { waiting: 'waiting', completed: 'completed', failed: 'failed' } as const;

export const headOf = (id: string, group = GROUP): string =>
  `{"groupId":"${group}","originalJobName":"work","originalJobId":"${id}","originalReturnValue":`;
export const TAIL = ',"compensationData":{"why":1}}';
export const undoOptions = (index: number, group = GROUP): string =>
  `{"attempts":3,"grp":{"id":"${group}","name":"order"},"jobId":"${undoId(index, group)}"}`;
export const mapping = (group = GROUP, onFailed = false) => ({
  name: 'undo',
  tail: TAIL,
  opts: undoOptions(0, group).slice(0, -3),
  onFailed,
});

export const tie = (
  role: 'member' | 'compensation',
  index: number,
  mappingNumber: number,
  { group = GROUP, home = ROOT } = {},
): string => `${role}:${index}:${mappingNumber}:${home}:groups:${group}`;

/** A value as the server's own msgpack stores it. */
const packed = (key: string, field: string, value: unknown): Command => [
  'EVAL',
  "return redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack(cjson.decode(ARGV[2])))",
  '1',
  key,
  field,
  JSON.stringify(value),
];

/** The record that undoing a member leaves, as the engine adds it. */
export function undoRecord(index: number, id: string, result = RESULT, group = GROUP, home = ROOT) {
  return {
    name: 'undo',
    data: `${headOf(id, group)}${result}${TAIL}`,
    opts: undoOptions(index, group),
    timestamp: String(NOW),
    delay: '0',
    priority: '0',
    grp: tie('compensation', index, 1, { group, home }),
  };
}

function memberCommands(spec: GroupSpec, member: MemberSpec, index: number): Command[] {
  const { id: group = GROUP, home = ROOT } = spec;
  const root = member.root ?? home;
  const key = `${home}:groups:${group}`;
  const mappingNumber = member.mapping ?? 1;
  const fields = {
    grp: tie('member', index, mappingNumber, { group, home }),
    opts: `{"attempts":3,"grp":{"id":"${group}","name":"order"}}`,
    ...member.job?.fields,
  };
  const commands = job(member.at ?? whereabouts[member.status], {
    ...member.job,
    id: member.id,
    root,
    fields,
  });
  commands.push(['HSET', `${key}:jobs`, `${root}:${member.id}`, member.status]);
  commands.push(['ZADD', `${root}:meta:homes`, '0', home]);
  if (mappingNumber === 0) return commands;
  const isUndone = member.status === 'completed' || (member.status === 'failed' && spec.onFailed);
  const plan: Record<string, string> = { [`h${index}`]: headOf(member.id, group) };
  if (isUndone) plan[`r${index}`] = member.status === 'completed' ? RESULT : 'null';
  if (member.undo) plan[`c${index}`] = member.undo;
  if (member.undo === 'failed') plan[`v${index}`] = member.reason ?? 'boom';
  commands.push(hset(`${key}:plan`, plan));
  if (spec.isReverse && isUndone && !member.undo) commands.push(['RPUSH', `${key}:undo`, String(index)]);
  if (member.undo) {
    const c = compensationRoot(root);
    const at = member.undoAt ?? undoWhereabouts[member.undo];
    commands.push(
      ...job(at, {
        root: c,
        id: undoId(index, group),
        fields: undoRecord(index, member.id, RESULT, group, home),
      }),
      ['ZADD', `${c}:meta:homes`, '0', home],
    );
  }
  return commands;
}

/** The group with its members and compensations where their states say, and all that is known of it. */
export function givenGroup(spec: GroupSpec): Command[] {
  const { id = GROUP, home = ROOT, state = 'ACTIVE', members } = spec;
  const key = `${home}:groups:${id}`;
  const count = (status: MemberStatus) => members.filter((member) => member.status === status).length;
  const undone = (undo: string) => members.filter((member) => member.undo === undo).length;
  const isOpen = state === 'ACTIVE' || state === 'COMPENSATING';
  const mappings = Math.max(0, ...members.map((member) => member.mapping ?? 1));
  const commands: Command[] = [
    hset(key, {
      name: 'order',
      state,
      createdAt: String(CREATED),
      updatedAt: String(CREATED),
      totalJobs: String(members.length),
      completedCount: String(count('completed')),
      failedCount: String(count('failed')),
      cancelledCount: String(count('cancelled')),
      compensation: '{}',
      ...(spec.isReverse && { order: 'reverse' }),
      ...(spec.timeoutAt !== undefined && { timeoutAt: String(spec.timeoutAt) }),
      ...(state !== 'ACTIVE' && {
        undoing: String(undone('waiting')),
        undoFailed: String(undone('failed')),
      }),
      ...spec.fields,
    }),
    packed(
      key,
      'members',
      members.flatMap((member) => [member.root ?? home, member.id, member.mapping ?? 1]),
    ),
    ...members.flatMap((member, index) => memberCommands(spec, member, index)),
    ['ZADD', `${home}:groups`, String(CREATED), id],
  ];
  for (let number = 1; number <= mappings; number++) {
    const { name, tail, opts, onFailed } = mapping(id, spec.onFailed);
    commands.push(packed(`${key}:plan`, `m${number}`, [name, tail, opts, onFailed]));
  }
  if (state !== 'ACTIVE') commands.push(['ZADD', `${home}:meta:groups:${state}`, String(CREATED), id]);
  if (isOpen) commands.push(['ZADD', `${home}:meta:groups:open`, String(spec.checkAt ?? CHECK_AT), id]);
  return commands;
}
