// The states a job can be in and the names under which callers ask for them.

import { describeGiven, yokeError } from './errors.ts';

export type FinishedStatus = 'completed' | 'failed';

export type JobState = FinishedStatus | 'active' | 'delayed' | 'prioritized' | 'waiting' | 'waiting-children';

/** What the getters accept: `wait` is a synonym of `waiting`; `paused` is the list in which v5 kept waiting jobs. */
export type JobType = JobState | 'repeat' | 'wait' | 'paused';

/** What the getters look at by default, in this order. */
export const jobStates = Object.freeze([
  'active',
  'completed',
  'delayed',
  'failed',
  'prioritized',
  'waiting',
  'waiting-children',
] as const satisfies readonly JobState[]);

export const jobTypes: readonly JobType[] = Object.freeze([
  ...jobStates,
  'repeat',
  'wait',
  'paused',
] as const);

/** All states if none is named; otherwise the names asked for, each once, in the order given. Throws INVALID_OPTION. */
export function normaliseTypes(types?: JobType | readonly JobType[] | null): JobType[] {
  const asked = typeof types === 'string' ? [types] : (types ?? []);
  for (const type of asked) {
    if (!jobTypes.includes(type)) throw unknownType(type);
  }
  return asked.length > 0 ? [...new Set(asked)] : [...jobStates];
}

/** The suffix of the key that holds jobs of this type. */
export function collectionOf(type: JobType): Exclude<JobType, 'waiting'> {
  return type === 'waiting' ? 'wait' : type;
}

function unknownType(given: unknown) {
  const expected = `one of ${jobTypes.join(', ')}`;
  return yokeError('INVALID_OPTION', { option: 'type', expected, given: describeGiven(given) });
}
