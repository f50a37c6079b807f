// Runs one call on a server: as a function of our library, or as a script where the server or the user has no
// functions. Survives a flushed library and a flushed script cache.

import type { RedisClient } from './client.ts';
import { mastersOf, sendTexts } from './client.ts';
import { type EngineCall, functionName, librarySource, scriptFor } from './lua-source.ts';
import { hasNoFunctions, isFunctionMissing, isLibraryPresent, isScriptMissing } from './server-errors.ts';

export type EngineMode = 'functions' | 'scripts';

export class Engine {
  readonly #client: RedisClient;
  #mode: EngineMode;
  #loading: Promise<void> | undefined;
  // Servers before 7 refuse the line that carries a script's flags.
  #takesFlags = true;
  /** Digests of the scripts whose source this server has been sent. */
  readonly #given = new Set<string>();

  constructor(client: RedisClient, mode: EngineMode = 'functions') {
    this.#client = client;
    this.#mode = mode;
  }

  get mode(): EngineMode {
    return this.#mode;
  }

  /** Brings the library to every master. Chooses scripts if it may not be loaded. */
  load(): Promise<void> {
    if (this.#mode === 'scripts') return Promise.resolve();
    this.#loading ??= this.#loadEverywhere().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  /** Once, as things stand. `argv` begins with a place for the engine to fill, then '1' and the queue's root. */
  send(call: EngineCall, argv: string[]): Promise<unknown> {
    if (this.#mode === 'scripts') return this.#sendScript(call, argv);
    argv[0] = functionName(call);
    // In small letters: ioredis asks about the name several times, and spells it so each time.
    return sendTexts(this.#client, call.isQuery ? 'fcall_ro' : 'fcall', argv);
  }

  /** True if the call was refused for something that is right now. */
  async mend(error: unknown): Promise<boolean> {
    if (isFunctionMissing(error)) await this.load();
    else if (hasNoFunctions(error) && /NOPERM|unknown command/i.test(String(error))) this.#mode = 'scripts';
    else return false;
    return true;
  }

  // Into a list of its own each time, unlike a function: a repetition of a call goes by digest where the first went with
  // the source, and that first one may not have left yet.
  async #sendScript(call: EngineCall, argv: string[]): Promise<unknown> {
    const script = scriptFor(call, this.#takesFlags);
    if (this.#given.has(script.sha)) {
      try {
        return await sendTexts(this.#client, 'evalsha', argv.with(0, script.sha));
      } catch (error) {
        if (!isScriptMissing(error)) throw error;
        this.#given.clear();
      }
    }
    // With its source the first time: a first try by digest would be refused and come after calls made later.
    this.#given.add(script.sha);
    try {
      return await sendTexts(this.#client, 'eval', argv.with(0, script.source));
    } catch (error) {
      if (!this.#takesFlags || !/compiling script|Unexpected engine/i.test(String(error))) throw error;
      this.#takesFlags = false;
      return this.#sendScript(call, argv);
    }
  }

  async #loadEverywhere(): Promise<void> {
    for (const master of mastersOf(this.#client)) {
      try {
        await master.call('FUNCTION', ['LOAD', librarySource]);
      } catch (error) {
        if (isLibraryPresent(error)) continue;
        if (!hasNoFunctions(error)) throw error;
        this.#mode = 'scripts';
        return;
      }
    }
  }
}
