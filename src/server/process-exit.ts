// Last things to do before this process ends. One listener for all, so that many servers raise no warning
// about leaked listeners. Signals are left to the application: a listener of ours would take away Ctrl-C's
// default effect. What a fatal signal leaves behind is the business of the owner watch.

const lastThings = new Set<() => void>();

function doLastThings(): void {
  for (const act of lastThings) {
    try {
      act();
    } catch {
      // Nobody is left to tell, and the others must still have their turn.
    }
  }
  lastThings.clear();
}

/** Runs `act` when the process exits, unless the returned function was called before. */
export function atProcessExit(act: () => void): () => void {
  if (lastThings.size === 0) process.on('exit', doLastThings);
  lastThings.add(act);
  return () => {
    lastThings.delete(act);
    if (lastThings.size === 0) process.off('exit', doLastThings);
  };
}

/** Blocks until `isDone`, in exit handlers only. Says whether it came true in time. */
export function blockUntil(isDone: () => boolean, timeoutMs: number): boolean {
  const never = new Int32Array(new SharedArrayBuffer(4));
  const deadline = Date.now() + timeoutMs;
  while (!isDone()) {
    if (Date.now() > deadline) return false;
    Atomics.wait(never, 0, 0, 5);
  }
  return true;
}

/** Whether a process with this id exists, ours to signal or not. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
