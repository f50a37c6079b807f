// One idle worker, one job at a time: from the call of add to the start of the handler. Whoever adds is in the worker's
// process, or in one of its own.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { payload } from './fill.mjs';
import { sleep } from './probe.mjs';

// Long enough for the worker to have gone back to sleep on the server.
const GAP_MS = 5;
const NS_PER_MS = 1e6;

/** On the clock that all processes of a machine share. */
const now = () => Number(process.hrtime.bigint());

export default async function idle(library, { connection, name, count, params, libraryName }) {
  const producer = params?.isApart
    ? await producerApart({ library: libraryName, connection, queueName: name })
    : await producerHere(library.createQueue(connection, name));
  let onStart;
  let onCompleted;
  let onError;
  const worker = library.createWorker(connection, name, {
    concurrency: 1,
    handler: async () => onStart(now()),
    onCompleted: () => onCompleted(),
    onError: (error) => onError(error),
  });
  const failed = new Promise((_resolve, reject) => {
    onError = reject;
  });
  failed.catch(() => {});
  await worker.ready();
  worker.start();
  await sleep(50);

  const latencies = [];
  for (let n = 0; n < count; n++) {
    const started = new Promise((resolve) => {
      onStart = resolve;
    });
    const completed = new Promise((resolve) => {
      onCompleted = resolve;
    });
    const added = producer.add(n);
    const [from, at] = await Promise.race([Promise.all([added, started, completed]), failed]);
    latencies.push((at - from) / NS_PER_MS);
    await sleep(GAP_MS + (n % 4));
  }
  await worker.close();
  await producer.close();
  return { latencies };
}

// `add` resolves to when it was called.
async function producerHere(queue) {
  await queue.ready();
  return {
    async add(n) {
      const from = now();
      await queue.add(payload(n));
      return from;
    },
    close: () => queue.close(),
  };
}

async function producerApart(task) {
  const child = fork(fileURLToPath(new URL('./producer.mjs', import.meta.url)), [JSON.stringify(task)]);
  const stop = () => child.kill('SIGKILL');
  process.once('exit', stop);
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('the producer ended')));
  ended.catch(() => {});
  const heard = async () => {
    const [word] = await Promise.race([once(child, 'message'), ended]);
    return word;
  };
  await heard();
  return {
    add(n) {
      child.send(n);
      return heard();
    },
    async close() {
      process.off('exit', stop);
      stop();
      await ended.catch(() => {});
    },
  };
}
