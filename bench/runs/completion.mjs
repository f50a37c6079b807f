// Counts finished jobs up to a number. A failed job ends the run: a figure must not come from work that was not done.

export class Completion {
  #left;
  #resolve;
  #reject;
  #done;
  completedCount = 0;

  constructor(count) {
    this.#left = count;
    this.#done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A failure may come before anybody waits.
    this.#done.catch(() => {});
  }

  get done() {
    return this.#done;
  }

  onCompleted = () => {
    this.completedCount++;
    if (--this.#left === 0) this.#resolve();
  };

  onError = (error) => this.#reject(error instanceof Error ? error : new Error(String(error)));
}
