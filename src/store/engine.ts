// Runs one call on a server: as a function of our library, or as a script where the server or the user has no
// functions. Survives a flushed library and a flushed script cache.

import type { RedisClient } from './client.ts';
import { mastersOf } from './client.ts';
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

  run(call: EngineCall, root: string, argv: readonly string[], tries = 0): Promise<unknown> {
    if (this.#mode === 'scripts') return this.#runScript(call, root, argv);
    return this.#client
      .call(call.isQuery ? 'FCALL_RO' : 'FCALL', [functionName(call), '1', root, ...argv])
      .catch(async (error) => {
        // Twice: the library can be flushed once between load and call, not over and over.
        if (isFunctionMissing(error) && tries < 2) await this.load();
        else if (hasNoFunctions(error) && /NOPERM|unknown command/i.test(String(error)))
          this.#mode = 'scripts';
        else throw error;
        return this.run(call, root, argv, tries + 1);
      });
  }

  async #runScript(call: EngineCall, root: string, argv: readonly string[]): Promise<unknown> {
    const script = scriptFor(call, this.#takesFlags);
    if (this.#given.has(script.sha)) {
      try {
        return await this.#client.call('EVALSHA', [script.sha, 1, root, ...argv]);
      } catch (error) {
        if (!isScriptMissing(error)) throw error;
        this.#given.clear();
      }
    }
    // With its source the first time: a first try by digest would be refused and come after calls made later.
    this.#given.add(script.sha);
    try {
      return await this.#client.call('EVAL', [script.source, 1, root, ...argv]);
    } catch (error) {
      if (!this.#takesFlags || !/compiling script|Unexpected engine/i.test(String(error))) throw error;
      this.#takesFlags = false;
      return this.#runScript(call, root, argv);
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
