// The arithmetic of the benchmark: medians, spread, percentiles, and which workloads count.

/** Rounds of Yoke or BullMQ that lie further apart than this say that the machine was disturbed. */
export const MAX_SPREAD = 1.5;

export function median(values) {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function spread(values) {
  return Math.max(...values) / Math.min(...values);
}

/** By the nearest rank: a value that was measured, never one in between. */
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

export function percentiles(latencies) {
  return { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
}

/**
 * The figures of a round that was taken in several turns, as if they had been one: of a rate all jobs in all the time, of
 * latencies the percentiles of them all.
 */
export function roundOf(turns) {
  const latencies = turns.flatMap((figures) => figures.latencies ?? []);
  if (latencies.length > 0) return percentiles(latencies);
  if (turns.length === 1) return turns[0];
  const round = {};
  for (const name of new Set(turns.flatMap((figures) => Object.keys(figures)))) {
    // Processor time that was too short to be seen is not told.
    const values = turns.map((figures) => figures[name]).filter((value) => value !== undefined);
    const mean = (of) => values.reduce((sum, value) => sum + of(value), 0) / values.length;
    round[name] = name === 'rate' ? 1 / mean((rate) => 1 / rate) : mean((value) => value);
  }
  return round;
}

/** One summary per figure: `[{ rate: 1 }, { rate: 3 }]` becomes `{ rate: { median, spread, values } }`. */
export function summarise(rounds) {
  const summary = {};
  for (const name of new Set(rounds.flatMap((figures) => Object.keys(figures)))) {
    const values = rounds.map((figures) => figures[name]).filter((value) => typeof value === 'number');
    summary[name] = { median: median(values), spread: spread(values), values };
  }
  return summary;
}

/** Those that the ratio is about: the two, and with lanes the one that has nothing else. */
const judged = (results) => ['yoke', 'bullmq' in results ? 'bullmq' : 'groupmq'];

/** Why the workload is void, or undefined. `steady` names the figures that have to hold still. */
export function voidReason(results, steady) {
  for (const library of judged(results)) {
    for (const name of steady) {
      const summary = results[library]?.summary?.[name];
      if (summary && summary.spread > MAX_SPREAD) {
        return `${library}: ${name} spread ${summary.spread.toFixed(2)}`;
      }
    }
  }
  return undefined;
}

/** How many times as good `ours` is as `theirs`: above 1 is better, whichever way the figure counts. */
export function ratio(ours, theirs, better) {
  if (ours === undefined || theirs === undefined) return undefined;
  return better === 'higher' ? ours / theirs : theirs / ours;
}
