// Workers of this process that sleep until their queue has work. Whoever adds jobs here wakes one of them while the add is
// being sent: it asks the server in the same packet, instead of being told by the server first. That saves a lone job a
// round trip. Only a hint: where it is wrong a worker finds nothing and sleeps on, and the marker wakes whoever it would
// have woken.

import type { Session } from './session.ts';

/** Looks for work if it sleeps; whether it does. What it sends may ride with the session that wakes it. */
export type Sleeper = (carrier: Session) => boolean;

const sleepersAt = new Map<string, Set<Sleeper>>();

/** A worker at this queue wants to hear of what is added in this process. Ends with the function that it gets. */
export function joinNeighbours(session: Session, sleeper: Sleeper): () => void {
  const place = placeOf(session);
  if (place === undefined) return () => {};
  const sleepers = sleepersAt.get(place) ?? new Set();
  sleepersAt.set(place, sleepers.add(sleeper));
  return () => {
    if (sleepers.delete(sleeper) && sleepers.size === 0) sleepersAt.delete(place);
  };
}

/**
 * Sends jobs to this queue, and in the same packet the fetch of one worker that sleeps there: it leaves a marker for the
 * next if there is more.
 */
export function sendAmongNeighbours(session: Session, send: () => void): void {
  const place = sleepersAt.size > 0 && session.connection.isUp ? placeOf(session) : undefined;
  const sleepers = place === undefined ? undefined : sleepersAt.get(place);
  if (!sleepers) {
    send();
    return;
  }
  session.together(() => {
    send();
    for (const wake of sleepers) if (wake(session)) return;
  });
}

// The same queue of the same server, however it was connected to; undefined where the server does not say which it is.
function placeOf({ connection, root }: Session): string | undefined {
  const { facts, client } = connection;
  if (facts?.runId === undefined || !client) return undefined;
  const { db, username } = client.options;
  return `${facts.runId}/${db ?? 0}/${username ?? ''}/${root}`;
}
