// The one shape behind which a child process, an embedded server and an adopted process look alike.

import type { ServerAddress } from './server-address.ts';

export type ServerKind = 'native' | 'wasm';

export interface ServerInstance {
  readonly kind: ServerKind;
  readonly address: ServerAddress;
  /** The server's process; undefined where it is a thread of this one. */
  readonly pid: number | undefined;
  /** Ends the server and keeps its data, where it was started with persistence. Safe to call twice. */
  stop(): Promise<void>;
  /** Ends the server as a crash would: nothing is flushed. */
  kill(): Promise<void>;
  /** `stop` for exit handlers, where nothing asynchronous runs any more. Blocks for a few seconds at most. */
  stopNow(): void;
}

/** What both kinds need in order to start. */
export interface ServerStart {
  /** An existing directory; data, socket and log live in it. */
  dir: string;
  /** A port of 0 asks for any free one. */
  address: ServerAddress;
  /** Keep the data in `dir` across restarts. */
  persistence: boolean;
  /** Further configuration as `--name value` pairs. */
  args: readonly string[];
}
