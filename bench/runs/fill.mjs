// Ways of adding many jobs. Every job carries the same small payload, about a hundred bytes of JSON.

const BULK = 1000;
const IN_FLIGHT = 100;

export const payload = (n) => ({
  n,
  to: 'somebody@example.com',
  template: 'welcome',
  locale: 'en',
  urgent: false,
  tags: ['a', 'b'],
});

/** The lanes take turns, as GroupMQ's groups do in its adapter. */
export const inLane = (n, lanes) => ({ lane: `lane-${n % lanes}` });

/** By bulk where the library has it, otherwise a hundred at a time. Not what is measured. */
export async function fill(queue, count, optionsOf = () => undefined) {
  if (queue.addBulk) return addInBulks(queue, count, BULK, optionsOf);
  return addInFlight(queue, count, IN_FLIGHT, optionsOf);
}

export async function addInBulks(queue, count, size, optionsOf = () => undefined) {
  for (let from = 0; from < count; from += size) {
    const entries = [];
    for (let n = from; n < Math.min(from + size, count); n++)
      entries.push({ data: payload(n), opts: optionsOf(n) });
    await queue.addBulk(entries);
  }
}

export async function addInFlight(queue, count, inFlight, optionsOf = () => undefined) {
  let next = 0;
  async function producer() {
    while (next < count) {
      const n = next++;
      await queue.add(payload(n), optionsOf(n));
    }
  }
  await Promise.all(Array.from({ length: inFlight }, producer));
}
