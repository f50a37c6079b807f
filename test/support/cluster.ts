// A cluster of three masters on loopback, each with a third of the slots. One master would hide what a second one
// refuses.

import { Cluster, Redis } from 'ioredis';
import { type RunningServer, startServer } from '../../src/server/throwaway-server.ts';
import { eventually } from './eventually.ts';

export interface TestCluster {
  readonly nodes: { host: string; port: number }[];
  connect(): Cluster;
  stop(): Promise<void>;
}

const SLOTS = 16384;
const MASTERS = 3;

export async function startCluster(): Promise<TestCluster> {
  const servers: RunningServer[] = [];
  const admins: Redis[] = [];
  const clients: Cluster[] = [];
  const stop = async () => {
    for (const client of clients) client.disconnect();
    for (const admin of admins) admin.disconnect();
    await Promise.all(servers.map((server) => server.stop()));
  };
  try {
    for (let i = 0; i < MASTERS; i++) {
      const server = await startServer({
        kind: 'native',
        port: true,
        args: ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'],
      });
      servers.push(server);
      admins.push(new Redis(server.connection as { host: string; port: number }));
    }
    const nodes = servers.map((server) => server.connection as { host: string; port: number });
    for (const [i, admin] of admins.entries()) {
      const first = Math.floor((i * SLOTS) / MASTERS);
      const last = Math.floor(((i + 1) * SLOTS) / MASTERS) - 1;
      await admin.call('CLUSTER', 'ADDSLOTSRANGE', String(first), String(last));
      if (i > 0) await admin.call('CLUSTER', 'MEET', nodes[0]!.host, String(nodes[0]!.port));
    }
    for (const admin of admins) {
      await eventually(async () => {
        const info = String(await admin.call('CLUSTER', 'INFO'));
        if (!info.includes('cluster_state:ok') || !info.includes(`cluster_known_nodes:${MASTERS}`))
          throw new Error(info);
      });
    }
    return {
      nodes,
      connect: () => {
        const client = new Cluster(nodes, { redisOptions: { maxRetriesPerRequest: null } });
        clients.push(client);
        return client;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
