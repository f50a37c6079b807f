// @ts-check
// The worker thread around the embedded server: listens, keeps its timers running, and writes a snapshot soon
// after something changed. The embedded server has no append-only file, so what came after the last snapshot
// is lost when the process is killed.

import { appendFileSync, chmodSync, openSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { WasmHost } from './wasm-host.mjs';

/**
 * @typedef {object} ThreadStart
 * @property {string} wasmFile
 * @property {string} dir
 * @property {string} logFile
 * @property {{ path: string } | { host: string, port: number }} address
 * @property {boolean} persistence
 * @property {[string, string][]} settings configuration to apply after boot
 * @property {Int32Array} stopped shared; becomes 1 when the data is safe and the address is free
 */

// Soon enough that a killed program loses little, rarely enough that a busy one does not notice.
const minSaveIntervalMs = 250;

// A snapshot holds the server up, so large ones are taken less often: at most this share of the time.
const maxSaveShare = 0.05;

const start = /** @type {ThreadStart} */ (workerData);
const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);

const host = new WasmHost((error) => end(error));
const listener = createServer({ allowHalfOpen: true }, (socket) => host.connect(socket));

try {
  await host.boot({
    wasmFile: start.wasmFile,
    dir: start.dir,
    logDescriptor: openSync(start.logFile, 'w', 0o600),
  });
  for (const [name, value] of start.settings) {
    const reply = host.ask('CONFIG', 'SET', name, value);
    if (!reply.startsWith('+OK')) throw new Error(`it refused ${name} ${value}: ${reply.trim()}`);
  }
  await listen();
  scheduleTick();
  if (start.persistence) scheduleSave(minSaveIntervalMs);
  port.on('message', (message) => {
    if (message === 'stop') stop();
  });
  port.postMessage({ ready: listener.address() });
} catch (error) {
  port.postMessage({ failed: String(/** @type {Error} */ (error).message) });
  finish();
}

function listen() {
  // A socket file outlives a killed process and would refuse the new one.
  if ('path' in start.address && process.platform !== 'win32') rmSync(start.address.path, { force: true });
  return new Promise((resolve, reject) => {
    listener.once('error', reject);
    listener.listen(start.address, () => {
      if ('path' in start.address && process.platform !== 'win32') chmodSync(start.address.path, 0o700);
      resolve(undefined);
    });
  });
}

// Time passes for the server only in steps: without these, blocked clients would wait beyond their timeouts
// and keys would not expire while nobody talks.
function scheduleTick() {
  setTimeout(() => {
    host.tick();
    scheduleTick();
  }, host.restMs);
}

/** @param {number} waitMs */
function scheduleSave(waitMs) {
  setTimeout(() => {
    const startedAt = performance.now();
    try {
      saveIfChanged();
    } catch (error) {
      return end(/** @type {Error} */ (error));
    }
    scheduleSave(Math.max(minSaveIntervalMs, (performance.now() - startedAt) / maxSaveShare));
  }, waitMs);
}

function saveIfChanged() {
  if (!host.wasUsed) return;
  host.wasUsed = false;
  const changes = /rdb_changes_since_last_save:(\d+)/.exec(host.ask('INFO', 'persistence'));
  if (changes !== null && Number(changes[1]) === 0) return;
  // A full disk or a paused server: the next turn tries again.
  if (!host.ask('SAVE').startsWith('+OK')) host.wasUsed = true;
}

function stop() {
  try {
    if (start.persistence) saveIfChanged();
  } catch (error) {
    port.postMessage({ failed: String(error) });
  }
  finish();
}

/** @param {Error} error */
function end(error) {
  // Nobody may be waiting for a message any more; the log is where one looks afterwards.
  appendFileSync(start.logFile, `${error.stack}\n`);
  port.postMessage({ failed: error.message });
  finish();
}

function finish() {
  host.disconnectAll();
  listener.close();
  Atomics.store(start.stopped, 0, 1);
  Atomics.notify(start.stopped, 0);
  process.exit(0);
}
