// What undoing a group changes, in the parts that most tables have in common.

import {
  type Change,
  type Changes,
  events,
  fields,
  gone,
  hash,
  list,
  scored,
  text,
  zset,
} from './expected.ts';
import { NOW, ROOT } from './given.ts';
import { GROUP, RESULT, undoId, undoRecord } from './given-group.ts';

type Fields = Readonly<Record<string, string | undefined>>;
type Event = [string, Record<string, string>?];

const short = (root: string) => root.replace(/^bull:/, '');

/** A compensation is the first job ever of a compensation queue that nobody has used. */
export function undoAdded(
  index: number,
  id: string,
  { root = ROOT, result = RESULT, home = ROOT } = {},
): Changes {
  const c = `${short(root)}:compensation`;
  const jobId = undoId(index);
  return {
    [`${c}:id`]: text('1'),
    [`${c}:${jobId}`]: hash(undoRecord(index, id, result, GROUP, home)),
    [`${c}:wait`]: list(jobId),
    [`${c}:marker`]: scored('0', 0),
    [`${c}:meta`]: hash({ 'opts.maxLenEvents': '10000' }),
    [`${c}:meta:homes`]: zset([home, '0']),
    [`${c}:events`]: events(['added', { jobId, name: 'undo' }], ['waiting', { jobId }]),
  };
}

/** The record's fields beside what a change of state always writes. */
export function groupChanges(record: Fields, statuses: Fields = {}, plan: Fields = {}): Changes {
  return {
    [`q:groups:${GROUP}`]: fields(record),
    ...(Object.keys(statuses).length > 0 && { [`q:groups:${GROUP}:jobs`]: fields(statuses) }),
    ...(Object.keys(plan).length > 0 && { [`q:groups:${GROUP}:plan`]: fields(plan) }),
  };
}

/** The group moves from one state to another, at this moment. */
export function moved(from: string, to: string, checkedBefore = true): Changes {
  const isOpen = to === 'COMPENSATING';
  const changes: Record<string, Change> = { [`q:meta:groups:${to}`]: scored(GROUP, NOW) };
  if (from !== 'ACTIVE') changes[`q:meta:groups:${from}`] = gone;
  if (!isOpen && checkedBefore) changes['q:meta:groups:open'] = gone;
  return changes;
}

export const told = (name: string, body: Record<string, string> = {}): Event => [
  `group:${name}`,
  { groupId: GROUP, groupName: 'order', ...body },
];

/** The counts that every change writes, 0 if not said. */
export const counts = (given: Partial<Record<string, number>> = {}): Record<string, string> =>
  Object.fromEntries(
    ['completedCount', 'failedCount', 'cancelledCount', 'undoing', 'undoFailed'].map((name) => [
      name,
      String(given[name] ?? 0),
    ]),
  );

export interface Settled {
  readonly jobId: string;
  readonly key: string;
  readonly status: string;
  readonly failedReason?: string;
}

export const results = (...rows: Settled[]): string =>
  JSON.stringify(
    rows.map(({ jobId, key, status, failedReason }) => ({
      jobId,
      originalJobKey: key,
      status,
      ...(failedReason !== undefined && { failedReason }),
    })),
  );
