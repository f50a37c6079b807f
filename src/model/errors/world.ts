// The world failed: the server or the network. The same call may succeed later, or after an operator has acted.

import { rows } from './row.ts';

export const worldErrors = rows({
  NO_SERVER: {
    family: 'world',
    message: (d) => `connection: expected a server, found none: ${d.reason}.`,
    hint: 'Pass the connection option or set REDIS_URL; or put right what kept the development server from starting.',
  },
  SERVER_TOO_OLD: {
    family: 'world',
    exact: true,
    message: (d) => `Redis version needs to be greater or equal than ${d.minimum} Current: ${d.current}`,
    hint: 'Upgrade the server.',
  },
  SERVER_READ_ONLY: {
    family: 'world',
    message: (d) => `${d.call}: expected a server that takes writes, got a read-only replica.`,
    hint: 'Connect to the primary, or through Sentinel or Cluster so that a failover is followed.',
  },
  SERVER_LOADING: {
    family: 'world',
    message: (d) => `${d.call}: expected a ready server, got one that still loads its data.`,
    hint: 'Nothing to do: the call is sent again until the server is ready.',
  },
  SERVER_OUT_OF_MEMORY: {
    family: 'world',
    message: (d) => `${d.call}: expected free memory on the server, got none below maxmemory.`,
    hint: 'Raise maxmemory or let workers drain the queue; finishing jobs still works.',
  },
  SERVER_AUTH: {
    family: 'world',
    message: (d) => `connection: expected to be let in, got ${d.reason}.`,
    hint: 'Check username and password of the connection option.',
  },
  SERVER_REFUSES_COMMANDS: {
    family: 'world',
    message: (d) => `connection: expected a user who may run ${d.commands}, got ${d.reason}.`,
    hint: 'Allow these commands and the keys under the prefix in the access list of the user.',
  },
  EVICTION_POLICY: {
    family: 'world',
    message: (d) => `maxmemory-policy: expected noeviction, got ${d.policy}.`,
    hint: 'Set it in the server, or jobs can vanish: CONFIG SET maxmemory-policy noeviction.',
  },
  LAYOUT_UNKNOWN: {
    family: 'world',
    message: (d) => `Queue "${d.queue}": expected layout ${d.known} or older, got ${d.found}.`,
    hint: 'A newer version writes to this queue; upgrade this one.',
  },
  OUTCOME_UNKNOWN: {
    family: 'world',
    message: (d) =>
      `${d.call}: expected a reply, got none in ${d.waitedMs} ms of trying; it may or may not have run.`,
    hint: 'Look before repeating it; with a jobId of your own an add can be repeated safely.',
  },
  CALL_REFUSED: {
    family: 'world',
    message: (d) => `${d.call}: refused by the server: ${d.reason}.`,
    hint: 'Read the reason; it means a defect here or a setting of the server there.',
  },
});
