// A process of its own for tests: takes one JSON command per line, answers each with one line, and exits by
// itself when its input ends and nothing keeps it alive.

import { pathToFileURL } from 'node:url';

const load = (name) => import(pathToFileURL(`${process.argv[2]}/${name}.mjs`).href);

const handles = [];
const commands = {
  async join(options) {
    const { developmentServer } = await load('development-server');
    const lines = [];
    const server = await developmentServer({ ...options, say: (line) => lines.push(line) });
    handles.push(server);
    const { connection, kind, dataDir, owner } = server;
    return { connection, kind, dataDir, owner, lines };
  },
  async joinAloud(options) {
    const { developmentServer } = await load('development-server');
    handles.push(await developmentServer(options));
  },
  // Answered once the program runs and has all it needs.
  async ready() {
    await load('development-server');
  },
  async release() {
    await handles.pop().release();
  },
  async throwaway(options) {
    const { startServer } = await load('throwaway-server');
    const { connection, kind, dir, pid } = await startServer(options);
    return { connection, kind, dir, pid };
  },
  async exit() {
    process.exit(0);
  },
};

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', async (text) => {
  rest += text;
  const lines = rest.split('\n');
  rest = lines.pop();
  for (const line of lines) {
    const { name, argument } = JSON.parse(line);
    try {
      answer({ value: (await commands[name](argument)) ?? null });
    } catch (error) {
      answer({ error: error.message, code: error.code });
    }
  }
});

function answer(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
