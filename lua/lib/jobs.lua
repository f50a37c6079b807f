-- One job's record. The wire's abbreviations are spelled here and in src/store/codec.ts, nowhere else.

local batch_ends = require("lib.batch_ends")
local keys = require("lib.keys")
local queue = require("lib.queue")
local shapes = require("lib.shapes")

local jobs = {}

jobs.field = {
  attempts_made = "atm",
  attempts_started = "ats",
  deferred_failure = "defa",
  dedup_id = "deid",
  group = "grp",
  lane = "lane",
  lane_sequence = "laneSeq",
  order = "orderMs",
  processed_by = "pb",
  schedule_id = "rjk",
  stalled_count = "stc",
}

-- The place of a job in its lane, as its record has it: with a plus, as no other field has one, so that it can be told from
-- them by its looks. To whoever reads a number it is the same.
function jobs.order_text(order)
  return string.find(order, "^%d") and "+" .. order or order
end

-- What a transition needs to know of a job, in one read. The payload stays where it is.
local KNOWN = {
  "name", "timestamp", "priority", "delay", "atm", "ats", "stc", "defa",
  "parentKey", "parent", "deid", "rjk", "processedOn", "finishedOn", "grp", "lane",
}

-- A key that holds something else is no job: a poisoned record costs its own job, never the queue.
local function unless_poisoned(err)
  if not shapes.is_wrong_type(err) then
    error(err, 0)
  end
  return nil
end

local function read(command, key, ...)
  local is_read, row = pcall(call, command, key, ...)
  return is_read and row or unless_poisoned(row)
end

-- A key has a queue and an id; anything else names no parent.
local function parent_key(text)
  return text and string.find(text, ":", 1, true) and text or nil
end

-- The few fields that finishing a job needs.
function jobs.load_brief(q, id)
  local key = keys.job(q, id)
  local row = read("HMGET", key, "name", "atm", "priority", "parentKey", "deid", "grp", "lane")
  if not row or not row[1] and not row[2] and call("EXISTS", key) == 0 then
    return nil
  end
  return {
    id = id,
    key = key,
    attempts_made = tonumber(row[2]) or 0,
    priority = tonumber(row[3]) or 0,
    parent_key = parent_key(row[4]),
    dedup_id = row[5],
    group = row[6],
    lane = row[7],
  }
end

-- The priority of a job that is to be put into the ready order; nil where `load` finds no job.
function jobs.priority(q, id)
  local key = keys.job(q, id)
  local row = read("HMGET", key, "priority", "name")
  if row and not row[2] then
    local others = call("HMGET", key, "timestamp", "ats", "processedOn")
    row = (others[1] or others[2] or others[3]) and row
  end
  return row and (tonumber(row[1]) or 0) or nil
end

function jobs.load(q, id)
  local row = read("HMGET", keys.job(q, id), unpack(KNOWN))
  -- A record without a name and a time is no job; a foreign client's half-written ghost has neither.
  if not row or not row[1] and not row[2] and not row[6] and not row[13] then
    return nil
  end
  return {
    id = id,
    key = keys.job(q, id),
    name = row[1],
    timestamp = tonumber(row[2]),
    priority = tonumber(row[3]) or 0,
    delay = tonumber(row[4]) or 0,
    attempts_made = tonumber(row[5]) or 0,
    attempts_started = tonumber(row[6]) or 0,
    stalled_count = tonumber(row[7]) or 0,
    deferred_failure = row[8],
    parent_key = parent_key(row[9]),
    parent = row[10],
    dedup_id = row[11],
    schedule_id = row[12],
    processed_on = tonumber(row[13]),
    finished_on = tonumber(row[14]),
    group = row[15],
    lane = row[16],
  }
end

-- Some fields of a record; nil where there is none. For reads that must not fail.
function jobs.fields(q, id, ...)
  return read("HMGET", keys.job(q, id), ...)
end

-- Everything, as the flat list of fields and values that the server keeps; nil where there is nothing.
function jobs.read_at(key)
  local is_read, flat = pcall(call, "HGETALL", key)
  if not is_read then
    flat = unless_poisoned(flat)
  end
  return flat and flat[1] and flat or nil
end

function jobs.read(q, id)
  return jobs.read_at(keys.job(q, id))
end

function jobs.exists(q, id)
  return call("TYPE", keys.job(q, id)).ok == "hash"
end

-- Nobody else may have this id: there is something under its key, a job or not.
function jobs.is_taken(q, id)
  return call("EXISTS", keys.job(q, id)) == 1
end

function jobs.set(q, id, ...)
  call("HSET", keys.job(q, id), ...)
end

function jobs.unset(q, id, ...)
  call("HDEL", keys.job(q, id), ...)
end

-- Stores a new record. `ties` are further fields, flat (parent, schedule, deduplication).
function jobs.store(q, id, job, timestamp, ties)
  if ties and #ties > 0 then
    call("HSET", keys.job(q, id), "name", job.name, "data", job.data, "opts", job.opts, "timestamp", timestamp,
      "delay", job.delay, "priority", job.priority, unpack(ties))
  else
    call("HSET", keys.job(q, id), "name", job.name, "data", job.data, "opts", job.opts, "timestamp", timestamp,
      "delay", job.delay, "priority", job.priority)
  end
end

-- Deletes the record and all that hangs on it, but for the lock. Says whether there was a record.
function jobs.erase(q, id)
  local key = keys.job(q, id)
  local tail = keys.tail
  return call("DEL", key, key .. tail.logs, key .. tail.dependencies, key .. tail.processed, key .. tail.failed,
    key .. tail.unsuccessful)
end

-- The record and five keys of each; so many at a time that they can be unpacked.
local ERASED_AT_ONCE = 500

-- A server looks for a key that is to be deleted three times, and once for one that is asked for: most jobs have none but
-- their record.
function jobs.erase_many(q, ids)
  local tail = keys.tail
  for first = 1, #ids, ERASED_AT_ONCE do
    local records, others, count = {}, {}, 0
    for i = first, math.min(first + ERASED_AT_ONCE - 1, #ids) do
      local key = keys.job(q, ids[i])
      records[#records + 1] = key
      others[count + 1], others[count + 2], others[count + 3] = key .. tail.logs, key .. tail.dependencies, key .. tail.processed
      others[count + 4], others[count + 5] = key .. tail.failed, key .. tail.unsuccessful
      count = count + 5
    end
    if call("EXISTS", unpack(others)) > 0 then
      call("DEL", unpack(others))
    end
    call("DEL", unpack(records))
  end
end

-- Nobody has begun with it.
function jobs.forget_start(job)
  call("HDEL", job.key, "processedOn", jobs.field.attempts_started, jobs.field.processed_by)
end

-- The fields that a failed attempt leaves behind; flat, as they came from the worker.
function jobs.note_failure(q, id, reason, stacktrace)
  if stacktrace ~= "" then
    jobs.set(q, id, "failedReason", reason, "stacktrace", stacktrace)
  end
end

-- Which collection holds the id, in the order that BullMQ looks.
function jobs.place(q, id)
  batch_ends.flush(q)
  if call("ZSCORE", q.completed, id) then return "completed" end
  if call("ZSCORE", q.failed, id) then return "failed" end
  if call("ZSCORE", q.delayed, id) then return "delayed" end
  if call("ZSCORE", q.prioritized, id) then return "prioritized" end
  if call("LPOS", q.active, id) then return "active" end
  if call("LPOS", q.wait, id) then return "wait" end
  if call("LPOS", q.paused, id) then return "paused" end
  if call("ZSCORE", q.waiting_children, id) then return "waiting-children" end
  if queue.settings(q).lanes then
    local since = call("ZSCORE", q.lane_waiting, id)
    return since and (tonumber(since) < 0 and "delayed" or "wait") or nil
  end
  return nil
end

return jobs
