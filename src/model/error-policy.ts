// Decides whether a failed attempt is worth another one. BullMQ's rule is to retry whatever was thrown while
// attempts are left; `strict` knows the usual temporary troubles and fails everything else at once.

import { isConnectionError, isTransientError, isUnrecoverable, readThrown } from './errors.ts';

export type ErrorCategory = 'transient' | 'permanent';

/** `retry`: all errors are transient. `strict`: only known temporary ones. A function decides for itself. */
export type ErrorPolicy = 'retry' | 'strict' | ((error: unknown) => ErrorCategory);

/**
 * What the processor said explicitly stands over any policy. A policy function that throws, or answers with
 * something else, counts as transient: a mistake there must not cost a job its remaining attempts.
 */
export function classifyError(error: unknown, policy: ErrorPolicy): ErrorCategory {
  if (isUnrecoverable(error)) return 'permanent';
  if (isTransientError(error)) return 'transient';
  if (policy === 'retry') return 'transient';
  if (policy === 'strict') return isKnownTransient(error, 0) ? 'transient' : 'permanent';
  try {
    return policy(error) === 'permanent' ? 'permanent' : 'transient';
  } catch {
    return 'transient';
  }
}

// Codes of Node's network stack, of undici (fetch), of the usual databases' "try again", and of exhausted resources.
const transientCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ESOCKETTIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENETRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EADDRNOTAVAIL',
  'ENOSPC',
  'ENOMEM',
  'EMFILE',
  'ENFILE',
  'EAGAIN',
  'EBUSY',
  'ERR_NETWORK',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_SOCKET',
  '40001',
  '40P01',
  '53300',
  'ER_LOCK_DEADLOCK',
  'ER_LOCK_WAIT_TIMEOUT',
  'ER_CON_COUNT_ERROR',
  // our own reports about a server that will be back
  'NO_SERVER',
  'OUTCOME_UNKNOWN',
  'SERVER_LOADING',
  'SERVER_OUT_OF_MEMORY',
  'SERVER_READ_ONLY',
]);

// AbortError is what fetch throws when its signal's time is up; the other two are ioredis' words for an outage.
const transientNames =
  /^AbortError$|^MaxRetriesPerRequestError$|^ClusterAllFailedError$|Timeout(Error|Exception)?$/;

// Looked at before any text: "timeout is required" is not a timeout.
const permanentNames = /Validation|^ZodError$|^ValiError$|^SyntaxError$/;

// First words of Redis replies that an operator or the passing of time will change. WRONGTYPE and the like will not.
const redisTrouble =
  /^(LOADING|OOM|READONLY|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|BUSY|MISCONF|NOREPLICAS|UNBLOCKED)\b/;

// For errors that carry nothing but a sentence.
const troubleWords = new RegExp(
  [
    'timed out',
    '(i/o|request|connect|connection|socket|read|gateway|operation|query) timeout',
    'timeout (of \\d+ ?ms )?exceeded',
    'timeout acquiring a connection',
    'connection (is )?(refused|reset|closed|lost|terminated)',
    'socket hang up',
    'fetch failed',
    'network error',
  ].join('|'),
  'i',
);

// An error may be wrapped (fetch puts the network error in `cause`), but a cycle of causes must not hang us.
const MAX_CAUSES = 5;

function isKnownTransient(error: unknown, depth: number): boolean {
  const status = httpStatus(error);
  if (status !== undefined) return status >= 500 || status === 429;

  const name = readThrown(error, 'name');
  if (typeof name === 'string' && permanentNames.test(name)) return false;
  if (isConnectionError(error)) return true;
  const code = readThrown(error, 'code');
  if (typeof code === 'string' && transientCodes.has(code)) return true;
  if (typeof name === 'string' && transientNames.test(name)) return true;
  const message = typeof error === 'string' ? error : readThrown(error, 'message');
  if (typeof message === 'string' && (redisTrouble.test(message) || troubleWords.test(message))) return true;

  const cause = readThrown(error, 'cause');
  return cause !== undefined && cause !== null && depth < MAX_CAUSES && isKnownTransient(cause, depth + 1);
}

/** The status of an HTTP reply, where the usual clients put it; undefined if there is none. */
function httpStatus(error: unknown): number | undefined {
  const candidates = [
    readThrown(error, 'status'),
    readThrown(error, 'statusCode'),
    readThrown(readThrown(error, 'response'), 'status'),
    readThrown(readThrown(error, 'response'), 'statusCode'),
  ];
  for (const candidate of candidates) {
    const status = typeof candidate === 'string' ? Number(candidate) : candidate;
    if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599)
      return status;
  }
  return undefined;
}
