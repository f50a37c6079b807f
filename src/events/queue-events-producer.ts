// Publishes events of one's own on a queue's stream.

import { QueueBase } from '../core/queue-base.ts';
import { yokeError } from '../model/errors.ts';
import { type QueueEventsOptions, resolveQueueEventsOptions } from '../model/options/queue-events-options.ts';

export class QueueEventsProducer extends QueueBase {
  constructor(name: string, opts: QueueEventsOptions = {}, _backendFactory?: unknown) {
    super(name, opts, resolveQueueEventsOptions(opts));
  }

  /** `maxEvents` is about how many entries the stream keeps. */
  async publishEvent<Event extends { eventName: string; [field: string]: unknown }>(
    event: Event,
    maxEvents = 1000,
  ): Promise<void> {
    const { eventName, ...fields } = event;
    if (typeof eventName !== 'string' || eventName === '') {
      throw yokeError('INVALID_OPTION', {
        option: 'eventName',
        expected: 'a non-empty string',
        given: String(eventName),
      });
    }
    const flat = Object.entries(fields).flatMap(([name, value]) => [name, String(value)]);
    await this.jobs.publish(['event', eventName, ...flat], maxEvents);
  }
}
