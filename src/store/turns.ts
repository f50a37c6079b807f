// Calls of one kind that wait for each other: no more than so many are on their way. The server keeps the outcome of
// every call on its way and reads all of them with each, so a hundred at once cost it more than the same hundred in turn.

export class Turns {
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  #busy = 0;

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#busy >= this.#most) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#busy++;
    try {
      return await work();
    } finally {
      this.#busy--;
      this.#waiting.shift()?.();
    }
  }
}
