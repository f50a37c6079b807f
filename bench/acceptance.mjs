// What the project demands of itself, as ratios of medians from one run.

import { figure } from './figures.mjs';
import { ratio } from './statistics.mjs';
import { DEPTHS } from './workloads.mjs';

const against = (workload, required, { peer = 'bullmq', name = 'rate', title } = {}) => ({
  workload,
  required,
  peer,
  name,
  title,
});

const REQUIRED = [
  against('add-100', 2.3),
  against('add-1', 1),
  against('add-bulk', 3.6),
  against('process-1', 1.6),
  against('process-10', 2.8),
  against('process-100', 3),
  against('process-retention', 2.7),
  against('process-priorities', 2.7),
  against('process-delays', 2.7),
  against('process-5ms', 0.9, { peer: 'none' }),
  against('groups', 2.5),
  against('idle', 1, { name: 'p50' }),
  against('idle', 1, { name: 'p99' }),
  against('distant-add', 1, { name: 'p99' }),
  against('distant-finish', 1, { name: 'p99' }),
  against('add-bulk', 0.85, { peer: 'bare' }),
  against('process-100', 0.85, { peer: 'bare' }),
  against('process-100', 1.4, { peer: 'bee-queue' }),
  against('memory', 1, { name: 'waitingBytes' }),
  against('memory', 1, { name: 'completedBytes' }),
  against('embedded-100', 1.5),
  against('lanes-add', 1, { peer: 'groupmq' }),
  against('lanes-1', 1, { peer: 'groupmq' }),
  against('lanes-10', 1.8, { peer: 'groupmq' }),
  against('lanes-100', 1.8, { peer: 'groupmq' }),
  against('lanes-10000', 3, { peer: 'groupmq' }),
];

// A deep queue may cost at most this many times a shallow one.
const MOST_GROWTH = 1.3;
const [SHALLOW, ...DEEPER] = DEPTHS;
const GROWING = ['depth', 'lanes-depth'].flatMap((workload) =>
  ['add', 'process'].flatMap((verb) => DEEPER.map((depth) => [workload, verb, depth])),
);

const medianOf = (run, workload, library, name) =>
  run.workloads.find(({ id }) => id === workload)?.results[library]?.summary?.[name]?.median;

// How far scripts get that do the least one can do, against the same peer; undefined where they were not run.
function ceilingOf(run, { workload, name, peer }) {
  if (peer === 'bare' || name !== 'rate') return undefined;
  return ratio(medianOf(run, workload, 'bare', name), medianOf(run, workload, peer, name), 'higher');
}

/**
 * Rows of `{ workload, name, peer, required, measured, ceiling, isMet, isAtMost }`; `measured` is undefined where not
 * run.
 */
export function judge(run) {
  const rows = REQUIRED.map((demand) => {
    const { workload, name, peer, required } = demand;
    const measured = ratio(
      medianOf(run, workload, 'yoke', name),
      medianOf(run, workload, peer, name),
      figure(name).better,
    );
    const ceiling = ceilingOf(run, demand);
    return row({ ...demand, measured, ceiling, isMet: rounded(measured) >= required, isAtMost: false }, run);
  });
  for (const [workload, verb, depth] of GROWING) {
    const shallow = medianOf(run, workload, 'yoke', `${verb}${SHALLOW}`);
    const deep = medianOf(run, workload, 'yoke', `${verb}${depth}`);
    const measured = shallow && deep ? deep / shallow : undefined;
    const isMet = rounded(measured) <= MOST_GROWTH;
    rows.push(
      row(
        {
          workload,
          name: `${verb}${depth}`,
          peer: 'itself',
          required: MOST_GROWTH,
          measured,
          isMet,
          isAtMost: true,
        },
        run,
      ),
    );
  }
  return rows;
}

function row(judged, run) {
  const isVoid = run.workloads.find(({ id }) => id === judged.workload)?.void !== undefined;
  return { ...judged, isVoid };
}

// Two digits are what the figures are good for, and what the report shows.
const rounded = (value) => Math.round(value * 100) / 100;
