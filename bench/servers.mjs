// The servers of a run, all private: each started when first needed, all stopped at the end.

import { Redis } from 'ioredis';
import { startProxy } from './proxy.mjs';
import { BENCH_CLIENT } from './runs/probe.mjs';

const PROXY_DELAY_MS = 5;

export class Servers {
  #startServer;
  #started = new Map();
  #proxy;

  /** `startServer` is that of `yokemq/testing`. */
  constructor(startServer) {
    this.#startServer = startServer;
  }

  /** Connections for a workload. An empty server each time, but for the deep ones. */
  async connectionsFor(kind = 'native') {
    if (kind === 'embedded') return { connection: await this.#emptied('embedded', { kind: 'wasm' }) };
    const connection = await this.#emptied('native', { kind: 'native' });
    if (kind !== 'distant') return { connection };
    this.#proxy ??= await startProxy(connection, PROXY_DELAY_MS);
    return { connection, distant: this.#proxy.connection };
  }

  /** A server that keeps what it holds. `isNew` where it has just been started. */
  async deep(jobs) {
    const name = `deep-${jobs}`;
    const isNew = !this.#started.has(name);
    const { server } = await this.#get(name, { kind: 'native' });
    return { connection: server.connection, isNew };
  }

  async stopDeep() {
    for (const name of [...this.#started.keys()]) if (name.startsWith('deep-')) await this.#stop(name);
  }

  async version() {
    const { admin } = await this.#get('native', { kind: 'native' });
    const info = await admin.info('server');
    const name = /valkey_version:(\S+)/.exec(info);
    return name ? `valkey-server ${name[1]}` : `redis-server ${/redis_version:(\S+)/.exec(info)[1]}`;
  }

  async stop() {
    this.#proxy?.stop();
    for (const name of [...this.#started.keys()]) await this.#stop(name);
  }

  async #emptied(name, options) {
    const { server, admin } = await this.#get(name, options);
    await admin.flushall();
    return server.connection;
  }

  async #get(name, options) {
    if (!this.#started.has(name)) {
      const server = await this.#startServer(options);
      const admin = new Redis({
        ...server.connection,
        connectionName: BENCH_CLIENT,
        maxRetriesPerRequest: null,
      });
      this.#started.set(name, { server, admin });
    }
    return this.#started.get(name);
  }

  async #stop(name) {
    const { server, admin } = this.#started.get(name);
    this.#started.delete(name);
    admin.disconnect();
    await server.stop();
  }
}
