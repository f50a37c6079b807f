// Calls over whole queues, each with a keyspace on which it has something to do.

import {
  addManyCall,
  checkLanesCall,
  cleanCall,
  configureLanesCall,
  drainCall,
  exchangeCall,
  freeLanesCall,
  maintainCall,
  obliterateCall,
  pauseCall,
  promoteManyCall,
  publishCall,
  pushAdd,
  pushComplete,
  removeLaneCall,
  reprocessManyCall,
  resumeCall,
  setLaneCall,
  signalCall,
} from '../../src/store/generated/engine.ts';
import { type Command, crowd, hset, job, lane, NOW, ROOT } from '../support/given.ts';
import { addition, completion, noFetch } from './edges.ts';
import type { Request } from './tables.ts';

export interface QueueRequest extends Request {
  readonly title: string;
  readonly given: readonly Command[];
  /** Words of the reply that refuse. */
  readonly refusals: readonly string[];
}

const paused: Command = hset(`${ROOT}:meta`, { paused: '1' });
const most = 1000;

function finishAndFetch(): string[] {
  const argv: string[] = [];
  pushComplete(argv, completion);
  return exchangeCall.encode({ ...noFetch, fetchCount: 2, token: 'mine:2' }, argv);
}

function addTwo(): string[] {
  const argv: string[] = [];
  pushAdd(argv, { ...addition, jobId: '' });
  pushAdd(argv, { ...addition, jobId: '', delay: '500' });
  return addManyCall.encode(argv);
}

export const queueRequests: readonly QueueRequest[] = [
  { title: 'add_many', call: addManyCall, argv: addTwo(), given: crowd(), refusals: [] },
  {
    title: 'exchange',
    call: exchangeCall,
    argv: finishAndFetch(),
    given: [...crowd(), ...job('active'), ...job('delayed', { id: 'due', due: NOW })],
    refusals: [],
  },
  {
    title: 'maintain',
    call: maintainCall,
    argv: maintainCall.encode({ maxStalls: 1, intervalMs: 30_000 }),
    given: [...crowd(), ...job('expired'), ['SADD', `${ROOT}:stalled`, '1']],
    refusals: [],
  },
  { title: 'pause', call: pauseCall, argv: pauseCall.encode(), given: crowd(), refusals: [] },
  {
    title: 'resume',
    call: resumeCall,
    argv: resumeCall.encode({ isFirst: true }),
    given: [...crowd(), paused, ...job('paused')],
    refusals: [],
  },
  {
    title: 'drain',
    call: drainCall,
    argv: drainCall.encode({ withDelayed: true, most }),
    given: [...crowd(), ...job('paused')],
    refusals: [],
  },
  ...['wait', 'active', 'prioritized', 'delayed', 'completed', 'failed'].map((state) => ({
    title: `clean ${state}`,
    call: cleanCall,
    argv: cleanCall.encode({ state, cutoff: String(NOW), limit: 0, most }),
    given: [...crowd(), ...job('expired')],
    refusals: [],
  })),
  {
    title: 'obliterate',
    call: obliterateCall,
    argv: obliterateCall.encode({ isForced: true, most }),
    given: [...crowd(), paused],
    refusals: [],
  },
  {
    title: 'obliterate of a queue that runs',
    call: obliterateCall,
    argv: obliterateCall.encode({ isForced: true, most }),
    given: crowd(),
    refusals: ['not_paused'],
  },
  {
    title: 'obliterate of a queue with active jobs',
    call: obliterateCall,
    argv: obliterateCall.encode({ isForced: false, most }),
    given: [...crowd(), paused],
    refusals: ['has_active'],
  },
  {
    title: 'promote_many',
    call: promoteManyCall,
    argv: promoteManyCall.encode({ most }),
    given: crowd(),
    refusals: [],
  },
  ...['completed', 'failed'].map((from) => ({
    title: `reprocess_many ${from}`,
    call: reprocessManyCall,
    argv: reprocessManyCall.encode({ from, cutoff: String(NOW), most, skip: 0 }),
    given: crowd(),
    refusals: [],
  })),
  {
    title: 'publish',
    call: publishCall,
    argv: publishCall.encode({ maxEvents: '1000' }, ['event', 'mine']),
    given: crowd(),
    refusals: [],
  },
  {
    title: 'check_lanes',
    call: checkLanesCall,
    argv: checkLanesCall.encode({ after: '', most: 10, mostResting: 10, heals: true }),
    given: [...crowd(), ...lane({ out: ['gone'], resting: ['r1'] })],
    refusals: [],
  },
  {
    title: 'configure_lanes',
    call: configureLanesCall,
    argv: configureLanesCall.encode({
      concurrency: '2',
      onRetry: 'skip',
      onFailure: 'halt',
      orderingDelay: '10',
    }),
    given: crowd(),
    refusals: [],
  },
  {
    title: 'free_lanes',
    call: freeLanesCall,
    argv: freeLanesCall.encode({ most }),
    given: [
      ...crowd(),
      ...lane({ out: ['x1'], resting: ['r1'] }),
      ['ZADD', `${ROOT}:meta:lane-delayed`, String(NOW + 5), 'w1'],
    ],
    refusals: [],
  },
  {
    title: 'remove_lane',
    call: removeLaneCall,
    argv: removeLaneCall.encode({ lane: 'a', most }),
    given: [...crowd(), ...lane({ out: ['w1', 'x1'], resting: ['r1'] })],
    refusals: [],
  },
  {
    title: 'set_lane',
    call: setLaneCall,
    argv: setLaneCall.encode({ lane: 'a', pauses: false, resumes: true, concurrency: '3' }),
    given: [...crowd(), ...lane({ own: 'ph', resting: ['r1'] })],
    refusals: [],
  },
  { title: 'signal', call: signalCall, argv: signalCall.encode(), given: crowd(), refusals: [] },
];
