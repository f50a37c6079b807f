// A client of its own for looking at the server, so that no library's connection is used for measuring.

import { Redis } from 'ioredis';

/** The name under which the benchmark's own clients are known to the server. */
export const BENCH_CLIENT = 'bench';

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

  /** Resolves when the clients of all libraries are gone, since each of them takes memory. */
  async alone() {
    for (;;) {
      const clients = (await this.client.client('LIST')).trim().split('\n');
      if (clients.every((client) => client.includes(` name=${BENCH_CLIENT} `))) return;
      await sleep(5);
    }
  }

  close() {
    this.client.disconnect();
  }
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
