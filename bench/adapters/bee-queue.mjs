// Bee-Queue in the two roles its documentation names: a producer that neither works nor listens, and a worker
// that does not listen to its own events. It still publishes them, as by default.

import Queue from 'bee-queue';

export default {
  createQueue(connection, name) {
    const queue = new Queue(name, { redis: connection, isWorker: false, getEvents: false, storeJobs: false });
    const create = (data, opts) => {
      const job = queue.createJob(data);
      return opts?.delay ? job.delayUntil(opts.timestamp + opts.delay) : job;
    };
    return {
      ready: () => queue.ready(),
      add: (data, opts) => create(data, opts).save(),
      async addBulk(entries) {
        const errors = await queue.saveAll(entries.map(({ data, opts }) => create(data, opts)));
        if (errors.size > 0) throw errors.values().next().value;
      },
      close: () => queue.close(),
    };
  },

  createWorker(connection, name, { concurrency, handler, onCompleted, onError, hasDelays }) {
    const queue = new Queue(name, {
      redis: connection,
      getEvents: false,
      storeJobs: false,
      activateDelayedJobs: hasDelays ?? false,
    });
    queue.on('succeeded', (job) => onCompleted(job));
    queue.on('failed', (_job, error) => onError(error));
    queue.on('error', onError);
    return {
      ready: () => queue.ready(),
      start: () => queue.process(concurrency, handler),
      close: () => queue.close(),
    };
  },
};
