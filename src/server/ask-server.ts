// A few commands over a fresh connection, without a client library: enough to see whether a server lives and
// who it is. Replies are small here, so the parser starts over whenever more bytes arrive.

import { connect } from 'node:net';
import type { ServerAddress } from './server-address.ts';

export type Reply = string | number | null | Error | Reply[];

/** How a server answered a PING. `silent` is something that listens and says nothing in time. */
export type Liveness = 'ready' | 'loading' | 'silent' | 'absent';

const defaultTimeoutMs = 2_000;

/** Sends the commands in one write and resolves with their replies, error replies included. */
export function askServer(
  address: ServerAddress,
  commands: readonly (readonly string[])[],
  timeoutMs = defaultTimeoutMs,
): Promise<Reply[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(address);
    let received = Buffer.alloc(0);
    const deadline = setTimeout(() => {
      fail(Object.assign(new Error(`no reply within ${timeoutMs} ms`), { code: 'ETIMEDOUT' }));
    }, timeoutMs);
    const fail = (error: Error) => {
      clearTimeout(deadline);
      socket.destroy();
      reject(error);
    };
    socket.on('error', fail);
    socket.on('close', () =>
      fail(Object.assign(new Error('the server closed the connection'), { code: 'ECONNRESET' })),
    );
    socket.on('connect', () => socket.write(commands.map(encodeCommand).join('')));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      const replies = decodeReplies(received, commands.length);
      if (replies === undefined) return;
      clearTimeout(deadline);
      resolve(replies);
      socket.destroy();
    });
  });
}

/** PINGs once. Throws only where trying again cannot help, such as a socket we may not open. */
export async function pingServer(address: ServerAddress, timeoutMs?: number): Promise<Liveness> {
  try {
    const [reply] = await askServer(address, [['PING']], timeoutMs);
    // Any other refusal (no password given, a script running) still comes from a living server.
    return reply instanceof Error && reply.message.startsWith('LOADING') ? 'loading' : 'ready';
  } catch (error) {
    switch ((error as NodeJS.ErrnoException).code) {
      case 'ECONNREFUSED':
      case 'ENOENT':
      case 'ENOTSOCK':
        return 'absent';
      case 'ETIMEDOUT':
      // The server may be on its way out; the next ping will know.
      case 'ECONNRESET':
      case 'EPIPE':
      // The backlog of a unix socket is full.
      case 'EAGAIN':
        return 'silent';
      default:
        throw error;
    }
  }
}

function encodeCommand(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}

function decodeReplies(bytes: Buffer, count: number): Reply[] | undefined {
  let offset = 0;

  function line(): string | undefined {
    const end = bytes.indexOf('\r\n', offset);
    if (end === -1) return undefined;
    const text = bytes.toString('utf8', offset, end);
    offset = end + 2;
    return text;
  }

  function reply(): Reply | undefined {
    const head = line();
    if (head === undefined) return undefined;
    const rest = head.slice(1);
    switch (head[0]) {
      case '-':
        return new Error(rest);
      case ':':
        return Number(rest);
      case '$': {
        const length = Number(rest);
        if (length === -1) return null;
        if (bytes.length < offset + length + 2) return undefined;
        const text = bytes.toString('utf8', offset, offset + length);
        offset += length + 2;
        return text;
      }
      case '*':
        return Number(rest) === -1 ? null : several(Number(rest));
      default:
        return rest;
    }
  }

  function several(wanted: number): Reply[] | undefined {
    const replies: Reply[] = [];
    while (replies.length < wanted) {
      const next = reply();
      if (next === undefined) return undefined;
      replies.push(next);
    }
    return replies;
  }

  return several(count);
}
