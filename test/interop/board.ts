// bull-board without a web server: its own API routes, called as a server adapter would.

import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { Any } from './libraries.ts';

interface Reply {
  readonly status: number;
  readonly body: Any;
}

type Ask = (method: string, path: string, sent?: { query?: object; body?: object }) => Promise<Reply>;

/** A board without a web server: `ask` finds the route and calls its handler as a server adapter would. */
export function board(...queues: Any[]): Ask {
  let routes: Any[] = [];
  let known: Any;
  let uiConfig: Any = {};
  const serverAdapter: Any = {
    setQueues: (given: Any) => {
      known = given;
      return serverAdapter;
    },
    setApiRoutes: (given: Any[]) => {
      routes = given;
      return serverAdapter;
    },
    setUIConfig: (given: Any) => {
      uiConfig = given;
      return serverAdapter;
    },
  };
  for (const other of ['setViewsPath', 'setStaticPath', 'setEntryRoute', 'setErrorHandler']) {
    serverAdapter[other] = () => serverAdapter;
  }
  // Answers that do not fit the board's own schemas are errors here.
  const options = { validateResponses: true, uiConfig: {} };
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue)),
    serverAdapter,
    options,
  } as never);

  return async (method, path, { query = {}, body = {} } = {}) => {
    for (const route of routes) {
      const params = route.method === method ? match(route.route, path) : undefined;
      if (!params) continue;
      const reply = await route.handler({ queues: known, uiConfig, params, query, body, headers: {} });
      return { status: reply.status ?? 200, body: reply.body };
    }
    throw new Error(`no route for ${method} ${path}`);
  };
}

function match(route: string, path: string): Record<string, string> | undefined {
  const names: string[] = [];
  const pattern = route.replace(/:(\w+)/g, (_all, name: string) => {
    names.push(name);
    return '([^/]+)';
  });
  const found = new RegExp(`^${pattern}$`).exec(path);
  return found
    ? Object.fromEntries(names.map((name, i) => [name, decodeURIComponent(found[i + 1]!)]))
    : undefined;
}
