// A shared machine stands still at times. What a test blames on the product must not be that: this process looks at its
// own clock every few milliseconds and remembers when it could not.

const EVERY_MS = 2;

export class Standstills {
  readonly #gaps: { readonly from: number; readonly until: number }[] = [];
  readonly #timer: NodeJS.Timeout;
  #lastAt = nowMs();

  constructor() {
    this.#timer = setInterval(() => {
      const at = nowMs();
      if (at - this.#lastAt > 3 * EVERY_MS) this.#gaps.push({ from: this.#lastAt, until: at });
      this.#lastAt = at;
    }, EVERY_MS);
  }

  /** For how many of these milliseconds nothing ran here; times are those of `process.hrtime`, in ms. */
  msWithin(from: number, until: number): number {
    let sum = 0;
    for (const gap of this.#gaps) sum += Math.max(0, Math.min(until, gap.until) - Math.max(from, gap.from));
    return sum;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
