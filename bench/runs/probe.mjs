// A client of its own for looking at the server, so that no library's connection is used for measuring.

import { Redis } from 'ioredis';

/** The name under which the benchmark's own clients are known to the server. */
export const BENCH_CLIENT = 'bench';

// Those that wait for a reply when they are closed are gone well before.
const LEAVE_WITHIN_MS = 10_000;

export class Probe {
  constructor(connection) {
    this.client = new Redis({ ...connection, connectionName: BENCH_CLIENT, maxRetriesPerRequest: null });
  }

  async #info(section) {
    const text = await this.client.info(section);
    return Object.fromEntries(text.split('\r\n').map((line) => line.split(':')));
  }

  async cpuUs() {
    const { used_cpu_user: user, used_cpu_sys: system } = await this.#info('cpu');
    return (Number(user) + Number(system)) * 1e6;
  }

  async usedBytes() {
    return Number((await this.#info('memory')).used_memory);
  }

  /** Resolves when the clients of all libraries are gone: each takes memory, and may still have something to do. */
  async alone(withinMs = LEAVE_WITHIN_MS) {
    const until = performance.now() + withinMs;
    for (;;) {
      const clients = (await this.client.client('LIST')).trim().split('\n');
      const left = clients.filter((client) => !client.includes(` name=${BENCH_CLIENT} `)).length;
      if (left === 0) return;
      if (performance.now() > until) throw new Error(`connections left open: ${left}`);
      await sleep(5);
    }
  }

  close() {
    this.client.disconnect();
  }
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
