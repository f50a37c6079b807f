// Puts jobs into each state by raw commands, exactly as the wire protocol lays them out (§§5, 8): no engine has a
// hand in what a table test starts from.

export type Command = [string, ...string[]];

/** The time of every call in table tests; an ordinary millisecond far from any edge of the score arithmetic. */
export const NOW = 1_900_000_000_000;
export const ROOT = 'bull:q';
/** The token of the worker that calls, and that of another one. */
export const TOKEN = 'mine:1';
export const FOREIGN_TOKEN = 'theirs:9';

export const states = [
  'missing',
  'waiting',
  'prioritized',
  'delayed',
  'active',
  'foreign',
  'expired',
  'completed',
  'failed',
  'waiting-children',
  'paused',
] as const;

/** Where a job is; an active one by whose lease it has: the caller's, a foreign one, or one that ran out. */
export type State = (typeof states)[number];

export interface JobSpec {
  readonly id?: string;
  readonly root?: string;
  /** Due time in ms of a delayed job. */
  readonly due?: number;
  /** Finish time in ms of a finished job; when it began to wait, of a parent. */
  readonly at?: number;
  /** Further or other hash fields. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Full keys of children that have not settled. */
  readonly dependencies?: readonly string[];
}

const BAND = 2 ** 32;
export const priorityScore = (priority: number, turn: number): string => String(priority * BAND + turn);
export const delayedScore = (due: number, place = 0): string => String(due * 4096 + place);

const hsetOf = (key: string, fields: Readonly<Record<string, string>>): Command => [
  'HSET',
  key,
  ...Object.entries(fields).flat(),
];

export const hset = hsetOf;

/** The hash that an ordinary add leaves. */
export function record(fields: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    name: 'work',
    data: '{"n":1}',
    opts: '{"attempts":3}',
    timestamp: String(NOW - 90_000),
    delay: '0',
    priority: '0',
    ...fields,
  };
}

const started = { ats: '1', processedOn: String(NOW - 5_000) };

/** How many fields the record of an active job has. */
export const activeFieldCount = (fields: Readonly<Record<string, string>> = {}): number =>
  Object.keys(record({ ...started, ...fields })).length;

/** The commands that put one job into a state. */
export function job(state: State, spec: JobSpec = {}): Command[] {
  const {
    id = '1',
    root = ROOT,
    due = NOW + 30_000,
    at = NOW - 1_000,
    fields = {},
    dependencies = [],
  } = spec;
  const key = `${root}:${id}`;
  const store = (extra: Record<string, string> = {}): Command => hsetOf(key, record({ ...extra, ...fields }));
  const ties: Command[] =
    dependencies.length > 0 && state !== 'missing' ? [['SADD', `${key}:dependencies`, ...dependencies]] : [];
  switch (state) {
    case 'missing':
      return [];
    case 'waiting':
      return [store(), ['LPUSH', `${root}:wait`, id], ...ties];
    case 'paused':
      return [store(), ['LPUSH', `${root}:paused`, id], ...ties];
    case 'prioritized':
      return [
        store({ priority: '2' }),
        ['SET', `${root}:pc`, '2'],
        ['ZADD', `${root}:prioritized`, priorityScore(Number(fields.priority ?? 2), 2), id],
        ...ties,
      ];
    case 'delayed':
      return [
        store({ delay: String(due - NOW + 90_000) }),
        ['ZADD', `${root}:delayed`, delayedScore(due), id],
        ...ties,
      ];
    case 'active':
    case 'foreign':
      return [
        store(started),
        ['LPUSH', `${root}:active`, id],
        ['SET', `${key}:lock`, state === 'active' ? TOKEN : FOREIGN_TOKEN, 'PX', '30000'],
        ...ties,
      ];
    case 'expired':
      return [store(started), ['LPUSH', `${root}:active`, id], ...ties];
    case 'completed':
      return [
        store({ ...started, atm: '1', returnvalue: '"done"', finishedOn: String(at) }),
        ['ZADD', `${root}:completed`, String(at), id],
        ...ties,
      ];
    case 'failed':
      return [
        store({ ...started, atm: '1', failedReason: 'boom', stacktrace: '["boom"]', finishedOn: String(at) }),
        ['ZADD', `${root}:failed`, String(at), id],
        ...ties,
      ];
    case 'waiting-children':
      return [
        store(),
        ['ZADD', `${root}:waiting-children`, String(at), id],
        ...(ties.length > 0 ? ties : [['SADD', `${key}:dependencies`, `${root}:child`] as Command]),
      ];
  }
}

/** A queue that was used before: its settings and its id counter. */
export function usedQueue(root = ROOT, meta: Record<string, string> = {}): Command[] {
  return [
    hsetOf(`${root}:meta`, { 'opts.maxLenEvents': '10000', version: 'bullmq:6.7.0', ...meta }),
    ['SET', `${root}:id`, '10'],
  ];
}

/** A used queue with a bystander in every collection: whatever happens to a job, these stay as they are. */
export function crowd(root = ROOT): Command[] {
  const at = NOW - 60_000;
  return [
    ...usedQueue(root),
    ...job('waiting', { root, id: 'w1' }),
    ...job('waiting', { root, id: 'w2' }),
    ...job('prioritized', { root, id: 'p1', fields: { priority: '3' } }),
    ...job('delayed', { root, id: 'd1', due: NOW + 60_000 }),
    ...job('foreign', { root, id: 'x1' }),
    ...job('completed', { root, id: 'c1', at }),
    ...job('failed', { root, id: 'f1', at }),
    ...job('waiting-children', { root, id: 'k1', at }),
  ];
}

/** Fields of a job of lane `a`. */
export const laneFields = (orderMs = '5', sequence = '1', lane = 'a') => ({
  lane,
  orderMs,
  laneSeq: sequence,
});
export const laneMember = (sequence: number, id: string): string =>
  `${String(sequence).padStart(16, '0')}${id}`;

export interface LaneRules {
  readonly concurrency?: string;
  readonly onRetry?: string;
  readonly onFailure?: string;
  readonly orderingDelayMs?: string;
  /** What has been used: `l` lines, `s` others beside them, `o` own settings, `d` delayed, `h` held back. */
  readonly used?: string;
}

/** The field of `meta` that says how lanes behave. */
export const laneRules = (rules: LaneRules = {}) => ({
  'yoke.lanes': [
    rules.concurrency ?? '1',
    rules.onRetry ?? 'block',
    rules.onFailure ?? 'continue',
    rules.orderingDelayMs ?? '0',
    rules.used ?? '-',
  ].join(' '),
});

export interface LaneSpec {
  readonly name?: string;
  /** Ids that are out. */
  readonly out?: readonly string[];
  /** Ids that rest, in their order; each gets a record. */
  readonly resting?: readonly string[];
  /** What the lane has of its own. */
  readonly own?: string;
  readonly rules?: LaneRules;
}

/** Who is out of a lane, as the store has it. */
const outText = (ids: readonly string[]) =>
  ids.length === 1 && !ids[0]!.startsWith(':')
    ? ids[0]!
    : `:${ids.map((id) => `${id.length}:${id}`).join('')}`;

/** A lane as it lies in the store; the records of those that are out are the test's. */
export function lane({ name = 'a', out = [], resting = [], own, rules = {} }: LaneSpec): Command[] {
  return [
    hsetOf(`${ROOT}:meta`, laneRules({ ...(own === undefined ? {} : { used: 'o' }), ...rules })),
    ['ZADD', `${ROOT}:meta:lanes`, '0', name],
    ...(out.length > 0 ? [hsetOf(`${ROOT}:meta:lane-out`, { [name]: outText(out) })] : []),
    ...(own === undefined ? [] : [hsetOf(`${ROOT}:meta:lane-settings`, { [name]: own })]),
    ...resting.flatMap((id, i): Command[] => [
      hsetOf(`${ROOT}:${id}`, record(laneFields('7', String(i + 2), name))),
      ['ZADD', `${ROOT}:meta:lane:${name}`, '7', laneMember(i + 2, id)],
      ['ZADD', `${ROOT}:de`, String(NOW - 9_000 + i), id],
    ]),
  ];
}
