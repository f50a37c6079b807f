// Calls at a steady pace of about five hundred a second, whether or not the ones before were answered: how jobs come
// in life, and where waiting for somebody else's reply would show.

import { sleep } from './probe.mjs';

export async function atSteadyPace(count, call) {
  const calls = [];
  for (let n = 0; n < count; n++) {
    calls.push(call(n));
    // 1, 2 or 3 ms, so that calls do not fall into step with timers on the way.
    await sleep(1 + ((n * 7) % 3));
  }
  await Promise.all(calls);
}
