// Stays awake for answers that are due at once. Where a server at hand answers within a fraction of a millisecond, a
// process that sleeps until then spends as much time on falling asleep and being woken as it would on waiting, and gets
// the answer later: on a virtual machine a round trip takes twice as long, for the same processor time.

import type { Flight } from './flight.ts';

// Small calls are answered by then; for one that takes longer it is better to sleep.
const LONGEST_MS = 0.3;

const awaited = new Set<Flight>();
let until = 0;
let isOn = false;

// Every turn of the event loop looks for what has arrived, without sleeping as long as another turn is due.
function look(): void {
  if (awaited.size > 0 && performance.now() < until) setImmediate(look);
  else isOn = false;
}

/** The call has been sent to a server at hand. */
export function expectAnswer(flight: Flight): void {
  awaited.add(flight);
  until = flight.startedAt + LONGEST_MS;
  if (isOn) return;
  isOn = true;
  setImmediate(look);
}

export function noteAnswer(flight: Flight): void {
  awaited.delete(flight);
}
