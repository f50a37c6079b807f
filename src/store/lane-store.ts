// Typed verbs over the lanes of one queue.

import type { LaneSettings } from '../model/options/queue-options.ts';

/** The fields of the queue's settings that are given. */
export function laneFields(settings: LaneSettings): Record<string, string> {
  const fields: Record<string, string> = {};
  const set = (field: string, value: string | number | undefined) => {
    if (value !== undefined) fields[`yoke.${field}`] = String(value);
  };
  set('laneConcurrency', settings.concurrency);
  set('laneOnRetry', settings.onRetry);
  set('laneOnFailure', settings.onFailure);
  set('orderingDelayMs', settings.orderingDelayMs);
  return fields;
}
