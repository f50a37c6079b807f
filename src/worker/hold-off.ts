// Times in which a worker fetches nothing: a rate limit, or a pause after trouble so that it does not run hot.

export class HoldOff {
  readonly #onEnd: () => void;
  #until = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  get isOn(): boolean {
    return performance.now() < this.#until;
  }

  /** The latest wish stands. */
  start(ms: number): void {
    this.#until = performance.now() + ms;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#until = 0;
      this.#onEnd();
    }, ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
