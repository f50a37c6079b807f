// GroupMQ knows only jobs of a group, one at a time each. Jobs are spread over a hundred groups unless told otherwise: there
// it is fastest, but for a worker that runs one job at a time.

import { Queue, Worker } from 'groupmq';
import { Redis } from 'ioredis';

const open = (connection) => new Redis({ ...connection, maxRetriesPerRequest: null });

const DEFAULT_GROUPS = 100;

function openQueue(redis, name, keepCompleted) {
  return new Queue({ redis, namespace: name, ...(keepCompleted === undefined ? {} : { keepCompleted }) });
}

export default {
  createQueue(connection, name, { keepCompleted, groups = DEFAULT_GROUPS } = {}) {
    const redis = open(connection);
    const queue = openQueue(redis, name, keepCompleted);
    let added = 0;
    return {
      ready: () => redis.ping(),
      add: (data) => queue.add({ groupId: `group-${added++ % groups}`, data }),
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
