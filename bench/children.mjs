// The processes of one workload: one for each library, which warms up once and is then measured whenever it is its turn.
// A process that ends or fails takes only its own library along.

import { Child } from './start-child.mjs';

export class Children {
  #options;
  #children = new Map();

  /** `options` are those of a child. */
  constructor(options) {
    this.#options = options;
  }

  /**
   * Has the library measured, in a new process after a warm-up. `taskOf` prepares the server and says what to do; it is
   * asked once for each, so that what a warm-up leaves on the server is gone as well. Either may take `timeoutMs`.
   * Resolves to `{ figures, stolen }` or `{ error }`. After an error the next measurement begins with a new process.
   */
  async measure(library, taskOf, timeoutMs) {
    const outcome = await this.#ask(library, taskOf, timeoutMs).catch((error) => ({ error: error.message }));
    if (outcome.error !== undefined) await this.#end(library);
    return outcome;
  }

  async end() {
    await Promise.all([...this.#children.keys()].map((library) => this.#end(library)));
  }

  async #ask(library, taskOf, timeoutMs) {
    if (!this.#children.has(library)) {
      this.#children.set(library, new Child(this.#options));
      const warmUp = await this.#children.get(library).ask(await taskOf({ isWarmUp: true }), timeoutMs);
      if (warmUp.error !== undefined) return warmUp;
    }
    return this.#children.get(library).ask(await taskOf({ isWarmUp: false }), timeoutMs);
  }

  async #end(library) {
    const child = this.#children.get(library);
    this.#children.delete(library);
    await child?.end();
  }
}
