// Who takes part, and what one should know to read the figures fairly.

import { readFileSync } from 'node:fs';

/** `pace` is about how fast one is beside the fastest where many jobs are on their way. */
export const LIBRARIES = {
  yoke: {
    title: 'Yoke',
    note: 'All defaults. Writes the same keys and the same event stream as BullMQ; calls of one turn of the event loop travel together.',
  },
  bullmq: {
    title: 'BullMQ',
    package: 'bullmq',
    pace: 1 / 3,
    note: 'All defaults. One script call per job; writes an event stream.',
  },
  groupmq: {
    title: 'GroupMQ',
    package: 'groupmq',
    pace: 1 / 2,
    note: 'All defaults. Jobs of one group run one at a time, so they are spread over as many groups as the worker runs at a time, where it is fastest. Keeps no completed jobs unless told to, writes no event stream, has no bulk add and no priorities.',
  },
  'bee-queue': {
    title: 'Bee-Queue',
    package: 'bee-queue',
    pace: 1 / 2,
    note: 'The roles its documentation names: a producer that neither works nor listens, a worker that does not listen to its own events. No locks with a term, no stored events (it publishes them), no job record per state, no priorities, no retention by count; takes all defaults otherwise.',
  },
  bare: {
    title: 'bare scripts',
    note: 'The ceiling: throw-away scripts that write the hash, the lists, the lock, every event and the marker, up to a hundred jobs in a call and two calls on their way (eight where handlers take their time), through ioredis, from one process. With lanes they also let the next job of the lane out, and write who is out. They prove no lease and handle no retry, delay, priority, retention, parent, pause or lost reply, and check nothing.',
  },
  none: { title: 'no queue', note: 'The same handlers in a hundred slots fed from a counter.' },
};

export function versionOf(library) {
  const { package: name } = LIBRARIES[library];
  const file = library === 'yoke' ? '../package.json' : name && `../node_modules/${name}/package.json`;
  return file && JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')).version;
}
