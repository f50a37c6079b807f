// A link that can be broken: a TCP proxy in front of the server under test. It passes, delays, cuts, resets and
// black-holes, and it can lose exactly one reply: the call has run, and its client will never hear of it.

import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export type Upstream = { path: string } | { host: string; port: number };

/** A command as it was sent, name first. */
export type CommandTest = (command: string[]) => boolean;

type Mode = 'pass' | 'black-hole' | 'refuse';

interface Loss {
  readonly test: CommandTest;
  readonly link: 'cut' | 'black-hole';
  left: number;
  readonly fired: () => void;
}

interface Hold {
  readonly test: CommandTest;
  readonly taken: (request: HeldRequest) => void;
}

/** A command that has left its client and has not reached the server. Its link is dead: what follows is swallowed. */
export interface HeldRequest {
  readonly command: string[];
  /** Passes all of it on; resolves when the server has answered. The client will not hear of it. */
  pass(): Promise<void>;
  /** Passes a part of it on, as of a client that died while it wrote, and ends the link. */
  passPart(share: number): void;
}

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /** Swallows everything from now on and for good: what it lost cannot be made up for. */
  isDead: boolean;
  requests: Buffer;
  replies: Buffer;
  requestCount: number;
  replyCount: number;
  /** Resolves when all delayed bytes of this direction have been passed on. */
  requestsSent: Promise<void> | undefined;
  repliesSent: Promise<void> | undefined;
  /** The request whose reply is lost. */
  loss: { at: number; loss: Loss } | undefined;
  /** The request that was held, until the server has answered it or never will. */
  held: { at: number; answered: () => void } | undefined;
}

export class LinkProxy {
  readonly #upstream: Upstream;
  readonly #links = new Set<Link>();
  readonly #losses: Loss[] = [];
  readonly #holds: Hold[] = [];
  #listener: Server | undefined;
  #mode: Mode = 'pass';
  #delayMs = 0;
  #port = 0;

  private constructor(upstream: Upstream) {
    this.#upstream = upstream;
  }

  static async start(upstream: Upstream): Promise<LinkProxy> {
    const proxy = new LinkProxy(upstream);
    proxy.#listener = createServer((socket) => proxy.#accept(socket));
    await new Promise<void>((resolve) => proxy.#listener?.listen(0, '127.0.0.1', resolve));
    proxy.#port = (proxy.#listener.address() as { port: number }).port;
    return proxy;
  }

  get connection(): { host: string; port: number } {
    return { host: '127.0.0.1', port: this.#port };
  }

  get linkCount(): number {
    return this.#links.size;
  }

  /** New connections pass. Links that were black-holed stay dead, as they do in life. */
  heal(): void {
    this.#mode = 'pass';
    this.#delayMs = 0;
  }

  /** Every byte takes this much longer, in both directions. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  /** Ends all links in order; new connections pass. */
  cut(): void {
    for (const link of this.#links) this.#end(link, 'cut');
  }

  /** Ends all links by RST; new connections pass. */
  reset(): void {
    for (const link of this.#links) this.#end(link, 'reset');
  }

  /** All links, old and new, take bytes and forward nothing, until healed. */
  blackHole(): void {
    this.#mode = 'black-hole';
    for (const link of this.#links) link.isDead = true;
  }

  /** Ends all links and lets nobody in until healed. */
  refuse(): void {
    this.#mode = 'refuse';
    this.cut();
  }

  /** Loses the reply of the n-th command that passes the test, and then the link. Resolves when that has happened. */
  loseReply(
    test: CommandTest,
    { link = 'cut', n = 1 }: { link?: 'cut' | 'black-hole'; n?: number } = {},
  ): Promise<void> {
    return new Promise((fired) => {
      this.#losses.push({ test, link, left: n, fired });
    });
  }

  /** Stops the next command that passes the test on its way to the server. */
  holdRequest(test: CommandTest): Promise<HeldRequest> {
    return new Promise((taken) => {
      this.#holds.push({ test, taken });
    });
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#listener?.close(resolve));
  }

  #accept(client: Socket): void {
    if (this.#mode === 'refuse') {
      client.destroy();
      return;
    }
    const server = createConnection(this.#upstream as { path: string });
    const link: Link = {
      client,
      server,
      isDead: this.#mode === 'black-hole',
      requests: Buffer.alloc(0),
      replies: Buffer.alloc(0),
      requestCount: 0,
      replyCount: 0,
      requestsSent: undefined,
      repliesSent: undefined,
      loss: undefined,
      held: undefined,
    };
    this.#links.add(link);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        // A dead link hides the server's end from the client as well.
        if (socket === server && link.isDead) return;
        // What was held is still to be passed on, whatever became of its client.
        if (socket === client && link.held) return;
        this.#end(link, 'cut');
      });
    }
    client.on('data', (bytes) => this.#onRequests(link, bytes));
    server.on('data', (bytes) => this.#onReplies(link, bytes));
  }

  #onRequests(link: Link, bytes: Buffer): void {
    if (link.isDead) return;
    const known = link.requests.length;
    link.requests = Buffer.concat([link.requests, bytes]);
    let passed = 0;
    for (let end = endOfValue(link.requests, 0); end > 0; end = endOfValue(link.requests, 0)) {
      const command = this.#holds.length > 0 ? commandIn(link.requests.subarray(0, end)) : [];
      const index = this.#holds.findIndex(({ test }) => test(command));
      // One whose beginning has been passed on cannot be held any more.
      if (index >= 0 && passed >= known) {
        const [hold] = this.#holds.splice(index, 1);
        this.#forward(link, link.server, bytes.subarray(0, passed - known));
        hold!.taken(this.#hold(link, link.requests.subarray(0, end), command));
        return;
      }
      passed += end;
      const loss = this.#losses[0];
      if (loss && !link.loss && loss.test(commandIn(link.requests.subarray(0, end))) && --loss.left === 0) {
        this.#losses.shift();
        link.loss = { at: link.requestCount, loss };
      }
      link.requestCount++;
      link.requests = link.requests.subarray(end);
    }
    this.#forward(link, link.server, bytes);
  }

  #hold(link: Link, request: Buffer, command: string[]): HeldRequest {
    link.isDead = true;
    let answered = () => {};
    const isAnswered = new Promise<void>((resolve) => {
      answered = resolve;
    });
    link.held = { at: link.requestCount, answered };
    return {
      command,
      pass: async () => {
        link.server.write(request);
        await isAnswered;
        this.#end(link, 'cut');
      },
      passPart: (share) => {
        link.server.write(request.subarray(0, Math.floor(request.length * share)));
        this.#end(link, 'cut');
      },
    };
  }

  #onReplies(link: Link, bytes: Buffer): void {
    if (link.isDead && !link.held) return;
    link.replies = Buffer.concat([link.replies, bytes]);
    for (let end = endOfValue(link.replies, 0); end > 0; end = endOfValue(link.replies, 0)) {
      const reply = link.replies.subarray(0, end);
      link.replies = link.replies.subarray(end);
      if (link.loss && link.replyCount === link.loss.at && !isPush(reply)) {
        const { loss } = link.loss;
        if (loss.link === 'cut') this.#end(link, 'cut');
        else link.isDead = true;
        loss.fired();
        return;
      }
      if (link.held && link.replyCount === link.held.at && !isPush(reply)) link.held.answered();
      if (!isPush(reply)) link.replyCount++;
      if (!link.isDead) this.#forward(link, link.client, reply);
    }
  }

  // Bytes stay in order, also when the delay ends while some are on their way.
  #forward(link: Link, to: Socket, bytes: Buffer): void {
    const isRequest = to === link.server;
    const before = isRequest ? link.requestsSent : link.repliesSent;
    if (this.#delayMs === 0 && before === undefined) {
      to.write(bytes);
      return;
    }
    const due = performance.now() + this.#delayMs;
    const sent: Promise<void> = (before ?? Promise.resolve()).then(async () => {
      await sleep(Math.max(0, due - performance.now()));
      if (!link.isDead) to.write(bytes);
      if (isRequest && link.requestsSent === sent) link.requestsSent = undefined;
      if (!isRequest && link.repliesSent === sent) link.repliesSent = undefined;
    });
    if (isRequest) link.requestsSent = sent;
    else link.repliesSent = sent;
  }

  #end(link: Link, how: 'cut' | 'reset'): void {
    if (!this.#links.delete(link)) return;
    link.isDead = true;
    if (how === 'reset') link.client.resetAndDestroy();
    else link.client.destroy();
    link.server.destroy();
  }
}

function isPush(reply: Buffer): boolean {
  return reply[0] === 0x3e;
}

/** Where the RESP value at `at` ends, or -1 if some of it is still to come. */
function endOfValue(bytes: Buffer, at: number): number {
  const line = bytes.indexOf('\r\n', at);
  if (line < 0) return -1;
  const kind = String.fromCharCode(bytes[at]!);
  if ('+-:,#_('.includes(kind)) return line + 2;
  const size = Number(bytes.toString('latin1', at + 1, line));
  if ('$=!'.includes(kind)) {
    const end = size < 0 ? line + 2 : line + 2 + size + 2;
    return end <= bytes.length ? end : -1;
  }
  const parts = Math.max(0, size) * (kind === '%' || kind === '|' ? 2 : 1) + (kind === '|' ? 1 : 0);
  let end = line + 2;
  for (let i = 0; i < parts && end > 0; i++) end = endOfValue(bytes, end);
  return end;
}

function commandIn(request: Buffer): string[] {
  const words: string[] = [];
  for (let at = request.indexOf('\r\n') + 2; at < request.length; ) {
    const line = request.indexOf('\r\n', at);
    const size = Number(request.toString('latin1', at + 1, line));
    words.push(request.toString('utf8', line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
  return words;
}
