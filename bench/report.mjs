// Turns the figures of a run into a page of Markdown. Nothing in it is written by hand but the frame: what is lost and
// what is met follows from the figures.

import { judge } from './acceptance.mjs';
import { figure, isCost } from './figures.mjs';
import { LIBRARIES } from './libraries.mjs';
import { MAX_SPREAD, median, ratio } from './statistics.mjs';
import { MOST_STOLEN } from './stolen.mjs';
import { WORKLOADS } from './workloads.mjs';

const QUEUES = ['yoke', 'bullmq', 'groupmq', 'bee-queue'];
const YARDSTICKS = ['bare', 'none'];
const MISSING = '–';

const titleOf = (library) => LIBRARIES[library].title;
const workloadOf = (id) => WORKLOADS.find((workload) => workload.id === id);
const times = (value) => (value === undefined ? MISSING : `${value.toFixed(2)} ×`);

/** `run` is `{ machine, command, rounds, attempts, workloads: [{ id, results, attempts, void }] }`. */
export function renderReport(run, { chart = 'benchmarks.svg' } = {}) {
  return [
    '# Benchmarks',
    '',
    'Written by the benchmark itself; run it again rather than editing it. Only ratios within one run mean anything:',
    'they were taken on one machine, at one time, with the libraries taking turns.',
    '',
    ...setting(run),
    '',
    ...(chart ? [`![Rates next to BullMQ](${chart})`, ''] : []),
    '## Figures',
    '',
    `Medians of the rounds; in brackets the spread, the largest round divided by the smallest. The last column is Yoke next to`,
    'BullMQ: above 1 is better, whichever way the figure counts. **void**: the rounds differ too much for the figure to count.',
    '',
    ...figuresTable(run),
    ...notes(run),
    '',
    ...yardstickSection(run),
    '## Processor time per job',
    '',
    'In microseconds, on the server (Redis) and in the process that adds or works (Node), for the same rounds.',
    '',
    ...costTable(run),
    '',
    '## Where Yoke loses',
    '',
    'Every figure of this run in which another library was better, by any margin, also where two digits show none.',
    '',
    ...losses(run),
    '',
    '## What the project asks of itself',
    '',
    'Next to what the bare scripts reach against the same library, where they took part. Ratios are rounded to two digits',
    'before they are judged: 0.996 counts as 1.',
    '',
    ...acceptanceTable(run),
    '',
    '## What was measured',
    '',
    ...run.workloads.map(({ id }) => `- **${workloadOf(id).title}**: ${workloadOf(id).how}`),
    '',
    'Rates are in jobs per second, but for groups (sets) and reading events (events), and so is processor time per job. All',
    'libraries get the same payload (about a hundred bytes of JSON), the same handlers, a server on the same machine through a',
    'unix socket (TCP where a workload says proxy), and one listener for completed jobs on each worker. In each workload a',
    'library has a process of its own, which warms up once, on a queue of its own, and is then measured whenever it is its',
    'turn: with connections that are opened for it, without the garbage of the turn before, and on an emptied server where it',
    'is not about deep queues. Servers run without persistence. A job that fails or is handled twice ends the measurement.',
    'All get the same number of jobs.',
    '',
    'A round is several short turns of every library, and rounds are interleaved like libraries: the first turn of every',
    'round, then the second of every round. What disturbs the machine for a while so falls on every round and every library,',
    'rather than on one library in one round. The rate of a round is that of all its jobs in all its time, its latencies are',
    'those of all its turns together. A workload is void, and run again whole with more turns, if the rounds of Yoke or of',
    `BullMQ (with lanes: GroupMQ) spread beyond ${MAX_SPREAD}. The other libraries’ spread is told and decides nothing.`,
    '',
    ...stolenNote(run),
    '## What each library does',
    '',
    ...participants(run).map((library) => `- **${titleOf(library)}**: ${LIBRARIES[library].note}`),
    '',
    '## Run it yourself',
    '',
    '```sh',
    'npm ci                    # and redis-server or valkey-server on the PATH; the deep queues take some 3 GB of memory',
    'npm run bench             # everything, half an hour or more; --resume goes on with a broken one, or with what was void',
    'npm run bench -- --quick  # a first look, under three minutes',
    'npm run bench -- --check  # ratios to BullMQ next to the stored ones, under two minutes',
    'npm run bench -- --only process-100 --rounds 3',
    '```',
    '',
  ].join('\n');
}

const percent = (share) => `${Math.round(1000 * share) / 10} %`;

/** What the host took, and what was done about it; nothing of a quick run, which lives with it. */
function stolenNote({ workloads, isQuick }) {
  const kept = workloads.flatMap(({ stolen }) => stolen?.kept ?? []);
  if (isQuick || kept.length === 0) return [];
  const repeats = workloads.reduce((sum, { stolen }) => sum + (stolen?.repeats ?? 0), 0);
  const disturbed = kept.filter((share) => share > MOST_STOLEN).length;
  return [
    'A host that runs other machines takes processor time away from this one. A measurement that lost more than',
    `${percent(MOST_STOLEN)} of its processor time that way is taken again, whatever it says; so were ${repeats} of this run. Of the`,
    `${kept.length} that count, the median lost ${percent(median(kept))} and the worst ${percent(Math.max(...kept))}; ${disturbed} lost too much every time and count as they are.`,
    '',
  ];
}

function participants(run) {
  const present = new Set(run.workloads.flatMap(({ results }) => Object.keys(results)));
  return Object.keys(LIBRARIES).filter((library) => present.has(library));
}

function setting(run) {
  const { machine, command, rounds, sittings = 1 } = run;
  const versions = Object.entries(machine.versions).map(
    ([library, version]) => `${titleOf(library)} ${version}`,
  );
  return [
    '| | |',
    '|---|---|',
    `| date | ${machine.date} |`,
    `| command | \`${command}\` |`,
    `| rounds | ${rounds}, interleaved${sittings > 1 ? `; measured in ${sittings} sittings, each workload whole; what was void in one was measured again in the next` : ''}${run.workloads.some(({ id }) => workloadOf(id).mostRounds < rounds) ? '; memory: 3' : ''} |`,
    `| libraries | ${versions.join(', ')} |`,
    `| server | ${machine.server} |`,
    `| Node.js | ${machine.node} |`,
    `| machine | ${machine.cores} cores (${machine.processor}), ${machine.memoryGb} GB, ${machine.platform}; load ${machine.load} at the start |`,
  ];
}

/** The figures of a workload in the order in which they were measured. */
function figureNames({ results }, wanted) {
  const names = new Set(Object.values(results).flatMap(({ summary }) => Object.keys(summary ?? {})));
  return [...names].filter(wanted);
}

function cell(result, name) {
  if (!result) return MISSING;
  if (result.error) return 'failed';
  const summary = result.summary[name];
  return summary ? `${figure(name).format(summary.median)} (${summary.spread.toFixed(2)})` : MISSING;
}

function rowTitle({ id, void: reason }, name) {
  const title = workloadOf(id).title;
  const full = name === 'rate' ? title : `${title}: ${figure(name).title}`;
  return reason ? `${full} **void**` : full;
}

const medianOf = (workload, library, name) => workload.results[library]?.summary?.[name]?.median;

function yokeTo(peer, workload, name) {
  return ratio(medianOf(workload, 'yoke', name), medianOf(workload, peer, name), figure(name).better);
}

function table(head, rows) {
  return [
    `| ${head.join(' | ')} |`,
    `|${head.map(() => '---').join('|')}|`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ];
}

/** The main table as rows of text, its head first; also what the terminal shows. */
export function figureRows(run) {
  const rows = run.workloads.flatMap((workload) =>
    figureNames(workload, (name) => !isCost(name)).map((name) => [
      rowTitle(workload, name),
      ...QUEUES.map((library) => cell(workload.results[library], name)),
      times(yokeTo('bullmq', workload, name)),
    ]),
  );
  return [['', ...QUEUES.map(titleOf), 'Yoke / BullMQ'], ...rows];
}

function figuresTable(run) {
  const [head, ...rows] = figureRows(run);
  return table(head, rows);
}

export function notes(run) {
  const lines = [];
  for (const { id, results, void: reason, attempts, turns = 1 } of run.workloads) {
    const { title } = workloadOf(id);
    const inTurns = turns > 1 ? `; each round is ${turns} turns of every library` : '';
    if (reason)
      lines.push(
        `- ${title} is void: ${reason}, after ${attempts === 1 ? 'one run' : `${attempts} runs`}${inTurns}.`,
      );
    else if (attempts > 1)
      lines.push(
        `- ${title} was void ${attempts === 2 ? 'once' : `${attempts - 1} times`} before${inTurns}.`,
      );
    for (const [library, { error }] of Object.entries(results)) {
      if (error) lines.push(`- ${titleOf(library)} failed in ${title}: ${error}`);
    }
  }
  return lines.length > 0 ? ['', ...lines] : [];
}

/** Yoke next to what it can at best come close to. */
export function yardstickRows(run) {
  const rows = [];
  for (const workload of run.workloads) {
    for (const library of YARDSTICKS.filter((yardstick) => yardstick in workload.results)) {
      const share = yokeTo(library, workload, 'rate');
      rows.push([
        rowTitle(workload, 'rate'),
        titleOf(library),
        cell(workload.results[library], 'rate'),
        cell(workload.results.yoke, 'rate'),
        share === undefined ? MISSING : `${Math.round(100 * share)} %`,
      ]);
    }
  }
  return [['', 'yardstick', 'rate', 'Yoke', 'share'], ...rows];
}

const YARDSTICK_NOTE = [
  'The bare scripts keep to the number of slots and Yoke takes jobs ahead, so it passes them where slots are few or handlers',
  'take their time. They are a ceiling for addBulk, and at concurrency 100 with handlers that do nothing.',
];

function yardstickSection(run) {
  const [head, ...rows] = yardstickRows(run);
  return rows.length > 0
    ? ['## Next to bare scripts', '', ...YARDSTICK_NOTE, '', ...table(head, rows), '']
    : [];
}

function costTable(run) {
  const rows = run.workloads.flatMap((workload) =>
    figureNames(workload, isCost).map((name) => [
      `${rowTitle(workload, 'rate')}: ${figure(name).title.split(' ')[0]}`,
      ...QUEUES.map((library) => {
        const median = medianOf(workload, library, name);
        return median === undefined ? MISSING : figure(name).format(median);
      }),
      times(yokeTo('bullmq', workload, name)),
    ]),
  );
  return rows.length > 0
    ? table(['', ...QUEUES.map(titleOf), 'Yoke / BullMQ'], rows)
    : ['Not measured in this run.'];
}

/** Every figure below 1 against any other queue, worst first. */
export function findLosses(run) {
  const found = [];
  for (const workload of run.workloads) {
    for (const peer of QUEUES.slice(1)) {
      for (const name of figureNames(workload, () => true)) {
        const measured = yokeTo(peer, workload, name);
        if (measured !== undefined && measured < 1) found.push({ workload, peer, name, measured });
      }
    }
  }
  return found.sort((a, b) => a.measured - b.measured);
}

function losses(run) {
  const found = findLosses(run);
  if (found.length === 0) return ['None in this run.'];
  return table(
    ['', 'against', 'theirs', 'Yoke', 'ratio'],
    found.map(({ workload, peer, name, measured }) => [
      rowTitle(workload, name),
      titleOf(peer),
      figure(name).format(medianOf(workload, peer, name)),
      figure(name).format(medianOf(workload, 'yoke', name)),
      times(measured),
    ]),
  );
}

const peerTitle = (peer) => (peer === 'itself' ? 'itself at 1,000' : titleOf(peer));

function verdict({ measured, isMet, isVoid }) {
  if (measured === undefined) return 'not measured';
  if (isVoid) return 'void';
  return isMet ? 'yes' : '**no**';
}

export function acceptanceRows(run) {
  return [
    ['', 'against', 'required', 'measured', 'bare scripts', 'met'],
    ...judge(run).map((row) => [
      `${workloadOf(row.workload).title}${row.name === 'rate' ? '' : `: ${figure(row.name).title}`}`,
      peerTitle(row.peer),
      `${row.isAtMost ? '≤' : '≥'} ${row.required}`,
      times(row.measured),
      times(row.ceiling),
      verdict(row),
    ]),
  ];
}

function acceptanceTable(run) {
  const [head, ...rows] = acceptanceRows(run);
  return table(head, rows);
}
