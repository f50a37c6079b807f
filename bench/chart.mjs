// A bar chart as SVG: rates next to BullMQ's, with lanes next to GroupMQ's, one group of bars per workload. It has no background and takes its text
// colours from the reader's scheme, so that it reads in light and in dark.

import { figure } from './figures.mjs';
import { LIBRARIES } from './libraries.mjs';
import { WORKLOADS } from './workloads.mjs';

const SERIES = ['yoke', 'bullmq', 'groupmq', 'bee-queue', 'bare', 'none'];

const WIDTH = 860;
const LEFT = 280;
const RIGHT = 150;
const BAR = 13;
const GAP = 2;
const GROUP_GAP = 14;
const TOP = 64;

const escapeText = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

const STYLE = `
  text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #24292f; }
  .title { font-size: 15px; font-weight: 600; }
  .value, .axis { font-size: 11px; fill: #57606a; }
  .line { stroke: #8c959f; opacity: 0.5; }
  .yoke { fill: #2f6fde; } .bullmq { fill: #8c959f; } .groupmq { fill: #c9822b; }
  .bee-queue { fill: #b59a1c; } .bare { fill: none; stroke: #2f6fde; stroke-dasharray: 3 2; }
  .none { fill: none; stroke: #8c959f; stroke-dasharray: 3 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .value, .axis { fill: #9da7b1; } .yoke { fill: #5b93f5; } .bare { stroke: #5b93f5; }
  }`;

/** Undefined where nothing can be drawn, as in a run of Yoke alone. */
export function renderChart(run) {
  const groups = run.workloads.map(readGroup).filter((group) => group !== undefined);
  if (groups.length === 0) return undefined;
  const most = Math.max(...groups.flatMap(({ bars }) => bars.map((bar) => bar.ratio)));
  const scale = (WIDTH - LEFT - RIGHT) / most;
  const present = SERIES.filter((library) =>
    groups.some(({ bars }) => bars.some((bar) => bar.library === library)),
  );

  const parts = [];
  let y = TOP;
  for (const { title, bars } of groups) {
    const middle = y + (bars.length * (BAR + GAP) - GAP) / 2 + 4;
    parts.push(`<text x="${LEFT - 12}" y="${middle}" text-anchor="end">${escapeText(title)}</text>`);
    for (const { library, ratio, rate } of bars) {
      const width = Math.max(1, ratio * scale).toFixed(1);
      parts.push(`<rect class="${library}" x="${LEFT}" y="${y}" width="${width}" height="${BAR}" rx="1.5"/>`);
      parts.push(
        `<text class="value" x="${(LEFT + Number(width) + 6).toFixed(1)}" y="${y + BAR - 3}">${escapeText(`${figure('rate').format(rate)} · ${ratio.toFixed(1)} ×`)}</text>`,
      );
      y += BAR + GAP;
    }
    y += GROUP_GAP;
  }
  const one = (LEFT + scale).toFixed(1);
  const bottom = y - GROUP_GAP + 4;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 24}" width="${WIDTH}" height="${bottom + 24}" role="img" aria-label="Rates of ${present.map((library) => LIBRARIES[library].title).join(', ')} next to BullMQ">`,
    `<style>${STYLE}\n</style>`,
    '<text class="title" x="12" y="22">Rate next to BullMQ, with lanes next to GroupMQ (1 ×); longer is better</text>',
    legend(present),
    `<line class="line" x1="${one}" x2="${one}" y1="${TOP - 6}" y2="${bottom}" stroke-dasharray="2 3"/>`,
    `<text class="axis" x="${one}" y="${bottom + 14}" text-anchor="middle">1 ×</text>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

function legend(present) {
  let x = 12;
  return present
    .map((library) => {
      const { title } = LIBRARIES[library];
      const entry = `<rect class="${library}" x="${x}" y="36" width="12" height="12" rx="1.5"/><text x="${x + 18}" y="46">${escapeText(title)}</text>`;
      x += 42 + title.length * 7;
      return entry;
    })
    .join('\n');
}

function readGroup({ id, results, void: reason }) {
  const { title, inChart } = WORKLOADS.find((workload) => workload.id === id);
  const rateOf = (library) => results[library]?.summary?.rate?.median;
  const base = rateOf('bullmq') ?? rateOf('groupmq');
  if (!inChart || base === undefined) return undefined;
  const bars = SERIES.filter((library) => rateOf(library) !== undefined).map((library) => ({
    library,
    rate: rateOf(library),
    ratio: rateOf(library) / base,
  }));
  return { title: reason ? `${title} (void)` : title, bars };
}
