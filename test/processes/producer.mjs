// A producer as a real process: adds numbered jobs at a steady rate until it is told to stop. Some fail once, some
// for good, some are delayed, so that every way through the queue is taken.

import { setTimeout as sleep } from 'node:timers/promises';
import { config, describe, library, note, onCommand } from './history.mjs';

const { Queue } = library;
const { perTick = 4, tickMs = 20, workMs = 5, first = 0 } = config;

const queue = new Queue(config.queue, { connection: config.connection, ...config.options });
queue.on('error', (error) => note('error', describe(error)));

const pending = new Set();
let isStopping = false;

function jobFor(n) {
  const data = { n, ms: (n * 7) % (2 * workMs + 1) };
  if (n % 10 === 3) return [{ ...data, fails: 1, attempts: 2 }, { attempts: 2 }];
  if (n % 10 === 6)
    return [
      { ...data, fails: 1, attempts: 2 },
      { attempts: 2, backoff: 30 },
    ];
  if (n % 20 === 8) return [{ ...data, fails: 2, attempts: 2 }, { attempts: 2 }];
  if (n % 10 === 5) return [data, { delay: 50 }];
  if (n % 10 === 7) return [data, { priority: 1 + (n % 3) }];
  return [data, {}];
}

async function add(n) {
  const [data, opts] = jobFor(n);
  note('invoke', { n });
  try {
    const job = await queue.add('work', data, opts);
    note('added', { n, job: job.id });
  } catch (error) {
    note('refused', { n, ...describe(error) });
  }
}

async function produce() {
  await queue.waitUntilReady();
  note('ready');
  for (let n = first; !isStopping && n < first + (config.total ?? Number.POSITIVE_INFINITY); ) {
    for (let i = 0; i < perTick; i++, n++) {
      const adding = add(n).finally(() => pending.delete(adding));
      pending.add(adding);
    }
    // A server that is away holds adds up: no more than this many wait for it.
    while (pending.size > 400 && !isStopping) await sleep(tickMs);
    await sleep(tickMs);
  }
  await Promise.all(pending);
  note('produced');
}

const produced = produce();

onCommand({
  stop: async () => {
    isStopping = true;
  },
  close: async () => {
    isStopping = true;
    await produced;
    await queue.close();
    note('closed');
  },
});
