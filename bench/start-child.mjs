// Runs one task in a child process, bounded in time, and resolves to its figures or to an error; never rejects.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('./child.mjs', import.meta.url));

const MOST_OUTPUT = 1 << 16;

export function runChild(task, { timeoutMs, env }) {
  return new Promise((resolve) => {
    // No NODE_ENV: libraries choose defaults by it.
    const { NODE_ENV: _, ...inherited } = process.env;
    const child = spawn(process.execPath, [program, JSON.stringify(task)], {
      env: { ...inherited, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = collect(child.stdout);
    const complaints = collect(child.stderr);
    let isOverdue = false;
    const overdue = setTimeout(() => {
      isOverdue = true;
      child.kill('SIGKILL');
    }, timeoutMs);
    const stop = () => child.kill('SIGKILL');
    process.once('exit', stop);
    child.once('close', () => {
      clearTimeout(overdue);
      process.off('exit', stop);
      if (isOverdue) resolve({ error: `not done after ${timeoutMs / 1000} s` });
      else resolve(read(output(), complaints()));
    });
    child.once('error', (error) => resolve({ error: error.message }));
  });
}

function collect(stream) {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk) => {
    text = (text + chunk).slice(-MOST_OUTPUT);
  });
  return () => text;
}

function read(output, complaints) {
  const line = output.trim().split('\n').at(-1) ?? '';
  try {
    const { figures, stolen, error } = JSON.parse(line);
    return figures ? { figures, stolen } : { error };
  } catch {
    return { error: complaints.trim().split('\n').at(-1) || 'ended without a result' };
  }
}
