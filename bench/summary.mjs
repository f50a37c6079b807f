// What the terminal shows at the end: the tables of the report, in columns.

import { acceptanceRows, figureRows, notes, yardstickRows } from './report.mjs';

export function renderSummary(run) {
  const [head, ...judged] = acceptanceRows(run);
  const measured = judged.filter((row) => row.at(-1) !== 'not measured');
  return [
    '',
    'Medians of the rounds (largest / smallest round). Ratios above 1 are in favour of Yoke.',
    '',
    ...columns(figureRows(run)),
    ...notes(run),
    ...titled('Next to the ceiling', yardstickRows(run)),
    ...titled('What the project asks of itself', [head, ...measured]),
    '',
  ].join('\n');
}

function titled(title, rows) {
  return rows.length > 1 ? ['', title, '', ...columns(rows)] : [];
}

function columns(rows) {
  const plain = rows.map((row) => row.map((text) => text.replaceAll('*', '')));
  const widths = plain[0].map((_, i) => Math.max(...plain.map((row) => row[i].length)));
  return plain.map((row) =>
    row.map((text, i) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]))).join('  '),
  );
}
