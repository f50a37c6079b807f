// The ceiling: throw-away scripts that write what the wire asks for and do nothing else. No leases proved, no
// retries, no bonds, no retention, no replay. One client; some of the slots are worked on while the server has the others.
// Jobs of lanes have scripts of their own, which also move the next one of the lane up.

import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';

const BATCH = 100;
// One batch is prepared while the server works on another.
const ADDS_IN_FLIGHT = 2;
const LEASE_MS = 30_000;
// Handlers that return at once: one half works while the server has the other. Handlers that take their time: of a few
// ways tried, from two shares to fifty, this was as good as any.
const SHARES = 2;
const SHARES_OF_SLOW = 8;

const source = (name) => readFileSync(new URL(`../bare/${name}.lua`, import.meta.url), 'utf8');

async function open(connection, script) {
  const client = new Redis({ ...connection, maxRetriesPerRequest: null });
  const sha = await client.script('LOAD', source(script));
  return { client, run: (root, args) => client.evalsha(sha, 1, root, ...args) };
}

export default {
  createQueue(connection, name, { hasLanes } = {}) {
    const opening = open(connection, hasLanes ? 'lane_add' : 'add');
    const root = `bull:${name}:`;

    async function addBatch(entries) {
      const { run } = await opening;
      const args = [Date.now()];
      for (const { data, opts } of entries) {
        args.push('job', JSON.stringify(data), '{"attempts":0}');
        if (hasLanes) args.push(opts.lane);
      }
      return run(root, args);
    }

    return {
      ready: () => opening,
      add: (data, opts) => addBatch([{ data, opts }]),
      async addBulk(entries) {
        const inFlight = [];
        for (let i = 0; i < entries.length; i += BATCH) {
          if (inFlight.length === ADDS_IN_FLIGHT) await inFlight.shift();
          inFlight.push(addBatch(entries.slice(i, i + BATCH)));
        }
        await Promise.all(inFlight);
      },
      close: async () => (await opening).client.disconnect(),
    };
  },

  createWorker(connection, name, { concurrency, handler, onCompleted, onError, handlerMs, hasLanes }) {
    const opening = open(connection, hasLanes ? 'lane_exchange' : 'exchange');
    const root = `bull:${name}:`;

    async function work(slotCount) {
      const { run } = await opening;
      let finished = [];
      let jobs = [];
      do {
        const reply = await run(root, [
          Date.now(),
          'bare',
          LEASE_MS,
          slotCount,
          ...finished.flatMap(({ job, result }) =>
            hasLanes ? [job.id, result, fieldOf('lane', job.fields)] : [job.id, result],
          ),
        ]);
        for (const { job } of finished) onCompleted(job);
        jobs = jobsOf(JSON.parse(reply));
        finished = await Promise.all(
          jobs.map(async (job) => ({
            job,
            result: JSON.stringify((await handler(job)) ?? null),
          })),
        );
      } while (jobs.length > 0);
    }

    return {
      ready: () => opening,
      start() {
        for (const slotCount of shares(concurrency, handlerMs ? SHARES_OF_SLOW : SHARES)) {
          if (slotCount > 0) work(slotCount).catch(onError);
        }
      },
      close: async () => (await opening).client.disconnect(),
    };
  },
};

function shares(slotCount, count) {
  const upTo = (n) => Math.floor((slotCount * n) / count);
  return Array.from({ length: count }, (_, n) => upTo(n + 1) - upTo(n));
}

// Ids and records in turn; a record is flat.
function jobsOf(reply) {
  const jobs = [];
  for (let i = 0; i < reply.length; i += 2) {
    const fields = reply[i + 1];
    jobs.push({ id: reply[i], data: JSON.parse(fieldOf('data', fields)), fields });
  }
  return jobs;
}

const fieldOf = (field, fields) => fields[fields.indexOf(field) + 1];
