import * as bullmq from 'bullmq';
import { bullmqApi } from './bullmq-api.mjs';

const CHILDREN = ['charge', 'reserve', 'send'];

export default {
  ...bullmqApi(bullmq),

  // The nearest it has to a group: a parent that runs when its three children have completed.
  together: {
    completionsPerSet: 1,
    queuesOf: (name) => [
      { name: `${name}-order`, ends: true },
      ...CHILDREN.map((child) => ({ name: `${name}-${child}`, ends: false })),
    ],
    createProducer(connection, name) {
      const producer = new bullmq.FlowProducer({ connection });
      const children = CHILDREN.map((child) => ({
        name: child,
        queueName: `${name}-${child}`,
        data: { n: 1 },
      }));
      return {
        ready: () => producer.waitUntilReady(),
        add: () => producer.add({ name: 'order', queueName: `${name}-order`, data: { n: 1 }, children }),
        verify: async () => {},
        close: () => producer.close(),
      };
    },
  },
};
