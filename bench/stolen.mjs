// A machine that shares its host with others is stopped now and then, for seconds or minutes at a time, and whoever is
// measured meanwhile looks slow. Linux counts the time during which a processor had work and was not given to it.

import { readFileSync } from 'node:fs';

/** A measurement that lost more than this share of its processor time to the host says little of a library. */
export const MOST_STOLEN = 0.15;

// The columns of the first line of /proc/stat.
const USER = 0;
const NICE = 1;
const SYSTEM = 2;
const IRQ = 5;
const SOFT_IRQ = 6;
const STOLEN = 7;

/** Ticks that all processors have worked and were kept from working; nothing where the system does not say. */
export function readTicks(read = () => readFileSync('/proc/stat', 'utf8')) {
  let line;
  try {
    [line] = read().split('\n');
  } catch {
    return undefined;
  }
  const ticks = line.trim().split(/\s+/).slice(1).map(Number);
  const worked = [USER, NICE, SYSTEM, IRQ, SOFT_IRQ].reduce((sum, column) => sum + ticks[column], 0);
  return { worked, stolen: ticks[STOLEN] };
}

/** The share of the wanted processor time that was stolen between two readings; 0 where nobody knows. */
export function stolenShare(before, after) {
  if (!before || !after) return 0;
  const stolen = after.stolen - before.stolen;
  const wanted = after.worked - before.worked + stolen;
  return wanted > 0 ? stolen / wanted : 0;
}
