// What can go wrong before there is a server to talk to.

export type ServerErrorCode =
  /** An explicit connection is required, because this is production. */
  | 'CONNECTION_REQUIRED'
  /** Neither a server binary nor the embedded server is installed. */
  | 'SERVER_NOT_FOUND'
  /** The server was started and did not come up; the message carries its own output. */
  | 'SERVER_START_FAILED'
  /** Something holds the data directory but does not answer. */
  | 'SERVER_UNRESPONSIVE';

export class ServerError extends Error {
  readonly code: ServerErrorCode;

  constructor(code: ServerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ServerError';
    this.code = code;
  }
}
