// The three libraries under one shape, so that a test can be written once and run for every pair of them.

import * as bullmq6 from 'bullmq';
import * as bullmq5 from 'bullmq5';
import * as yoke from '../../src/index.ts';
import type { Bundle } from '../support/bundle.ts';

// Jobs, options and listeners of three libraries meet here: the shapes are what the tests are about.
export type Any = any;
export type Handler = (job: Any, token?: string) => Any;

export interface Library {
  readonly name: string;
  queue(name: string, opts?: object): Any;
  worker(name: string, handler: Handler, opts?: object): Any;
  events(name: string, opts?: object): Any;
  flows(opts?: object): Any;
}

type Exports = { Queue: Any; Worker: Any; QueueEvents: Any; FlowProducer?: Any };

function library(name: string, exports: Exports, bundle: Bundle): Library {
  const open = <T extends { on(event: string, listener: (error: unknown) => void): unknown }>(
    object: T,
  ): T => {
    // A peer that loses its connection at the end of a test says so by an error event, which would end the process.
    object.on('error', () => {});
    bundle.track(object as never);
    return object;
  };
  const connection = () => ({ connection: { ...bundle.server.connection } });
  return {
    name,
    queue: (queue, opts = {}) => open(new exports.Queue(queue, { ...connection(), ...opts })),
    worker: (queue, handler, opts = {}) =>
      open(new exports.Worker(queue, handler, { ...connection(), ...opts })),
    events: (queue, opts = {}) => open(new exports.QueueEvents(queue, { ...connection(), ...opts })),
    flows: (opts = {}) => open(new exports.FlowProducer(opts && { ...connection(), ...opts })),
  };
}

export interface Libraries {
  readonly yoke: Library;
  readonly six: Library;
  readonly five: Library;
}

export function useLibraries(bundle: Bundle): Libraries {
  return {
    yoke: library('yoke', yoke as Exports, bundle),
    six: library('bullmq 6', bullmq6 as Exports, bundle),
    five: library('bullmq 5', bullmq5 as Exports, bundle),
  };
}

/** A promise that a test opens by hand. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
