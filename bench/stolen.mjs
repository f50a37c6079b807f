// A machine that shares its host with others is stopped now and then, for seconds or minutes at a time, and whoever is
// measured meanwhile looks slow. Linux counts the time during which a processor had work and was not given to it.

import { readFileSync } from 'node:fs';

/** A measurement that lost more than this share of its processor time to the host says little of a library. */
export const MOST_STOLEN = 0.15;

/** Ticks that all processors have worked and were kept from working; nothing where the system does not say. */
export function readTicks(read = () => readFileSync('/proc/stat', 'utf8')) {
  let line;
  try {
    [line] = read().split('\n');
  } catch {
    return undefined;
  }
  const [, user, nice, system, _idle, _waiting, irq, softIrq, stolen] = line.split(/\s+/).map(Number);
  return { worked: user + nice + system + irq + softIrq, stolen };
}

/** The share of the wanted processor time that was stolen between two readings; 0 where nobody knows. */
export function stolenShare(before, after) {
  if (!before || !after) return 0;
  const stolen = after.stolen - before.stolen;
  const wanted = after.worked - before.worked + stolen;
  return wanted > 0 ? stolen / wanted : 0;
}
