// What a child process did, one JSON line per event, in a file of its own: never in the server under test. The
// monotonic clock gives all processes of one machine one order. Each line also goes to the parent as a signal.

import { openSync, writeSync } from 'node:fs';

export const config = JSON.parse(process.env.YOKE_PROCESS);
export const library = await import(config.bundle);

const file = openSync(config.history, 'a');

export function note(op, fields = {}) {
  const line = { at: String(process.hrtime.bigint()), pid: process.pid, op, ...fields };
  writeSync(file, `${JSON.stringify(line)}\n`);
  if (process.connected) process.send(line, () => {});
}

export function describe(error) {
  return { key: error?.key ?? error?.name, message: String(error?.message ?? error) };
}

process.on('unhandledRejection', (error) => note('unhandled', describe(error)));
process.on('uncaughtException', (error) => {
  note('unhandled', describe(error));
  process.exitCode = 1;
  if (process.connected) process.disconnect();
});

/** Runs a command of the parent; after `close` nothing keeps the process but what the library left behind. */
export function onCommand(commands) {
  process.on('message', async ({ name, argument }) => {
    await commands[name](argument);
    if (name === 'close') process.disconnect();
  });
}
