// npm run demo: shows a story on the development server. Stop it with Ctrl-C at any time and start it again: it goes on
// where it was.
//
//   npm run demo                   orders as transactional groups
//   npm run demo -- --orders 60    more of them
//   npm run demo -- lanes          lanes that advance in order while a worker is killed
//   npm run demo -- --json         one JSON object per line
//
// A story is a folder with a story.mjs that exports `options` (for parseArgs), `check(values)`, which says what is
// wrong with them, and `play(stage)`.

import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openScreen } from './screen.mjs';

const stories = { orders: './orders/story.mjs', lanes: './lanes/story.mjs' };

const named = process.argv[2]?.startsWith('-') ? undefined : process.argv[2];
const name = named ?? 'orders';
if (!Object.hasOwn(stories, name)) refuse(`expected one of ${Object.keys(stories).join(', ')}, got ${name}`);
const story = await import(stories[name]);
const values = readValues();

// The demo's jobs have no place on a server that was configured for something else.
delete process.env.REDIS_URL;
if (process.env.NODE_ENV === 'production') delete process.env.NODE_ENV;

const screen = openScreen({ isJson: values.json === true });
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, stop);

const dataDir = resolve(process.env.YOKE_DATA_DIR || '.yoke');
await story.play({
  values,
  screen,
  /** Aborted by Ctrl-C. */
  signal: stopping.signal,
  /** Where the story keeps its files. */
  folder: join(dataDir, 'demo', name),
  dataDir: relative(process.cwd(), dataDir).startsWith('..') ? dataDir : relative(process.cwd(), dataDir),
});

function readValues() {
  try {
    const options = { json: { type: 'boolean' }, ...story.options };
    const { values: given } = parseArgs({ args: process.argv.slice(named ? 3 : 2), options });
    const complaint = story.check(given);
    if (complaint) refuse(complaint);
    return given;
  } catch (error) {
    return refuse(error.message);
  }
}

function refuse(complaint) {
  console.error(complaint);
  process.exit(2);
}

function stop() {
  // Twice means now.
  if (stopping.signal.aborted) process.exit(130);
  screen.say('Stopping: what runs is finished first. Press Ctrl-C again to leave at once.');
  stopping.abort();
}
