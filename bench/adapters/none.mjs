// No queue at all: the same handlers in as many slots, fed from a counter. What a queue can at best come close to.

const counts = new Map();

export default {
  createQueue(_connection, name) {
    const add = () => counts.set(name, (counts.get(name) ?? 0) + 1);
    return {
      ready: async () => {},
      add: async () => add(),
      addBulk: async (entries) => entries.forEach(add),
      close: async () => {},
    };
  },

  createWorker(_connection, name, { concurrency, handler, onCompleted }) {
    async function slot() {
      for (let left = counts.get(name) ?? 0; left > 0; left = counts.get(name)) {
        counts.set(name, left - 1);
        const job = { data: {} };
        await handler(job);
        onCompleted(job);
      }
    }
    return {
      ready: async () => {},
      start: () => {
        for (let i = 0; i < concurrency; i++) void slot();
      },
      close: async () => {},
    };
  },
};
