// What every table test needs: a server of the current leg, the engine on it, told a fixed time, and rows of
// before -> call -> after over the whole keyspace.

import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RedisClient } from '../../src/store/client.ts';
import { Engine } from '../../src/store/engine.ts';
import { exchangeCall } from '../../src/store/generated/engine.ts';
import { exchangeParts } from '../../src/store/lease-store.ts';
import type { EngineCall } from '../../src/store/lua-source.ts';
import { readReply } from '../../src/store/replies.ts';
import { type Changes, changed } from '../support/expected.ts';
import { type Command, crowd, job, NOW, ROOT, type State, states } from '../support/given.ts';
import { type Keyspace, snapshot } from '../support/keyspace.ts';
import { startLegServer, type TestServer } from '../support/leg.ts';
import type { Edge } from './edges.ts';

export interface Tables {
  readonly admin: Redis;
  /** A fresh keyspace with what these commands leave. */
  given(...commands: (readonly Command[])[]): Promise<Keyspace>;
  /** Runs a call under a number of its own, at the fixed time; the body of its reply. */
  run(request: Request): Promise<unknown[]>;
  /** The same with the head of the call in the test's hand; the whole reply. */
  send(request: Request, head?: Head): Promise<[string, string, unknown[]]>;
  /** A query at the fixed time; the body of its reply. */
  ask(request: Request): Promise<unknown[]>;
  keyspace(): Promise<Keyspace>;
}

export interface Head {
  readonly clientId?: string;
  readonly sequence?: number;
  readonly floor?: number;
  readonly now?: number;
}

export interface Request extends Pick<Edge, 'call' | 'argv'> {
  /** The queue it is sent to; `ROOT` if not said. */
  readonly root?: string;
}

/** Keys of all queues, so that what happens to a parent in another one is seen as well. */
export const keyspaceOf = (client: Redis): Promise<Keyspace> => snapshot(client, 'bull:');

export async function seed(client: Redis, commands: readonly Command[]): Promise<void> {
  const replies = await client
    .pipeline([['FLUSHALL'], ...commands].map((command) => ['call', ...command]))
    .exec();
  for (const [error] of replies ?? []) if (error) throw error;
}

/** Word, time and body of a reply, taken apart as a client does it. */
export function partsOf(call: EngineCall, reply: unknown): [string, string, unknown[]] {
  const { word, now, body } = readReply(reply);
  if (word !== 'ok') return reply as [string, string, unknown[]];
  return [word, now, call === exchangeCall ? exchangeParts(body as unknown[]) : (body as unknown[])];
}

export function useTables(): Tables {
  let server: TestServer | undefined;
  let client: Redis | undefined;
  let engine: Engine;
  let sequence = 0;
  beforeAll(async () => {
    server = await startLegServer();
    client = new Redis(server.connection);
    engine = new Engine(client as unknown as RedisClient);
    await engine.load();
  });
  afterAll(async () => {
    client?.disconnect();
    await server?.stop();
  });
  const tables: Tables = {
    get admin() {
      return server!.admin;
    },
    given: async (...commands) => {
      await seed(server!.admin, commands.flat());
      return keyspaceOf(server!.admin);
    },
    send: async (request, head = {}) => {
      const { clientId = 'table', sequence: number = ++sequence, floor = number - 1, now = NOW } = head;
      const argv = [clientId, String(number), String(floor), String(now), ...request.argv];
      return partsOf(request.call, await engine.send(request.call, ['', '1', request.root ?? ROOT, ...argv]));
    },
    run: async (request) => {
      const [word, now, body] = await tables.send(request);
      expect([word, now]).toEqual(['ok', String(NOW)]);
      return body;
    },
    ask: async ({ call, argv, root = ROOT }) => {
      const [, , body] = (await engine.send(call, ['', '1', root, String(NOW), ...argv])) as [
        string,
        string,
        unknown[],
      ];
      return body;
    },
    keyspace: () => keyspaceOf(server!.admin),
  };
  return tables;
}

/** What a state's row says: the word, and what the call changes. Without changes nothing may change. */
export type Row = string | { readonly word: string; readonly after: Changes };

/** The commands that a row of an edge starts from. */
export function startOf(edge: Edge, state: State): Command[] {
  return [...(edge.given ?? crowd()), ...job(state, edge.spec)];
}

/** One test per state: where there is no edge the reply is a refusal and nothing has changed. */
export function fromEveryState(tables: Tables, edge: Edge, after: Partial<Record<State, Changes>>): void {
  for (const state of states) {
    const word = edge.replies[state];
    const changes = after[state];
    const title = changes
      ? `from ${state} it answers ${word}`
      : `from ${state} it answers ${word} and changes nothing`;
    it(title, async () => {
      const space = await tables.given(startOf(edge, state));

      const reply = await tables.run(edge);

      expect(edge.word(reply)).toBe(word);
      expect(await tables.keyspace()).toEqual(changed(space, changes ?? {}));
    });
  }
}

/** Further rows: a given keyspace, one call, its reply and what it changes. */
export async function expectChange(
  tables: Tables,
  given: readonly Command[],
  request: Request,
  reply: unknown,
  changes: Changes,
): Promise<void> {
  const space = await tables.given(given);
  expect(await tables.run(request)).toEqual(reply);
  expect(await tables.keyspace()).toEqual(changed(space, changes));
}
