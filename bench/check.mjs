// The guard: ratios to BullMQ next to those that were stored. The margin is wide, because a shared machine is noisy;
// a loss of a third is not noise.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';

export const SHARE_TO_KEEP = 2 / 3;

const file = new URL('./expected.json', import.meta.url);

/** `{ 'add-100': 2.9, … }` for all workloads that both libraries finished. */
export function ratiosOf(run) {
  const ratios = {};
  for (const { id, results } of run.workloads) {
    const ours = results.yoke?.summary?.rate?.median;
    const theirs = results.bullmq?.summary?.rate?.median;
    if (ours && theirs) ratios[id] = Math.round((ours / theirs) * 100) / 100;
  }
  return ratios;
}

/** Rows of `{ id, expected, least, measured, isKept }`; a workload that did not finish is not kept. */
export function compare(measured, expected) {
  return Object.entries(expected).map(([id, ratio]) => {
    const least = ratio * SHARE_TO_KEEP;
    return {
      id,
      expected: ratio,
      least,
      measured: measured[id],
      isKept: measured[id] !== undefined && measured[id] >= least,
    };
  });
}

export function readExpected() {
  if (!existsSync(file)) throw new Error('no ratios are stored yet: npm run bench -- --check --update');
  return JSON.parse(readFileSync(file, 'utf8')).ratios;
}

export function storeExpected(run) {
  const { machine } = run;
  const taken = {
    date: machine.date,
    bullmq: machine.versions.bullmq,
    server: machine.server,
    node: machine.node,
    cores: machine.cores,
  };
  // Those that were not measured now stay.
  const known = existsSync(file) ? readExpected() : {};
  writeFileSync(file, `${JSON.stringify({ taken, ratios: { ...known, ...ratiosOf(run) } }, null, 2)}\n`);
}

export function renderComparison(rows) {
  const lines = rows.map(({ id, expected, least, measured, isKept }) =>
    [
      isKept ? 'ok  ' : 'LOST',
      id.padEnd(20),
      `${measured?.toFixed(2) ?? 'failed'} × BullMQ`.padEnd(16),
      `stored ${expected.toFixed(2)}, at least ${least.toFixed(2)}`,
    ].join(' '),
  );
  return `${lines.join('\n')}\n`;
}
