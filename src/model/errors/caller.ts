// The caller was wrong: thrown before anything is sent. Texts marked exact are BullMQ's; our own say which
// option, what was expected, what was given and what to do.

import { rows } from './row.ts';

const names = rows({
  QUEUE_NAME_MISSING: {
    family: 'caller',
    exact: true,
    message: () => 'Queue name must be provided',
    hint: "Pass a name: new Queue('orders').",
  },
  QUEUE_NAME_COLON: {
    family: 'caller',
    exact: true,
    message: () => 'Queue name cannot contain :',
    hint: 'Colons separate the parts of a Redis key; use - or . instead, or the prefix option.',
  },
  CUSTOM_ID_INTEGER: {
    family: 'caller',
    exact: true,
    message: () => 'Custom Id cannot be integers',
    hint: 'Integers are the ids given out automatically; put a word in front, as in order-17.',
  },
  CUSTOM_ID_COLON: {
    family: 'caller',
    exact: true,
    message: () => 'Custom Id cannot contain :',
    hint: 'Colons separate the parts of a Redis key; use - instead.',
  },
  JOB_ID_ZERO: {
    family: 'caller',
    exact: true,
    message: () => "JobId cannot be '0' or start with '0:'",
    hint: 'Such entries are markers of older versions and would be discarded; put a word in front.',
  },
  JOB_ID_TOO_LONG: {
    family: 'caller',
    message: (d) => `jobId: expected at most ${d.maxBytes} bytes, got ${d.bytes}.`,
    hint: 'Use a shorter id, for instance a hash of the long one.',
  },
  JOB_ID_CONTROL_CHARACTER: {
    family: 'caller',
    message: (d) => `jobId: expected no control characters, got one at position ${d.position}.`,
    hint: 'Trim or encode the id before using it.',
  },
  JOB_ID_RESERVED: {
    family: 'caller',
    message: (d) =>
      `jobId: expected a first segment that is not a key of the queue itself, got "${d.segment}".`,
    hint: 'Put a word in front, as in order-meta.',
  },
  LONE_SURROGATE: {
    family: 'caller',
    message: (d) => `${d.what}: expected well-formed text, got a lone surrogate at position ${d.position}.`,
    hint: 'It would be stored as another character; cut strings at character boundaries.',
  },
});

const jobOptions = rows({
  PRIORITY_FLOAT: {
    family: 'caller',
    exact: true,
    message: () => 'Priority should not be float',
    hint: 'Round the priority.',
  },
  PRIORITY_RANGE: {
    family: 'caller',
    exact: true,
    message: (d) => `Priority should be between 0 and ${d.limit}`,
    hint: 'The highest priority is 1; 0 means none and runs before all prioritized jobs.',
  },
  JITTER_RANGE: {
    family: 'caller',
    exact: true,
    message: () => 'Jitter should be between 0 and 1',
    hint: 'Jitter is the share of the delay that is random: 0.2 is twenty per cent.',
  },
  JOB_SIZE_LIMIT: {
    family: 'caller',
    exact: true,
    message: (d) => `The size of job ${d.name} exceeds the limit ${d.limit} bytes`,
    hint: 'Raise sizeLimit, or store the data elsewhere and queue a reference to it.',
  },
  EXCLUSIVE_OPTIONS: {
    family: 'caller',
    exact: true,
    message: (d) => `The following options cannot be used together: ${d.options}`,
    hint: 'Choose one of them.',
  },
  BACKOFF_UNKNOWN: {
    family: 'caller',
    exact: true,
    message: (d) =>
      `Unknown backoff strategy ${d.type}.\n      If a custom backoff strategy is used, specify it when the queue is created.`,
    hint: "Use type 'fixed' or 'exponential', or give the worker settings.backoffStrategy.",
  },
  PAYLOAD_TOO_LARGE: {
    family: 'caller',
    message: (d) => `${d.what}: expected at most ${d.maxBytes} bytes of JSON, got ${d.bytes}.`,
    hint: 'Raise maxPayloadBytes, or store the data elsewhere and pass a reference to it.',
  },
  PAYLOAD_NOT_SERIALISABLE: {
    family: 'caller',
    message: (d) => `${d.what}: expected a value that JSON can hold, got ${d.given}.`,
    hint: 'Pass plain data: no cycles, no BigInt, no function or symbol.',
  },
  SCHEMA_REJECTED: {
    family: 'caller',
    message: (d) => `${d.where}: expected a value that satisfies the schema, got ${d.issues}.`,
    hint: 'Correct the value, or the schema given to the Queue or Worker.',
  },
});

const objects = rows({
  INVALID_OPTION: {
    family: 'caller',
    message: (d) => `${d.option}: expected ${d.expected}, got ${d.given}.`,
    hint: 'Correct the option, or leave it out to get its default.',
  },
  UNKNOWN_OPTION: {
    family: 'caller',
    message: (d) => `${d.option}: expected a known option, got one that does not exist${d.suggestion}.`,
    hint: 'Correct the name, or remove it.',
  },
  NOT_SUPPORTED_YET: {
    family: 'caller',
    message: (d) => `${d.feature}: not supported yet by this version.`,
    hint: 'Leave it out; it is refused rather than ignored, so that nothing is silently lost.',
  },
  CONCURRENCY_INVALID: {
    family: 'caller',
    exact: true,
    message: () => 'concurrency must be a finite number greater than 0',
    hint: 'Give the number of jobs this worker may run at a time.',
  },
  STALLED_INTERVAL_INVALID: {
    family: 'caller',
    exact: true,
    message: () => 'stalledInterval must be greater than 0',
    hint: 'Give milliseconds; to switch the check off, set skipStalledCheck.',
  },
  MAX_STALLED_COUNT_INVALID: {
    family: 'caller',
    exact: true,
    message: () => 'maxStalledCount must be greater or equal than 0',
    hint: 'Give the number of times a job may stall before it fails.',
  },
  MAX_STARTED_ATTEMPTS_INVALID: {
    family: 'caller',
    exact: true,
    message: () => 'maxStartedAttempts must be greater or equal than 0',
    hint: 'Give the number of times a job may be started, or leave it out for no limit.',
  },
  DRAIN_DELAY_INVALID: {
    family: 'caller',
    exact: true,
    message: () => 'drainDelay must be greater than 0',
    hint: 'Give seconds, not milliseconds.',
  },
  CONNECTION_REQUIRED: {
    family: 'caller',
    exact: true,
    message: (d) => `${d.what} requires a connection`,
    hint: 'Pass the connection option or set REDIS_URL; with NODE_ENV=production nothing is assumed.',
  },
  KEY_PREFIX_REFUSED: {
    family: 'caller',
    exact: true,
    message: () => 'BullMQ: ioredis does not support ioredis prefixes, use the prefix option instead.',
    hint: "Remove keyPrefix from the client and pass prefix: '…' to the Queue or Worker.",
  },
  MAX_RETRIES_PER_REQUEST: {
    family: 'caller',
    exact: true,
    message: () => 'BullMQ: Your redis options maxRetriesPerRequest must be null.',
    hint: 'A blocking read must wait through an outage; create the client with maxRetriesPerRequest: null.',
  },
  NO_PROCESSOR: {
    family: 'caller',
    exact: true,
    message: () => 'No process function is defined.',
    hint: 'Pass the processor as second argument of the Worker, or fetch by hand with getNextJob().',
  },
  ALREADY_RUNNING: {
    family: 'caller',
    exact: true,
    message: (d) => `${d.what} is already running.`,
    hint: 'It starts by itself unless autorun is false; call run() once.',
  },
  QUEUE_CLOSED: {
    family: 'caller',
    message: (d) => `Queue "${d.queue}": expected it to be open, got a call after close().`,
    hint: 'Close the queue after its last call, or create a new one.',
  },
  PRODUCER_CLOSED: {
    family: 'caller',
    message: () => 'FlowProducer: expected it to be open, got a call after close().',
    hint: 'Close the producer after its last call, or create a new one.',
  },
});

export const callerErrors = { ...names, ...jobOptions, ...objects };
