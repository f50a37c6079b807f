// Logging through whatever the application already uses. Silent unless a logger is given. Fields are ids, counts
// and durations: never payloads, return values or lock tokens.

/** Satisfied by console, pino, winston and most others. */
export interface Logger {
  // biome-ignore lint/suspicious/noExplicitAny: the three families of loggers share no narrower signature.
  debug(...args: any[]): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  info(...args: any[]): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  warn(...args: any[]): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  error(...args: any[]): unknown;
}

export type LogFields = Record<string, unknown>;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** The sentences we log; searches and alerts may rely on them. */
export const LogEvent = {
  jobPickedUp: 'Job picked up',
  jobCompleted: 'Job completed',
  jobFailed: 'Job failed',
  jobRetried: 'Job retried',
  jobStalled: 'Job stalled',
  heartbeatFailed: 'Heartbeat failed',
  redisDisconnected: 'Redis disconnected',
  redisReconnected: 'Redis reconnected',
  unknownOption: 'Unknown option',
} as const;

type Log = (event: string, fields?: LogFields) => void;

export interface BoundLogger extends Record<LogLevel, Log> {
  /** True if nothing listens, so that a busy caller can skip building the fields. */
  readonly isSilent: boolean;
}

const nothing = () => {};

export const silentLogger: Logger = Object.freeze({
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
});

const silentBound: BoundLogger = Object.freeze({ ...silentLogger, isSilent: true }) as BoundLogger;

/**
 * Adds the same fields (worker, queue) to every line. pino wants the fields first, everyone else the sentence.
 */
export function boundLogger(logger: Logger, fields: LogFields): BoundLogger {
  if (logger === silentLogger) return silentBound;
  const fieldsFirst = isPino(logger);
  const at =
    (level: LogLevel): Log =>
    (event, more) => {
      try {
        const all = { ...fields, ...more };
        if (all.error instanceof Error) all.error = plainError(all.error);
        if (fieldsFirst) logger[level](all, event);
        else logger[level](event, all);
      } catch {
        // A logger that fails must not fail a job.
      }
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), isSilent: false };
}

function isPino(logger: Logger): boolean {
  const candidate = logger as { bindings?: unknown; child?: unknown };
  return typeof candidate.bindings === 'function' && typeof candidate.child === 'function';
}

/** JSON loggers write an Error as `{}`; its parts survive. */
function plainError(error: Error): LogFields {
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    stack: error.stack,
  };
}
