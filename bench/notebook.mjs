// A whole run takes an hour and a half. What has been measured is written down behind every workload, so that a run which
// was broken off goes on (`--resume`) instead of beginning again; a workload that was not finished begins again whole.
// Only the same run goes on: the same build, measured in the same way on the same machine.

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const NOTEBOOK = fileURLToPath(new URL('../node_modules/.cache/yoke-bench-run.json', import.meta.url));

/** What must be the same for figures to belong to one run. */
export function identify(buildDir, { rounds, isQuick, libraries }, { date, load, ...machine }) {
  const hash = createHash('sha256');
  for (const file of readdirSync(buildDir).sort())
    hash.update(file).update(readFileSync(join(buildDir, file)));
  return { build: hash.digest('hex'), rounds, isQuick, libraries: libraries ?? null, machine };
}

export class Notebook {
  #file;
  #run;

  constructor(identity, { isResumed = false, file = NOTEBOOK } = {}) {
    this.#file = file;
    this.#run = isResumed ? reopened(read(file), identity) : { identity, sittings: 1, workloads: [] };
  }

  /** How often the run was begun or gone on with. */
  get sittings() {
    return this.#run.sittings;
  }

  /** What was measured of the workload, or undefined. */
  outcomeOf(id) {
    return this.#run.workloads.find((workload) => workload.id === id);
  }

  note(outcome) {
    this.#run.workloads.push(outcome);
    mkdirSync(dirname(this.#file), { recursive: true });
    writeFileSync(this.#file, JSON.stringify(this.#run));
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
      `the run that was broken off differs in ${other === 'build' ? 'the build' : other}: start a new one without --resume`,
    );
  }
  return { ...run, sittings: run.sittings + 1 };
}
