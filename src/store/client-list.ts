// Finds workers by the names of their connections.

import { mastersOf, type RedisClient } from './client.ts';

export type WorkerEntry = Record<string, string>;

// Some hosted servers refuse the command; BullMQ's answer is kept because tools show it.
const REFUSED: WorkerEntry[] = [{ name: 'GCP does not support client list' }];

export async function listWorkers(
  client: RedisClient,
  matches: (clientName: string) => boolean,
  queueName: string,
): Promise<WorkerEntry[]> {
  try {
    const lists = await Promise.all(mastersOf(client).map((node) => node.call('CLIENT', ['LIST'])));
    // On a cluster each worker is connected to one node only; the one with the most of them is its queue's.
    return lists
      .map((text) => parse(String(text)).filter((entry) => matches(entry.name ?? '')))
      .reduce((best, entries) => (entries.length > best.length ? entries : best), [])
      .map((entry) => ({ ...entry, name: queueName, rawname: entry.name ?? '' }));
  } catch (error) {
    if (/unknown command/i.test(String(error))) return REFUSED;
    throw error;
  }
}

function parse(text: string): WorkerEntry[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) =>
      Object.fromEntries(
        line.split(' ').map((pair) => {
          const at = pair.indexOf('=');
          return [pair.slice(0, at), pair.slice(at + 1)];
        }),
      ),
    );
}
