// Waits for one job to finish: listens first and looks afterwards, so that a finish in between is not missed.

import { ConnectionClosedError, yokeError } from '../model/errors.ts';
import type { JobHost, Listener } from './job-host.ts';

export interface FinishedEvents {
  on(event: string, listener: Listener): unknown;
  off(event: string, listener: Listener): unknown;
  waitUntilReady(): Promise<unknown>;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export async function waitUntilFinished(
  queue: JobHost,
  job: { id: string; name: string },
  events: FinishedEvents,
  timeoutMs?: number,
): Promise<unknown> {
  await queue.waitUntilReady();
  await events.waitUntilReady();
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const stop = () => {
      clearTimeout(timer);
      events.off(`completed:${job.id}`, onCompleted);
      events.off(`failed:${job.id}`, onFailed);
      events.off('closing', onClosing);
      queue.off('closing', onClosing);
    };
    const onCompleted = (args: { returnvalue: unknown }) => {
      stop();
      resolve(args.returnvalue);
    };
    const onFailed = (args: { failedReason?: string; message?: string }) => {
      stop();
      reject(new Error(args.failedReason ?? args.message));
    };
    const onClosing = () => {
      stop();
      reject(new ConnectionClosedError());
    };
    events.on(`completed:${job.id}`, onCompleted);
    events.on(`failed:${job.id}`, onFailed);
    events.on('closing', onClosing);
    queue.on('closing', onClosing);
    if (timeoutMs) {
      timer = setTimeout(() => {
        stop();
        reject(yokeError('JOB_WAIT_TIMEOUT', { name: job.name, timeoutMs, jobId: job.id }));
      }, timeoutMs);
    }
    queue.inspect.finished(job.id).then(
      ({ word, value }) => {
        if (word === 'missing') {
          stop();
          reject(yokeError('JOB_NOT_EXIST', { jobId: queue.toKey(job.id), command: 'isFinished' }));
        } else if (word === 'completed') onCompleted({ returnvalue: parse(value) });
        else if (word === 'failed') onFailed({ failedReason: value });
      },
      (error) => {
        stop();
        reject(error);
      },
    );
  });
}
