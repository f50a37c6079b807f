// Runs workloads, each library in a process of its own that lives as long as the workload and has warmed up once. A round
// is several short turns of every library, and the rounds are interleaved as well: the first turn of every round, then the
// second of every round. A machine that is disturbed for seconds or minutes at a time so disturbs a part of every round and
// of every library instead of one library in one round. A measurement from which the host took processor time is taken
// again, whatever it says. A workload whose rounds lie too far apart is void and run again whole, with twice and then
// three times as many turns; nothing is ever picked out.

import { setTimeout as sleep } from 'node:timers/promises';
import { Children } from './children.mjs';
import { Child } from './start-child.mjs';
import { roundOf, summarise, voidReason } from './statistics.mjs';
import { MOST_STOLEN } from './stolen.mjs';
import { depthQueue } from './workloads.mjs';

// For a warm-up, the start of the process included, and for each measurement.
const CHILD_TIMEOUT_MS = 60_000;
const FILL_TIMEOUT_MS = 300_000;
// Long enough for most spells in which the host is busy elsewhere. A quick look does not wait.
const MOST_REPEATS = 6;
const REPEAT_AFTER_MS = 1_000;

/**
 * @param workload one of WORKLOADS
 * @param setup { servers, rounds, attempts, isQuick, libraries, env, onProgress }; `program` is for tests
 */
export async function runWorkload(workload, setup) {
  // They live on when the workload is void: that was the machine, and a new process would have to warm up again to get
  // where these are.
  const children = new Children(setup);
  try {
    return await runAttempts(workload, setup, children);
  } finally {
    await children.end();
  }
}

async function runAttempts(workload, setup, children) {
  const stolen = { kept: [], repeats: 0 };
  for (let attempt = 1; ; attempt++) {
    const turns = attempt * (setup.isQuick ? 1 : (workload.turns ?? 1));
    const results = await runRounds(workload, setup, children, { attempt, turns }, stolen);
    const reason = setup.rounds > 1 ? voidReason(results, workload.steady) : undefined;
    if (reason === undefined || attempt === setup.attempts) {
      const outcome = { id: workload.id, results, attempts: attempt, turns, stolen };
      return reason ? { ...outcome, void: reason } : outcome;
    }
    setup.onProgress({ workload, note: `void (${reason}), run again` });
  }
}

async function runRounds(workload, setup, children, { attempt, turns }, stolen) {
  stolen.kept = [];
  const libraries = workload.libraries.filter((library) => setup.libraries?.includes(library) ?? true);
  const rounds = roundsOf(workload, setup);
  /** Of each library, of each round: the figures of its turns. */
  const taken = Object.fromEntries(
    libraries.map((library) => [library, Array.from({ length: rounds }, () => [])]),
  );
  const errors = {};
  for (let turn = 1; turn <= turns; turn++) {
    for (let round = 1; round <= rounds; round++) {
      for (const library of libraries) {
        // A library that fails once would only cost time again.
        if (errors[library]) continue;
        const outcome = await runUndisturbed(workload, library, setup, children, stolen);
        if (outcome.error) {
          errors[library] = outcome.error;
        } else {
          taken[library][round - 1].push(outcome.figures);
          stolen.kept.push(outcome.stolen);
        }
        const figures = outcome.figures && roundOf([outcome.figures]);
        setup.onProgress({ workload, library, round, rounds, turn, turns, attempt, ...outcome, figures });
      }
    }
  }
  return Object.fromEntries(
    libraries.map((library) => [
      library,
      errors[library]
        ? { error: errors[library] }
        : { summary: summarise(taken[library].map((figures) => roundOf(figures))) },
    ]),
  );
}

// A figure that hardly moves needs few rounds; one that takes long has to do with one in a quick look.
function roundsOf({ mostRounds = Number.POSITIVE_INFINITY, isSlow }, { rounds, isQuick }) {
  return Math.min(rounds, isQuick && isSlow ? 1 : mostRounds);
}

// Only what the host did decides whether a measurement counts. Where it does not leave off, the last one has to do.
async function runUndisturbed(workload, library, setup, children, stolen) {
  const taskOf = ({ isWarmUp }) => prepare(workload, library, setup, isWarmUp);
  for (let repeats = 0; ; repeats++) {
    const outcome = await children.measure(library, taskOf, CHILD_TIMEOUT_MS);
    if (outcome.error || outcome.stolen <= MOST_STOLEN || setup.isQuick || repeats === MOST_REPEATS)
      return outcome;
    stolen.repeats++;
    setup.onProgress({ workload, library, disturbed: outcome.stolen });
    await sleep(REPEAT_AFTER_MS);
  }
}

// The same for every library: how many jobs lie in Redis is part of what is measured, for they come out of its memory. A
// quick look has few of them, and is cold enough for half of them to do as a warm-up: rounds hardly differ after that.
export function countsOf({ count, turns = 1, quickCount, warmUpCount = count * turns }, { isQuick }) {
  if (isQuick) return { count: quickCount, warmUpCount: Math.min(warmUpCount, Math.ceil(quickCount / 2)) };
  return { count, warmUpCount };
}

// The server is emptied here, for each measurement and for the warm-up.
async function prepare(workload, library, setup, isWarmUp) {
  const { count, warmUpCount } = countsOf(workload, setup);
  const where = workload.depths
    ? await deepTask(workload, library, setup)
    : await shallowTask(workload, setup);
  return {
    library,
    run: workload.run,
    ...where,
    ...(isWarmUp ? { name: 'warm', count: warmUpCount } : { count }),
  };
}

async function shallowTask(workload, { servers }) {
  return {
    ...(await servers.connectionsFor(workload.server)),
    params: workload.params ?? {},
    name: 'measured',
  };
}

async function deepTask(workload, library, setup) {
  const depths = [];
  for (const jobs of setup.isQuick ? workload.quickDepths : workload.depths) {
    const { connection, isNew } = await setup.servers.deep(jobs);
    if (isNew) await fillDeep(workload, jobs, connection, setup);
    depths.push({ jobs, connection });
  }
  return {
    connection: depths[0].connection,
    params: { ...workload.params, depths },
    name: depthQueue(library),
  };
}

async function fillDeep(workload, jobs, connection, { env, onProgress }) {
  onProgress({ workload, note: `adding ${jobs.toLocaleString('en-US')} jobs` });
  const task = {
    library: 'yoke',
    run: 'fill-depth',
    connection,
    params: { ...workload.params, jobs, names: workload.libraries.map(depthQueue) },
  };
  const child = new Child({ env });
  const { error } = await child.ask(task, FILL_TIMEOUT_MS);
  await child.end();
  if (error) throw new Error(`the queues could not be filled: ${error}`);
}
