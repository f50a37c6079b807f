// Record <-> job. The only TypeScript that spells the wire's abbreviations; everywhere else names are whole.

import type { StoredJobOptions } from '../model/options/job-option-types.ts';

/** A job as the server keeps it, under whole names, its JSON still text. */
export interface JobRecord {
  id: string;
  name: string;
  data: string;
  opts: string;
  timestamp: number;
  delay: number;
  priority: number;
  progress?: string;
  attemptsStarted: number;
  attemptsMade: number;
  stalledCounter: number;
  processedOn?: number;
  processedBy?: string;
  finishedOn?: number;
  returnvalue?: string;
  failedReason?: string;
  stacktrace?: string;
  parentKey?: string;
  parent?: string;
  repeatJobKey?: string;
  deduplicationId?: string;
  deferredFailure?: string;
  /** Role, place, mapping and key of its group (lua/lib/group_record.lua). */
  groupTie?: string;
  lane?: string;
  orderMs?: number;
  /** How many fields it has there, of a job that had never begun and is tied to nothing but a lane; 0 of any other. */
  newFieldCount: number;
}

const optionToWire: Record<string, string> = {
  deduplication: 'de',
  failParentOnFailure: 'fpof',
  continueParentOnFailure: 'cpof',
  ignoreDependencyOnFailure: 'idof',
  removeDependencyOnFailure: 'rdof',
  keepLogs: 'kl',
  group: 'grp',
};
Object.setPrototypeOf(optionToWire, null);
const optionFromWire = new Map(Object.entries(optionToWire).map(([name, wire]) => [wire, name]));

const PLAIN_OPTIONS = '{"attempts":0}';

// Jobs without options of their own share one frozen object: it is written once for all that follow each other.
let shared: Readonly<StoredJobOptions> | undefined;
let sharedText = '';

/** The options as JSON with the wire's keys. */
export function encodeOptions(stored: Readonly<StoredJobOptions>): string {
  if (stored === shared) return sharedText;
  const text = JSON.stringify(hasWireNames(stored) ? stored : toWire(stored));
  if (Object.isFrozen(stored)) {
    shared = stored;
    sharedText = text;
  }
  return text;
}

// Mostly the names are the wire's already, and nothing has to be copied.
function hasWireNames(stored: Readonly<StoredJobOptions>): boolean {
  for (const name in stored) if (optionToWire[name] !== undefined) return false;
  return true;
}

function toWire(stored: Readonly<StoredJobOptions>): Record<string, unknown> {
  const wire: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(stored)) wire[optionToWire[name] ?? name] = value;
  if (wire.grp) shieldOutcome(wire);
  return wire;
}

// A group counts what its jobs come to, so another library's worker must not erase one. What the user wants is kept
// under a key that only we read, and done by us, in the transition that has told the group.
function shieldOutcome(wire: Record<string, unknown>): void {
  const { removeOnComplete, removeOnFail } = wire;
  if (removeOnComplete !== undefined || removeOnFail !== undefined)
    wire.grpKeep = { removeOnComplete, removeOnFail };
  wire.removeOnComplete = false;
  wire.removeOnFail = false;
}

function unshieldOutcome(opts: Record<string, unknown>): void {
  const kept = (opts.grpKeep ?? {}) as Record<string, unknown>;
  delete opts.grpKeep;
  for (const name of ['removeOnComplete', 'removeOnFail']) {
    if (kept[name] === undefined) delete opts[name];
    else opts[name] = kept[name];
  }
}

// Jobs that follow each other mostly have the same options, and to copy them is quicker than to read them again: those of
// the last text, unless there is something in them that the copies would share.
let lastText = '';
let lastOptions: Readonly<StoredJobOptions> | undefined;

/** The options of a stored job. Throws where the text is no JSON object. */
export function decodeOptions(text: string): StoredJobOptions {
  if (text === PLAIN_OPTIONS) return { attempts: 0 };
  if (lastOptions !== undefined && text === lastText) return { ...lastOptions };
  const opts = decodeTemplateOptions(text) as StoredJobOptions;
  if (!Object.hasOwn(opts, 'attempts')) opts.attempts = 0;
  lastText = text;
  lastOptions = isFlat(opts) ? { ...opts } : undefined;
  return opts;
}

function isFlat(options: object): boolean {
  for (const value of Object.values(options)) if (typeof value === 'object' && value !== null) return false;
  return true;
}

/** The options as they were stored, without defaults: those that a scheduler gives to its jobs. */
export function decodeTemplateOptions(text: string): Partial<StoredJobOptions> {
  const wire = JSON.parse(text || '{}') as Record<string, unknown>;
  if (typeof wire !== 'object' || wire === null || Array.isArray(wire))
    throw new SyntaxError('options are no object');
  return hasOwnNames(wire) ? wire : fromWire(wire);
}

const telemetryFromWire = new Map([
  ['tm', 'metadata'],
  ['omc', 'omitContext'],
]);

// Mostly the names on the wire are the options' own, and nothing has to be copied.
function hasOwnNames(wire: Record<string, unknown>): boolean {
  for (const key in wire) if (optionFromWire.has(key) || telemetryFromWire.has(key)) return false;
  return true;
}

function fromWire(wire: Record<string, unknown>): Record<string, unknown> {
  const opts: Record<string, unknown> = {};
  const telemetry: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(wire)) {
    const ofTelemetry = telemetryFromWire.get(key);
    if (ofTelemetry) telemetry[ofTelemetry] = value;
    else
      Object.defineProperty(opts, optionFromWire.get(key) ?? key, {
        value,
        writable: true,
        enumerable: true,
        configurable: true,
      });
  }
  if (opts.group) unshieldOutcome(opts);
  if (Object.keys(telemetry).length > 0) opts.telemetry = telemetry;
  return opts;
}

type Setter = (record: JobRecord, value: string) => void;

// Other servers may have written numbers in exponent form, so they are read as floats.
const setters: Record<string, Setter> = {
  name: (r, v) => {
    r.name = v;
  },
  data: (r, v) => {
    r.data = v;
  },
  opts: (r, v) => {
    r.opts = v;
  },
  timestamp: (r, v) => {
    r.timestamp = Number(v);
  },
  delay: (r, v) => {
    r.delay = Number(v);
  },
  priority: (r, v) => {
    r.priority = Number(v);
  },
  progress: (r, v) => {
    r.progress = v;
  },
  ats: (r, v) => {
    r.attemptsStarted = Number(v);
  },
  atm: (r, v) => {
    r.attemptsMade = Number(v);
  },
  // The older spelling wins where both are there.
  attemptsMade: (r, v) => {
    r.attemptsMade = Number(v);
  },
  stc: (r, v) => {
    r.stalledCounter = Number(v);
  },
  processedOn: (r, v) => {
    r.processedOn = Number(v);
  },
  pb: (r, v) => {
    r.processedBy = v;
  },
  finishedOn: (r, v) => {
    r.finishedOn = Number(v);
  },
  returnvalue: (r, v) => {
    r.returnvalue = v;
  },
  failedReason: (r, v) => {
    r.failedReason = v;
  },
  stacktrace: (r, v) => {
    r.stacktrace = v;
  },
  parentKey: (r, v) => {
    r.parentKey = v;
  },
  parent: (r, v) => {
    r.parent = v;
  },
  rjk: (r, v) => {
    r.repeatJobKey = v;
  },
  deid: (r, v) => {
    r.deduplicationId = v;
  },
  lane: (r, v) => {
    r.lane = v;
  },
  orderMs: (r, v) => {
    r.orderMs = Number(v);
  },
  defa: (r, v) => {
    r.deferredFailure = v;
  },
  grp: (r, v) => {
    r.groupTie = v;
  },
};
Object.setPrototypeOf(setters, null);

export function emptyRecord(id: string): JobRecord {
  return {
    id,
    name: '',
    data: '{}',
    opts: '{}',
    timestamp: 0,
    delay: 0,
    priority: 0,
    attemptsStarted: 0,
    attemptsMade: 0,
    stalledCounter: 0,
    newFieldCount: 0,
  };
}

// What the record of a job may have that has never begun and is tied to nothing but a lane.
const newJobFields = ['name', 'data', 'opts', 'timestamp', 'delay', 'priority', 'lane', 'orderMs', 'laneSeq'];
const ofNewJobs = new Set(newJobFields);

/** From HGETALL's flat list of fields and values. */
export function decodeRecord(id: string, flat: readonly string[]): JobRecord {
  const record = emptyRecord(id);
  let isNew = true;
  for (let i = 0; i < flat.length; i += 2) {
    const field = flat[i]!;
    setters[field]?.(record, flat[i + 1]!);
    isNew &&= ofNewJobs.has(field);
  }
  record.newFieldCount = isNew ? flat.length / 2 : 0;
  return record;
}

/** Also takes an object of raw fields, as v5's manual fetching hands out. */
export function decodeRawFields(id: string, fields: Record<string, unknown>): JobRecord {
  const record = emptyRecord(id);
  for (const [field, value] of Object.entries(fields)) {
    if (value !== undefined && value !== null)
      setters[field]?.(record, typeof value === 'string' ? value : String(value));
  }
  return record;
}

/** What a fetch changed in the record after it was read. */
export function markStarted(record: JobRecord, processedOn: number, processedBy: string): void {
  if (record.newFieldCount > 0) record.newFieldCount += processedBy ? 3 : 2;
  record.processedOn = processedOn;
  record.attemptsStarted += 1;
  if (processedBy) record.processedBy = processedBy;
}
