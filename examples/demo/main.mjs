// npm run demo: imports a camera's photos into a library, as jobs on the development server. Stop it with Ctrl-C at
// any time and start it again: it goes on with the jobs that were left.
//
//   npm run demo -- --photos 300    more of them
//   npm run demo -- --json          one JSON object per line

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { DelayedError, Queue, reliableDefaults, Worker } from 'yokemq';
import { clearCard, fillCard, importPhoto, photoName } from './photos.mjs';
import { openScreen } from './screen.mjs';

const CONCURRENCY = 6;
const CLEAN_UP_AFTER_MS = 3000;

const { values } = parseArgs({
  options: { json: { type: 'boolean' }, photos: { type: 'string', default: '120' } },
});
const wanted = Number(values.photos);
if (!Number.isInteger(wanted) || wanted < 1 || wanted > 999) {
  console.error(`--photos: expected a whole number from 1 to 999, got ${values.photos}`);
  process.exit(2);
}

// The demo's jobs have no place on a server that was configured for something else.
delete process.env.REDIS_URL;
if (process.env.NODE_ENV === 'production') delete process.env.NODE_ENV;

const dataDir = resolve(process.env.YOKE_DATA_DIR || '.yoke');
const folder = join(dataDir, 'demo');
const card = join(folder, 'card');
const library = join(folder, 'library');
const progressFile = join(folder, 'import.json');
const shown = (path) =>
  relative(process.cwd(), path).startsWith('..') ? path : relative(process.cwd(), path);

const screen = openScreen({ isJson: values.json === true });
const startedAt = performance.now();

const queue = new Queue('demo-photos', { defaultJobOptions: reliableDefaults });
queue.on('error', (error) => console.error(error.message));

// Which import this is. It is written before the jobs are added and removed when all are done, so that whatever
// stops this program, the next run knows what to go on with.
const unfinished = existsSync(progressFile) ? JSON.parse(readFileSync(progressFile, 'utf8')) : undefined;
const batch = unfinished ?? { id: Date.now().toString(36), photos: wanted };
const total = batch.photos;
const cleanUpId = `clean-up-${batch.id}`;
const jobId = (number) => `${photoName(number)}-${batch.id}`;

screen.say(
  'Importing a photo library: every photo is a job that reads, checks, hashes, shrinks and compresses a file.',
);
if (!unfinished) await startImport();
// Jobs have ids of their own, so adding what is there already adds nothing.
await addJobs();
const before = await standing();
if (unfinished)
  screen.say(
    `Going on where the last run was stopped: ${total - before.done - before.failed} of ${total} photos are left.`,
  );
screen.say();
screen.tell({
  event: unfinished ? 'continued' : 'started',
  photos: total,
  left: total - before.done - before.failed,
  dataDir: shown(dataDir),
});

const state = { total, done: before.done, failed: before.failed, waiting: 0, retrying: 0, running: [] };
const durations = [];
const waits = [];
let freed = 0;
let isStopping = false;

let finish;
const finished = new Promise((resolve) => {
  finish = resolve;
});

const worker = new Worker(
  'demo-photos',
  (job) => (job.name === 'clean-up' ? cleanUp(job) : importPhoto(job)),
  {
    concurrency: CONCURRENCY,
    // Short, so that jobs of a run that was killed outright come back while one watches.
    lockDuration: 5000,
    stalledInterval: 5000,
  },
);

worker.on('error', (error) => console.error(error.message));
worker.on('active', (job) => {
  if (job.name === 'import') refresh();
});
worker.on('progress', () => refresh());
worker.on('completed', (job, result) => {
  if (job.name === 'clean-up') {
    screen.tell({ event: 'cleaned-up', freed: result.freed });
    return;
  }
  state.done++;
  durations.push(job.finishedOn - job.processedOn);
  if (!unfinished) waits.push(job.processedOn - job.timestamp);
  screen.tell({
    event: 'imported',
    photo: photoName(job.data.number),
    attempts: job.attemptsMade,
    ...result,
  });
  refresh();
});
worker.on('failed', (job, error) => {
  if (job.name === 'clean-up') {
    screen.say(`The clean-up failed: ${error.message}`);
    return;
  }
  const isFinal = job.finishedOn !== undefined;
  if (isFinal) state.failed++;
  screen.tell({
    event: isFinal ? 'failed' : 'retry',
    photo: photoName(job.data.number),
    attempts: job.attemptsMade,
    reason: error.message,
  });
  refresh();
});

process.on('SIGINT', stop);
process.on('SIGTERM', stop);

// The queue knows how far the import is, whoever works on it: start a second demo in another terminal and both do.
const poll = setInterval(() => look().catch((error) => console.error(error.message)), 200);

await finished;
await close();
if (isStopping) sayStopped();
else sayDone();

async function startImport() {
  rmSync(library, { recursive: true, force: true });
  mkdirSync(library, { recursive: true });
  fillCard(card, total);
  // What earlier imports left in the queue would be counted as this one's.
  await queue.obliterate({ force: true });
  await queue.resume();
  writeFileSync(progressFile, JSON.stringify(batch));
}

async function addJobs() {
  const numbers = Array.from({ length: total }, (_, i) => i + 1);
  await queue.addBulk(
    numbers.map((number) => ({
      name: 'import',
      data: { number, file: join(card, `${photoName(number)}.bmp`), library },
      // Every fifth photo is a favourite and comes before the others; 1 is the highest priority.
      opts: { jobId: jobId(number), priority: number % 5 === 0 ? 1 : 10 },
    })),
  );
  await queue.add('clean-up', {}, { jobId: cleanUpId, delay: CLEAN_UP_AFTER_MS });
}

async function standing() {
  // In this order: the clean-up is the last job to end, so a count taken after its end is complete.
  const cleanUpState = await queue.getJobState(cleanUpId);
  const counts = await queue.getJobCounts('completed', 'failed', 'prioritized', 'delayed');
  const own = (name) => (cleanUpState === name ? 1 : 0);
  const failed = counts.failed - own('failed');
  return {
    // The clean-up may have ended between the two.
    done: Math.min(counts.completed - own('completed'), total - failed),
    failed,
    waiting: counts.prioritized,
    retrying: Math.max(0, counts.delayed - own('delayed')),
    isOver: cleanUpState === 'completed' || cleanUpState === 'failed',
  };
}

/** Puts itself off while photos are left: that costs no attempt. */
async function cleanUp(job) {
  const { done: imported, failed } = await standing();
  if (imported + failed < total) {
    await job.moveToDelayed(Date.now() + 500);
    throw new DelayedError();
  }
  const done = await queue.getCompleted();
  return clearCard(
    card,
    done.filter((other) => other.name === 'import').map((other) => other.data.file),
  );
}

async function look() {
  const { isOver, done, failed, waiting, retrying } = await standing();
  // Our own events may be ahead of what was just read.
  Object.assign(state, {
    done: Math.max(done, state.done),
    failed: Math.max(failed, state.failed),
    waiting,
    retrying,
  });
  if (!isOver) return refresh();
  freed = (await queue.getJob(cleanUpId))?.returnvalue?.freed ?? 0;
  finish();
}

function refresh() {
  const running = worker.getCurrentJobs().filter((job) => job.name === 'import');
  state.running = Array.from({ length: CONCURRENCY }, (_, i) => ({
    photo: running[i] ? photoName(running[i].data.number) : '         ',
    progress: running[i] && typeof running[i].progress === 'number' ? running[i].progress : 0,
  }));
  screen.update(state);
}

function stop() {
  // Twice means now.
  if (isStopping) process.exit(130);
  isStopping = true;
  screen.say('Stopping: the photos being read are finished first. Press Ctrl-C again to leave at once.');
  finish();
}

async function close() {
  clearInterval(poll);
  await worker.close();
  if (!isStopping) rmSync(progressFile, { force: true });
  await queue.close();
  screen.update({ ...state, running: [] });
  screen.end();
}

function sayStopped() {
  const left = total - state.done - state.failed;
  screen.tell({ event: 'stopped', done: state.done, failed: state.failed, left });
  screen.say();
  screen.say(
    `Stopped with ${left} of ${total} photos left. They wait in ${shown(dataDir)}: run npm run demo again to go on.`,
  );
}

function sayDone() {
  const seconds = (performance.now() - startedAt) / 1000;
  const work = percentiles(durations);
  const wait = percentiles(waits);
  screen.tell({
    event: 'done',
    photos: total,
    imported: state.done,
    failed: state.failed,
    seconds: round(seconds),
    workMs: work,
    waitMs: wait,
    freed,
  });
  screen.say();
  screen.say(
    `Done in ${seconds.toFixed(1)} s: ${state.done} photos imported, ${state.failed} failed for good, ${megabytes(freed)} freed on the card.`,
  );
  if (work) screen.say(`  a photo took      ${work.p50} ms (median), ${work.p95} ms (95 of 100)`);
  if (wait)
    screen.say(
      `  and waited        ${wait.p50} ms (median), ${wait.p95} ms (95 of 100), ${CONCURRENCY} at a time, favourites first`,
    );
  screen.say(`  the library is in ${shown(library)}`);
  screen.say(`  the queue is in   ${shown(dataDir)}, where the next run finds it`);
  screen.say();
  screen.say('What to try next');
  screen.say(
    '  npm run demo, and Ctrl-C in the middle, and npm run demo again: nothing is lost, nothing runs twice',
  );
  screen.say('  node examples/first-job.mjs        your first job in 20 lines');
  screen.say('  docs/guide/enqueue.md              how to go on');
}

function percentiles(numbers) {
  if (numbers.length === 0) return undefined;
  const sorted = [...numbers].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { p50: at(0.5), p95: at(0.95) };
}

function round(number) {
  return Math.round(number * 10) / 10;
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
