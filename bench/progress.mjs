// Says on stderr what is going on: one line per measurement on a terminal, one per workload elsewhere.

import { figure, isCost } from './figures.mjs';
import { LIBRARIES } from './libraries.mjs';

export class Progress {
  #startedAt = performance.now();
  #total;
  #started = [];
  #stream = process.stderr;

  constructor(total) {
    this.#total = total;
  }

  onProgress = (event) => {
    const { workload, library, round, rounds, turn, turns, attempt, figures, error, note, disturbed } = event;
    const place = this.#place(workload);
    if (note) return this.#line(`${place} ${note}`);
    const title = LIBRARIES[library].title;
    if (disturbed)
      return this.#passing(`${place} ${title} again: the host took ${Math.round(100 * disturbed)} %`);
    if (error) return this.#line(`${place} ${title} failed: ${error}`);
    const again = attempt > 1 ? `, run ${attempt}` : '';
    const turnNow = turns > 1 ? `turn ${turn}/${turns} of ` : '';
    this.#passing(`${place} ${turnNow}round ${round}/${rounds}${again}  ${title} ${describe(figures)}`);
  };

  finished(workload, { results, void: reason }) {
    const parts = Object.entries(results).map(([library, { summary, error }]) => {
      const medians =
        summary && Object.fromEntries(Object.entries(summary).map(([name, { median }]) => [name, median]));
      return `${LIBRARIES[library].title} ${error ? 'failed' : describe(medians)}`;
    });
    this.#line(`${this.#place(workload)}${reason ? ' VOID' : ''} ${parts.join(' | ')}`);
  }

  #place({ id, title }) {
    if (!this.#started.includes(id)) this.#started.push(id);
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
    const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
    return `${clock} [${this.#started.length}/${this.#total}] ${title}:`;
  }

  #passing(text) {
    if (this.#stream.isTTY) this.#stream.write(`\r\x1b[K${text.slice(0, (this.#stream.columns ?? 120) - 1)}`);
  }

  #line(text) {
    this.#stream.write(this.#stream.isTTY ? `\r\x1b[K${text}\n` : `${text}\n`);
  }
}

function describe(figures) {
  const names = Object.keys(figures).filter((name) => !isCost(name));
  return names
    .map((name) =>
      name === 'rate'
        ? figure(name).format(figures[name])
        : `${figure(name).title} ${figure(name).format(figures[name])}`,
    )
    .join(', ');
}
