// How the engine hands its calls to a client: uncopied where that is a Redis of our own ioredis, by `call` to any other,
// as a function and as a script alike.

import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import type { RedisClient } from '../../src/store/client.ts';
import { Engine } from '../../src/store/engine.ts';
import { countsCall } from '../../src/store/generated/engine.ts';
import { startLegServer, type TestServer } from '../support/leg.ts';

let server: TestServer;
let open: Redis[] = [];

beforeAll(async () => {
  server = await startLegServer();
});
afterEach(() => {
  for (const client of open) client.disconnect();
  open = [];
});
afterAll(() => server.stop());

interface Sent {
  readonly name: string;
  readonly args: readonly unknown[];
}

/** A client of ours that notes what it is to send, and what it is asked for by `call`. */
function watchedClient() {
  const client = server.admin.duplicate();
  open.push(client);
  const called = vi.spyOn(client, 'call');
  const sent: Sent[] = [];
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command, stream) => {
    // One that has to wait for the link comes by twice.
    if (/^(eval|fcall)/.test(command.name) && !sent.includes(command)) sent.push(command);
    return send(command, stream);
  };
  return { client: client as unknown as RedisClient, called, sent };
}

const question = () => ['', '1', 'bull:q', '1000', 'wait', 'failed'];
const answer = ['ok', '1000', [0, 0]];
const namesOf = (sent: readonly Sent[]) => sent.map(({ name }) => name);

it('a script goes to our own client uncopied, by digest and, where the server forgot it, by its source', async () => {
  const { client, called, sent } = watchedClient();
  const engine = new Engine(client, 'scripts');
  expect(await engine.send(countsCall, question())).toEqual(answer);
  expect(await engine.send(countsCall, question())).toEqual(answer);
  await server.admin.call('SCRIPT', 'FLUSH');
  expect(await engine.send(countsCall, question())).toEqual(answer);
  expect(namesOf(sent)).toEqual(['eval', 'evalsha', 'evalsha', 'eval']);
  expect(called).not.toHaveBeenCalled();
});

it('so does a function', async () => {
  const { client, called, sent } = watchedClient();
  const engine = new Engine(client);
  await engine.load();
  called.mockClear();
  const argv = question();
  expect(await engine.send(countsCall, argv)).toEqual(answer);
  expect(namesOf(sent)).toEqual(['fcall_ro']);
  expect(sent[0]?.args).toBe(argv);
  expect(called).not.toHaveBeenCalled();
});

it('what was handed over stays as it was when the call is sent again', async () => {
  const { client, sent } = watchedClient();
  const engine = new Engine(client, 'scripts');
  const argv = question();
  // The link is not up yet: the first has not left when the second is handed over.
  await Promise.all([engine.send(countsCall, argv), engine.send(countsCall, argv)]);
  expect(namesOf(sent)).toEqual(['eval', 'evalsha']);
  expect(sent[0]?.args[0]).toContain('run_counts');
  expect(sent[1]?.args[0]).toMatch(/^[0-9a-f]{40}$/);
});

it("another library's client is asked by `call`, which may keep the list that it is given", async () => {
  const { client } = watchedClient();
  const asked: Sent[] = [];
  const foreign = {
    call: (name: string, args: readonly string[]) => {
      asked.push({ name, args });
      return client.call(name, args);
    },
  } as unknown as RedisClient;
  const engine = new Engine(foreign, 'scripts');
  const argv = question();
  expect(await engine.send(countsCall, argv)).toEqual(answer);
  expect(await engine.send(countsCall, argv)).toEqual(answer);
  expect(namesOf(asked)).toEqual(['eval', 'evalsha']);
  expect(asked[0]?.args[0]).toContain('run_counts');
});
