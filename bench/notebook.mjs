// A whole run takes long. What has been measured is written down behind every workload, so that a run which
// was broken off goes on (`--resume`) instead of beginning again; a workload that was not finished begins again whole, and so
// does one that was void: an hour that was too noisy for it says nothing about the next. What was measured and is not
// void is never measured again. Only the same run goes on: the same build and benchmark, measured in the same way on the same machine.

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const NOTEBOOK = fileURLToPath(new URL('../node_modules/.cache/yoke-bench-run.json', import.meta.url));

const BENCHMARK = fileURLToPath(new URL('.', import.meta.url));

// Of the programs: what else lies there changes no figure.
function hashOf(dir) {
  const hash = createHash('sha256');
  for (const name of readdirSync(dir, { recursive: true }).sort()) {
    if (/\.(mjs|js|lua)$/.test(name)) hash.update(name).update(readFileSync(join(dir, name)));
  }
  return hash.digest('hex');
}

/** What must be the same for figures to belong to one run. */
export function identify(buildDir, { rounds, isQuick, libraries }, { date, load, ...machine }) {
  return {
    build: hashOf(buildDir),
    benchmark: hashOf(BENCHMARK),
    rounds,
    isQuick,
    libraries: libraries ?? null,
    machine,
  };
}

export class Notebook {
  #file;
  #run;
  #notedNow = new Set();

  constructor(identity, { isResumed = false, file = NOTEBOOK } = {}) {
    this.#file = file;
    this.#run = isResumed ? reopened(read(file), identity) : { identity, sittings: 1, workloads: [] };
  }

  /** How often the run was begun or gone on with. */
  get sittings() {
    return this.#run.sittings;
  }

  /** What was measured of the workload, or undefined where it is to be measured. */
  outcomeOf(id) {
    const noted = this.#noted(id);
    return noted?.void && !this.#notedNow.has(id) ? undefined : noted;
  }

  /** The outcome as it is noted: with how often it was run in earlier sittings. */
  note(outcome) {
    const { id } = outcome;
    const noted = { ...outcome, attempts: outcome.attempts + (this.#noted(id)?.attempts ?? 0) };
    this.#run.workloads = [...this.#run.workloads.filter((workload) => workload.id !== id), noted];
    this.#notedNow.add(id);
    mkdirSync(dirname(this.#file), { recursive: true });
    writeFileSync(this.#file, JSON.stringify(this.#run));
    return noted;
  }

  #noted(id) {
    return this.#run.workloads.find((workload) => workload.id === id);
  }
}

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    throw new Error('there is no run to go on with: start one without --resume');
  }
}

function reopened(run, identity) {
  const wanted = JSON.parse(JSON.stringify(identity));
  const other = Object.keys(wanted).find(
    (name) => JSON.stringify(run.identity[name]) !== JSON.stringify(wanted[name]),
  );
  if (other !== undefined) {
    throw new Error(
      `the run that was broken off differs in ${other === 'build' || other === 'benchmark' ? `the ${other}` : other}: start a new one without --resume`,
    );
  }
  return { ...run, sittings: run.sittings + 1 };
}
