// @ts-check
// The outside world of the embedded server: sockets for its network calls, a directory for its files. The
// server is single-threaded and never waits; whoever feeds it calls `pump`, which steps it until it has
// nothing left to do. Plain JavaScript because a worker thread on Node 20 cannot load TypeScript.

import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

// Connections are numbered from here; lower numbers are files.
const firstDescriptor = 4096;

// Its types come with those of the browser, which this program has no use for.
const { WebAssembly } = /** @type {any} */ (globalThis);

const readable = 1;
const writable = 2;

// What the server gets for "try again later".
const wouldBlock = -1;

// Input a client may queue while the server does not read from it.
const maxQueuedBytes = 4 * 1024 * 1024;

// Output kept back within one pump so that a reply of many pieces leaves in one write.
const maxHeldBytes = 256 * 1024;

// A closed connection whose peer does not fetch its last reply is dropped after this time.
const lingerMs = 10_000;

export class ServerExited extends Error {
  /** @param {number} code */
  constructor(code) {
    super(`the embedded server exited with code ${code}`);
    this.code = code;
  }
}

/** One client as the server sees it. Subclasses say where output goes. */
class Peer {
  /** @type {Buffer[]} */
  input = [];
  inputOffset = 0;
  queuedBytes = 0;
  hasEnded = false;

  /** @param {Buffer} chunk */
  feed(chunk) {
    this.input.push(chunk);
    this.queuedBytes += chunk.length;
  }

  /** @param {Uint8Array} target */
  take(target) {
    let filled = 0;
    while (filled < target.length) {
      const chunk = this.input[0];
      if (chunk === undefined) break;
      const count = Math.min(target.length - filled, chunk.length - this.inputOffset);
      target.set(chunk.subarray(this.inputOffset, this.inputOffset + count), filled);
      filled += count;
      this.inputOffset += count;
      if (this.inputOffset === chunk.length) {
        this.input.shift();
        this.inputOffset = 0;
      }
    }
    this.queuedBytes -= filled;
    return filled;
  }

  get canWrite() {
    return true;
  }

  /** @param {Buffer} _bytes */
  send(_bytes) {}

  close() {}
}

/** The thread's own client, whose commands are answered within one pump. */
class InsidePeer extends Peer {
  reply = '';

  /** @param {Buffer} bytes @override */
  send(bytes) {
    this.reply += bytes.toString('utf8');
  }
}

class SocketPeer extends Peer {
  /** @type {import('node:net').Socket} */
  #socket;
  /** @type {Buffer[]} */
  #held = [];
  #heldBytes = 0;

  /** @param {import('node:net').Socket} socket @param {() => void} wake */
  constructor(socket, wake) {
    super();
    this.#socket = socket;
    const end = () => {
      this.hasEnded = true;
      wake();
    };
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      this.feed(chunk);
      if (this.queuedBytes > maxQueuedBytes) socket.pause();
      wake();
    });
    socket.on('drain', wake);
    socket.on('end', end);
    socket.on('close', end);
    // 'close' follows and says the same.
    socket.on('error', () => {});
  }

  /** @param {Uint8Array} target @override */
  take(target) {
    const filled = super.take(target);
    if (this.queuedBytes <= maxQueuedBytes && this.#socket.isPaused()) this.#socket.resume();
    return filled;
  }

  /** @override */
  get canWrite() {
    return !this.#socket.writableNeedDrain;
  }

  /** @param {Buffer} bytes @override */
  send(bytes) {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#heldBytes >= maxHeldBytes) this.flush();
  }

  flush() {
    const held = this.#held;
    if (held.length === 0) return;
    this.#held = [];
    this.#heldBytes = 0;
    // The client may have left meanwhile; its replies have no reader.
    if (!this.#socket.writable) return;
    if (held.length > 1) this.#socket.cork();
    for (const bytes of held) this.#socket.write(bytes);
    if (held.length > 1) this.#socket.uncork();
  }

  /** @override */
  close() {
    this.flush();
    this.#socket.removeAllListeners('data');
    this.#socket.resume();
    this.#socket.setTimeout(lingerMs, () => this.#socket.destroy());
    this.#socket.destroySoon();
  }

  destroy() {
    this.flush();
    this.#socket.destroy();
  }
}

export class WasmHost {
  /** @type {{ memory: { buffer: ArrayBuffer }, rk_boot(port: number): number, rk_step(): void, rk_next_timeout_ms(): number }} */
  // @ts-expect-error set by boot, before anything else can be called
  #server;
  /** @type {Uint8Array} */
  #bytes = new Uint8Array();
  /** @type {Int32Array} */
  #words = new Int32Array();
  /** @type {Map<number, Peer>} */
  #peers = new Map();
  /** @type {Set<SocketPeer>} */
  #unflushed = new Set();
  /** @type {number[]} */
  #freeDescriptors = [];
  #nextDescriptor = firstDescriptor;
  #listener = -1;
  /** @type {number[]} */
  #arrivals = [];
  #eventCount = 0;
  #isPumpDue = false;
  #isPumping = false;
  /** @type {(error: Error) => void} */
  #onEnd;

  /** Whether a client has sent anything since this was last set to false. */
  wasUsed = false;

  /** @param {(error: Error) => void} onEnd called when the server exits or breaks while pumping by itself */
  constructor(onEnd) {
    this.#onEnd = onEnd;
  }

  /**
   * Loads the program and the snapshot in `dir`.
   * @param {{ wasmFile: string, dir: string, logDescriptor: number }} options
   */
  async boot({ wasmFile, dir, logDescriptor }) {
    const wasi = new WASI({
      version: 'preview1',
      args: ['valkey-server'],
      env: {},
      // Its whole file system: snapshots are written here and the last one is read at boot.
      preopens: { '/': dir },
      // Otherwise its log would appear on the application's standard output.
      stdout: logDescriptor,
      stderr: logDescriptor,
    });
    const { instance } = await WebAssembly.instantiate(readFileSync(wasmFile), {
      wasi_snapshot_preview1: {
        ...wasi.wasiImport,
        // SHUTDOWN and fatal errors end the server, which must not end the process.
        proc_exit: (/** @type {number} */ code) => {
          throw new ServerExited(code);
        },
      },
      host: this.#imports(),
      // Lua's error handling unwinds with this exception; it carries one pointer.
      env: { __c_longjmp: new WebAssembly.Tag({ parameters: ['i32'] }) },
    });
    this.#server = instance.exports;
    wasi.initialize(instance);
    this.#server.rk_boot(6379);
    this.pump();
  }

  /** How long the server may be left alone before its timers want a pump. */
  get restMs() {
    return Math.min(100, Math.max(1, this.#server.rk_next_timeout_ms()));
  }

  /** @param {import('node:net').Socket} socket */
  connect(socket) {
    const peer = new SocketPeer(socket, () => {
      this.wasUsed = true;
      this.wake();
    });
    this.#arrive(peer);
    this.wake();
  }

  /**
   * Runs one command as a client of its own and returns the raw reply; empty if the server postponed it.
   * @param {string[]} words
   */
  ask(...words) {
    const peer = new InsidePeer();
    const command = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('');
    this.#arrive(peer);
    peer.feed(Buffer.from(`*${words.length}\r\n${command}`));
    this.pump();
    peer.hasEnded = true;
    this.pump();
    return peer.reply;
  }

  /**
   * Pumps once after the sockets that are ready now have been read, so that their commands are served
   * together and each client's replies leave in one write.
   */
  wake() {
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    setImmediate(() => {
      this.#isPumpDue = false;
      this.tick();
    });
  }

  /** `pump` for callers that have nobody to catch an error. */
  tick() {
    try {
      this.pump();
    } catch (error) {
      this.#onEnd(/** @type {Error} */ (error));
    }
  }

  pump() {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      // A step serves the events that it finds and leaves the replies to the next one, and timers act after
      // the events. So the first step that finds nothing is followed by one more.
      for (let quietSteps = 0; quietSteps < 2; ) {
        this.#eventCount = 0;
        this.#server.rk_step();
        quietSteps = this.#eventCount === 0 ? quietSteps + 1 : 0;
      }
    } finally {
      this.#isPumping = false;
      for (const peer of this.#unflushed) peer.flush();
      this.#unflushed.clear();
    }
  }

  disconnectAll() {
    for (const peer of this.#peers.values()) {
      if (peer instanceof SocketPeer) peer.destroy();
    }
    this.#peers.clear();
  }

  /** @param {Peer} peer */
  #arrive(peer) {
    const descriptor = this.#takeDescriptor();
    this.#peers.set(descriptor, peer);
    this.#arrivals.push(descriptor);
  }

  // Numbers are used again: the server keeps a table indexed by them, with room for its client limit.
  #takeDescriptor() {
    return this.#freeDescriptors.pop() ?? this.#nextDescriptor++;
  }

  // Views die when the memory grows, which any call into the server can cause.
  #refreshViews() {
    const { buffer } = this.#server.memory;
    if (this.#bytes.buffer === buffer) return;
    this.#bytes = new Uint8Array(buffer);
    this.#words = new Int32Array(buffer);
  }

  #imports() {
    return {
      socket: () => this.#takeDescriptor(),

      // The thread has a real listener and hands its connections over; this one only receives them.
      listen: (/** @type {number} */ descriptor) => {
        this.#listener = descriptor;
        return 0;
      },

      accept: () => this.#arrivals.shift() ?? wouldBlock,

      read: (/** @type {number} */ descriptor, /** @type {number} */ start, /** @type {number} */ length) => {
        const peer = this.#peers.get(descriptor);
        if (peer === undefined) return 0;
        if (peer.queuedBytes === 0) return peer.hasEnded ? 0 : wouldBlock;
        this.#refreshViews();
        return peer.take(this.#bytes.subarray(start, start + length));
      },

      write: (
        /** @type {number} */ descriptor,
        /** @type {number} */ start,
        /** @type {number} */ length,
      ) => {
        const peer = this.#peers.get(descriptor);
        // To a client that has left everything can be written; its end is seen by reading.
        if (peer === undefined) return length;
        // Nothing written is not an error; "try again" would be taken for one here, unlike in `read`.
        if (!peer.canWrite) return 0;
        this.#refreshViews();
        peer.send(Buffer.from(this.#bytes.subarray(start, start + length)));
        if (peer instanceof SocketPeer) this.#unflushed.add(peer);
        return length;
      },

      close: (/** @type {number} */ descriptor) => {
        this.#peers.get(descriptor)?.close();
        this.#peers.delete(descriptor);
        this.#freeDescriptors.push(descriptor);
      },

      // Both lists are pairs of descriptor and event mask.
      poll: (
        /** @type {number} */ interests,
        /** @type {number} */ interestCount,
        /** @type {number} */ events,
        /** @type {number} */ maxEventCount,
      ) => {
        this.#refreshViews();
        const words = this.#words;
        let found = 0;
        for (let i = 0; i < interestCount && found < maxEventCount; i++) {
          const descriptor = /** @type {number} */ (words[(interests >> 2) + 2 * i]);
          const wanted = /** @type {number} */ (words[(interests >> 2) + 2 * i + 1]);
          const ready = wanted & this.#readiness(descriptor);
          if (ready === 0) continue;
          words[(events >> 2) + 2 * found] = descriptor;
          words[(events >> 2) + 2 * found + 1] = ready;
          found++;
        }
        this.#eventCount += found;
        return found;
      },
    };
  }

  /** @param {number} descriptor */
  #readiness(descriptor) {
    if (descriptor === this.#listener) return this.#arrivals.length > 0 ? readable : 0;
    const peer = this.#peers.get(descriptor);
    if (peer === undefined) return 0;
    return (peer.queuedBytes > 0 || peer.hasEnded ? readable : 0) | (peer.canWrite ? writable : 0);
  }
}
