// Items of one kind that go in one call. Those that differ from the one before them in little are sent as a run: a verb, how
// many they are, and what differs of each (lua/lib/items.lua).

export class ItemRun<Arg> {
  /** The last one of its kind, which the next may be said to repeat. */
  before: Arg | undefined;
  #countAt = 0;
  #count = 0;
  #end = -1;

  /** One more, of which so many arguments follow; behind anything else it begins a run. */
  extend(argv: string[], verb: string, argCount: number): void {
    if (argv.length !== this.#end) {
      this.#countAt = argv.push(verb, '') - 1;
      this.#count = 0;
    }
    argv[this.#countAt] = String(++this.#count);
    this.#end = argv.length + argCount;
  }
}
