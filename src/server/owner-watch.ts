// Clears up after an owner that died without saying goodbye: SIGKILL, a crash, Ctrl-C without a handler.
// A shell waits on a pipe that only the owner holds; when the owner is gone the pipe ends, whatever the cause.
// It runs in a group of its own, since Ctrl-C goes to the whole group of the terminal.

import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';

const endAtOnce = 'read -r _ || kill -KILL "$1"';

// With a lock file the server stays up for a moment: `node --watch` kills and restarts its program, which then
// finds a warm server. It has been adopted if the lock names the same process under another token.
const endUnlessAdopted = String.raw`
read -r _ && exit
sleep "$4"
grep -q '"serverPid": '"$1"',\{0,1\}$' "$2" && ! grep -qF "$3" "$2" && exit
kill -TERM "$1"`;

const graceSeconds = '3';

// A moment later, so that a server ending at the same time writes nothing more.
const removeDir = 'read -r _ || { sleep 1; rm -rf -- "$1"; }';

/** Ends the server with its owner. Returns how to call that off, once the server was stopped as usual. */
export function endServerWithOwner(serverPid: number, lock?: { file: string; token: string }): () => void {
  return lock
    ? onOwnerDeath(endUnlessAdopted, `${serverPid}`, lock.file, lock.token, graceSeconds)
    : onOwnerDeath(endAtOnce, `${serverPid}`);
}

/** Removes a temporary directory with its owner. Returns how to call that off. */
export function removeDirWithOwner(dir: string): () => void {
  return onOwnerDeath(removeDir, dir);
}

function onOwnerDeath(script: string, ...words: string[]): () => void {
  const watch = spawn('sh', ['-c', script, 'yoke-owner-watch', ...words], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a shell there is no watch; the exit handler still covers every orderly end.
  watch.on('error', () => {});
  watch.stdin.on('error', () => {});
  watch.unref();
  (watch.stdin as unknown as Socket).unref();
  return () => {
    watch.stdin.end('\n');
  };
}
