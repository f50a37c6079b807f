// A client of its own for looking at the server, so that no library's connection is used for measuring.

import { Redis } from 'ioredis';

export class Probe {
  constructor(connection) {
    this.client = new Redis({ ...connection, maxRetriesPerRequest: null });
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

  /** Resolves when all other clients are gone, since each of them takes memory. */
  async alone() {
    while (Number((await this.#info('clients')).connected_clients) > 1) await sleep(5);
  }

  close() {
    this.client.disconnect();
  }
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
