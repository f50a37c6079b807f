// The records of a fetch, as the server tells them: names and values of any job, or the values alone of one that has never
// begun and is tied to nothing but a lane (lua/lib/new_jobs.lua).

import { decodeRecord, emptyRecord, type JobRecord } from './codec.ts';

type Value = string | true;

/** From ids and records in turn. */
export function decodeFetched(fetched: readonly unknown[]): JobRecord[] {
  const records: JobRecord[] = [];
  // The last one that was told whole and has no sequence of its own: others have its name, options and priority.
  let whole: JobRecord | undefined;
  for (let i = 0; i < fetched.length; i += 2) {
    const id = fetched[i] as string;
    const values = fetched[i + 1] as readonly Value[];
    if (values[0] === true) {
      records.push(decodeShort(id, values as readonly string[], whole!));
    } else if (values.length % 2 === 0) {
      records.push(decodeRecord(id, values as readonly string[]));
    } else {
      const record = decodeWhole(id, values as readonly string[]);
      if (values.length < 9) whole = record;
      records.push(record);
    }
  }
  return records;
}

// Five values without a lane, seven in one, nine where the job has a sequence in its lane that is not its id. Its delay, if
// it had one, is over.
function decodeWhole(id: string, values: readonly string[]): JobRecord {
  const record = emptyRecord(id);
  record.name = values[0]!;
  record.data = values[1]!;
  record.opts = values[2]!;
  record.timestamp = Number(values[3]);
  record.priority = Number(values[4]);
  if (values.length > 5) placeInLane(record, values[5]!, values[6]!);
  record.newFieldCount = values.length === 9 ? 9 : values.length + 1;
  return record;
}

// Behind `true`, two without a lane and four in one.
function decodeShort(id: string, values: readonly string[], { name, opts, priority }: JobRecord): JobRecord {
  const record = emptyRecord(id);
  record.name = name;
  record.data = values[1]!;
  record.opts = opts;
  record.timestamp = Number(values[2]);
  record.priority = priority;
  if (values.length > 3) placeInLane(record, values[3]!, values[4]!);
  record.newFieldCount = values.length + 3;
  return record;
}

function placeInLane(record: JobRecord, lane: string, order: string): void {
  record.lane = lane;
  record.orderMs = Number(order);
}
