// Sorts what comes back from the client library or the server: try again, load the engine, or tell the user.

import { ConnectionClosedError, YokeError, yokeError } from '../model/errors.ts';

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function isFunctionMissing(error: unknown): boolean {
  return /Function not found/i.test(textOf(error));
}

export function isScriptMissing(error: unknown): boolean {
  return textOf(error).startsWith('NOSCRIPT');
}

export function isLibraryPresent(error: unknown): boolean {
  return /already exists/i.test(textOf(error));
}

/** The server or this user has no functions: use scripts instead. */
export function hasNoFunctions(error: unknown): boolean {
  return /^NOPERM|^ERR unknown command|^OOM|unknown subcommand|not allowed/i.test(textOf(error));
}

const CONNECTION_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  'ENOTFOUND',
  'EHOSTUNREACH',
]);

/** The connection broke, so nobody knows whether the call ran. */
export function isLinkError(error: unknown): boolean {
  const text = textOf(error);
  const code = (error as { code?: unknown } | undefined)?.code;
  return (
    (typeof code === 'string' && CONNECTION_CODES.has(code)) ||
    /Connection is closed|max retries per request|Stream isn't writeable|Command timed out|ECONNREFUSED|ECONNRESET/i.test(
      text,
    )
  );
}

/** The server answered that it cannot now, but may soon; nothing was done. How long it is worth waiting, in ms. */
export function patienceFor(error: unknown): number {
  const text = textOf(error);
  if (/^(LOADING|BUSY |MASTERDOWN|TRYAGAIN|CLUSTERDOWN|UNBLOCKED)/.test(text)) return 120_000;
  // A replica that was a master a moment ago; a new one is found within seconds or not at all.
  if (text.startsWith('READONLY')) return 5_000;
  return 0;
}

// The client library hangs the command with its arguments on the error: payloads and tokens, which end up in logs.
function hideArguments(error: unknown): void {
  const { command } = error as { command?: { name?: string; args?: unknown } };
  if (command && typeof command === 'object' && command.args)
    (error as { command: unknown }).command = { name: command.name };
}

/** What the user is told. */
export function translateServerError(error: unknown, call: string): Error {
  if (error instanceof YokeError || error instanceof ConnectionClosedError) return error;
  const reason = textOf(error);
  hideArguments(error);
  const cause = { cause: error };
  if (reason.startsWith('READONLY')) return yokeError('SERVER_READ_ONLY', { call }, cause);
  if (reason.startsWith('LOADING')) return yokeError('SERVER_LOADING', { call }, cause);
  if (reason.startsWith('OOM')) return yokeError('SERVER_OUT_OF_MEMORY', { call }, cause);
  if (/^(NOAUTH|WRONGPASS)/.test(reason)) return yokeError('SERVER_AUTH', { reason }, cause);
  if (/^NOPERM|unknown command/i.test(reason)) {
    return yokeError('SERVER_REFUSES_COMMANDS', { commands: 'FCALL or EVALSHA', reason }, cause);
  }
  if (isLinkError(error)) return error as Error;
  return yokeError('CALL_REFUSED', { call, reason }, cause);
}
