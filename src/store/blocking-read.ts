// A read that blocks on the server. It ends with its reply, with its own deadline, or with its link: never later.
// A read that was cut off is not sent again, because a repetition would take a marker that nobody waits for.

import { ConnectionClosedError } from '../model/errors.ts';
import type { Connection } from './connection.ts';
import { isLinkError, patienceFor, translateServerError } from './server-errors.ts';

// A read that outlasts its own timeout by this much has lost its server.
const GRACE_MS = 1000;
// A server that cannot now, but may soon, is not asked in a hot loop.
const PAUSE_MS = 100;

const LINK_LOST = Symbol('link lost');
const NOT_NOW = Symbol('not now');

/**
 * The reply, or null where there was none: after `timeoutMs`, or because the link broke. In the second case the
 * caller must look for what it may have missed once the link is back, so null comes then and not before (but after
 * `timeoutMs` in any case). Rejects when the connection is closed or the server refuses. `yields`: asked when the reply is
 * there; then it comes behind all others that have arrived with it.
 */
export async function blockingRead(
  connection: Connection,
  command: string,
  args: readonly (string | number)[],
  timeoutMs: number,
  yields: () => boolean = () => false,
): Promise<unknown> {
  const client = connection.client ?? (await connection.ready());
  if (!connection.isUp) return nothingOnceUp(connection, timeoutMs);
  const reply = await new Promise<unknown>((resolve, reject) => {
    const tidyUp = () => {
      clearTimeout(timer);
      connection.off('down', onLost);
      connection.off('closed', onLost);
    };
    const onLost = () => {
      tidyUp();
      resolve(LINK_LOST);
    };
    const timer = setTimeout(() => {
      connection.drop();
      onLost();
    }, timeoutMs + GRACE_MS);
    connection.on('down', onLost);
    connection.on('closed', onLost);
    client.call(command, args).then(
      (value) => {
        if (yields()) setImmediate(resolve, value);
        else resolve(value);
        // A job may be waiting for what this reply leads to: that goes first.
        setImmediate(tidyUp);
      },
      (error) => {
        tidyUp();
        if (isLinkError(error) || patienceFor(error) > 0) resolve(NOT_NOW);
        else reject(translateServerError(error, command));
      },
    );
  });
  if (reply !== LINK_LOST && reply !== NOT_NOW) return reply;
  if (reply === NOT_NOW) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  return nothingOnceUp(connection, timeoutMs);
}

async function nothingOnceUp(connection: Connection, timeoutMs: number): Promise<null> {
  await connection.whenUp(timeoutMs);
  if (connection.isClosed) throw new ConnectionClosedError();
  return null;
}
