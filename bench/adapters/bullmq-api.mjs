// Yoke and BullMQ have one API, so one adapter drives both: what is compared is the library and nothing else.

const JOB_NAME = 'job';

export function bullmqApi({ Queue, Worker, QueueEvents }) {
  return {
    createQueue(connection, name, { maxEvents } = {}) {
      const streams = maxEvents ? { events: { maxLen: maxEvents } } : undefined;
      const queue = new Queue(name, { connection, ...(streams ? { streams } : {}) });
      return {
        ready: () => queue.waitUntilReady(),
        add: (data, opts) => queue.add(JOB_NAME, data, opts),
        addBulk: (entries) =>
          queue.addBulk(entries.map(({ data, opts }) => ({ name: JOB_NAME, data, opts }))),
        close: () => queue.close(),
      };
    },

    createWorker(connection, name, { concurrency, handler, onCompleted, onError, keepCompleted }) {
      const worker = new Worker(name, handler, {
        connection,
        concurrency,
        autorun: false,
        ...(keepCompleted === undefined ? {} : { removeOnComplete: { count: keepCompleted } }),
      });
      worker.on('completed', (job) => onCompleted(job));
      worker.on('failed', (_job, error) => onError(error));
      worker.on('error', onError);
      return {
        ready: () => worker.waitUntilReady(),
        start: () => void worker.run().catch(onError),
        close: () => worker.close(),
      };
    },

    createEvents(connection, name, { names, onEvent, onError }) {
      const events = new QueueEvents(name, { connection, autorun: false, lastEventId: '0-0' });
      for (const event of names) events.on(event, onEvent);
      events.on('error', onError);
      return {
        ready: () => events.waitUntilReady(),
        start: () => void events.run().catch(onError),
        close: () => events.close(),
      };
    },
  };
}
