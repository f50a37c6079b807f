// Stays awake for answers that are due at once. Where a server at hand answers within a fraction of a millisecond, a
// process that sleeps until then spends as much time on falling asleep and being woken as it would on waiting, and gets
// the answer later: on a virtual machine a round trip takes twice as long, for the same processor time.

import type { Flight } from './flight.ts';

// Small calls are answered by then, also where the machine has other things to do; for one that takes longer it is better
// to sleep.
const LONGEST_MS = 0.6;
// Only where one answer follows the other for a while. A server that has slept is woken on the processor of whoever calls
// it, and would have to wait for a process that stays awake there.
const AWAKE_MS = 1;
const AWAKE_COUNT = 16;

let awaitedCount = 0;
let until = 0;
let lastAnswerAt = 0;
/** How many answers have followed each other. */
let streak = 0;
let isOn = false;

// Every turn of the event loop looks for what has arrived, without sleeping as long as another turn is due.
function look(): void {
  if (awaitedCount > 0 && performance.now() < until) setImmediate(look);
  else isOn = false;
}

/** The call has been sent to a server at hand. */
export function expectAnswer(flight: Flight): void {
  if (flight.startedAt - lastAnswerAt > AWAKE_MS) streak = 0;
  if (streak < AWAKE_COUNT) return;
  flight.isAwaited = true;
  awaitedCount++;
  until = flight.startedAt + LONGEST_MS;
  if (isOn) return;
  isOn = true;
  setImmediate(look);
}

export function noteAnswer(flight: Flight, at: number): void {
  lastAnswerAt = at;
  streak++;
  if (!flight.isAwaited) return;
  flight.isAwaited = false;
  awaitedCount--;
}
