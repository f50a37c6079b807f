// The build that the run was started with (BENCH_YOKE names its copy), or dist.

import { bullmqApi } from './bullmq-api.mjs';

const build = process.env.BENCH_YOKE ?? new URL('../../dist/index.js', import.meta.url).href;
const yoke = await import(build);

const MEMBERS = ['charge', 'reserve', 'send'];

export default {
  ...bullmqApi(yoke),

  // A group of three, each on a queue of its own; the group's end is in the transition of its last member.
  together: {
    completionsPerSet: MEMBERS.length,
    queuesOf: (name) => MEMBERS.map((member) => ({ name: `${name}-${member}`, ends: true })),
    createProducer(connection, name) {
      const producer = new yoke.FlowProducer({ connection });
      const home = new yoke.Queue(`${name}-${MEMBERS[0]}`, { connection });
      const jobs = MEMBERS.map((member) => ({
        name: member,
        queueName: `${name}-${member}`,
        data: { n: 1 },
      }));
      return {
        ready: () => producer.waitUntilReady(),
        add: () => producer.addGroup({ name: 'order', jobs }),
        async verify(count) {
          const { COMPLETED: completed } = await home.getGroupCounts();
          if (completed !== count) throw new Error(`${completed} groups completed instead of ${count}`);
        },
        close: async () => {
          await home.close();
          await producer.close();
        },
      };
    },
  },
};
