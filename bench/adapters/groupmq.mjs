// GroupMQ knows only jobs of a group, one at a time each. A plain job is a group of its own here, or its workers
// would have nothing to run side by side.

import { Queue, Worker } from 'groupmq';
import { Redis } from 'ioredis';

const open = (connection) => new Redis({ ...connection, maxRetriesPerRequest: null });

let groups = 0;

function openQueue(redis, name, keepCompleted) {
  return new Queue({ redis, namespace: name, ...(keepCompleted === undefined ? {} : { keepCompleted }) });
}

export default {
  createQueue(connection, name, { keepCompleted } = {}) {
    const redis = open(connection);
    const queue = openQueue(redis, name, keepCompleted);
    return {
      ready: () => redis.ping(),
      add: (data, opts) =>
        queue.add({
          groupId: `group-${++groups}`,
          data,
          ...(opts?.delay ? { delay: opts.timestamp + opts.delay - Date.now() } : {}),
        }),
      async close() {
        await queue.close();
        redis.disconnect();
      },
    };
  },

  createWorker(connection, name, { concurrency, handler, onCompleted, onError, keepCompleted }) {
    const redis = open(connection);
    const queue = openQueue(redis, name, keepCompleted);
    const worker = new Worker({ queue, concurrency, handler });
    worker.on('completed', (job) => onCompleted(job));
    worker.on('failed', (job) => onError(new Error(job.failedReason)));
    worker.on('error', onError);
    return {
      ready: () => redis.ping(),
      start: () => void Promise.resolve(worker.run()).catch(onError),
      async close() {
        await worker.close();
        await queue.close();
        redis.disconnect();
      },
    };
  },
};
