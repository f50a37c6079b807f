// Finds option names nobody knows and the known name that was probably meant. BullMQ ignores them and its
// integrations pass extra ones, so they are reported and not refused.

import { yokeError } from '../errors.ts';

export interface UnknownOption {
  readonly name: string;
  /** The known option with the closest name, if one is close enough to be a slip. */
  readonly nearest?: string;
}

export function findUnknownOptions(options: object, known: readonly string[]): readonly UnknownOption[] {
  const unknown: UnknownOption[] = [];
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const nearest = nearestName(name, known);
    unknown.push(nearest === undefined ? { name } : { name, nearest });
  }
  return Object.freeze(unknown);
}

/** For option objects that are ours alone, where nothing has to be tolerated. Throws UNKNOWN_OPTION. */
export function refuseUnknownOptions(path: string, options: object, known: readonly string[]): void {
  const first = findUnknownOptions(options, known)[0];
  if (first === undefined) return;
  const suggestion = first.nearest === undefined ? '' : `; did you mean ${first.nearest}`;
  throw yokeError('UNKNOWN_OPTION', { option: `${path}.${first.name}`, suggestion });
}

/** A third of the letters may differ: "concurency" is a slip, "color" is not a "connection". */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  let nearest: string | undefined;
  let best = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

/** Letters to insert, delete, change or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + change);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
