// Who takes part, and what one should know to read the figures fairly.

import { readFileSync } from 'node:fs';

export const LIBRARIES = {
  yoke: {
    title: 'Yoke',
    note: 'All defaults. Writes the same keys and the same event stream as BullMQ; calls of one turn of the event loop travel together. With quick handlers it takes jobs ahead of its slots (`fetchAhead`), and above concurrency 1 a slot begins the next job when the handler returns; BullMQ and Bee-Queue begin it when Redis has the outcome. An idle worker in the process that adds is woken by the add itself. With a server on the same machine it stays awake for an answer for up to 0.6 ms: with one job at a time it gains less over a network.',
  },
  bullmq: {
    title: 'BullMQ',
    package: 'bullmq',
    note: 'All defaults. One script call per job; writes an event stream.',
  },
  groupmq: {
    title: 'GroupMQ',
    package: 'groupmq',
    note: 'All defaults. Jobs of one group run one at a time, so they are spread over a hundred groups, or one at concurrency 1, where it is fastest. Keeps no completed jobs unless told to, writes no event stream, has no bulk add and no priorities. Its `autoBatch`, off by default because a crash loses what it buffers, is not measured.',
  },
  'bee-queue': {
    title: 'Bee-Queue',
    package: 'bee-queue',
    note: 'The roles its documentation names: a producer that neither works nor listens, a worker that does not listen to its own events. No locks with a term, no stored events (it publishes them), no job record per state, no priorities, no retention by count; takes all defaults otherwise.',
  },
  bare: {
    title: 'bare scripts',
    note: 'A yardstick: throw-away scripts that write the hash, the lists, the lock, every event and the marker, up to a hundred jobs in a call and two calls on their way (eight where handlers take their time), through ioredis, from one process. With lanes they also let the next job of the lane out, and write who is out. They prove no lease and handle no retry, delay, priority, retention, parent, pause or lost reply, and check nothing.',
  },
  none: { title: 'no queue', note: 'The same handlers in a hundred slots fed from a counter.' },
};

export function versionOf(library) {
  const { package: name } = LIBRARIES[library];
  const file = library === 'yoke' ? '../package.json' : name && `../node_modules/${name}/package.json`;
  return file && JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')).version;
}
