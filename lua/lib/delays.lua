-- Delayed jobs. A score is the due time in ms times 4096, plus a place among those due in the same
-- millisecond, so that they run in the order in which they were delayed.

local batch_adds = require("lib.batch_adds")
local clock = require("lib.clock")
local events = require("lib.events")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local ready = require("lib.ready")
local shapes = require("lib.shapes")
local signals = require("lib.signals")

local delays = {}

local SLOT = 4096
-- A worker's call promotes at most this many, so that Redis is not held by a burst coming due.
local MOST_PER_CALL = "500"

function delays.due_of(score)
  return math.floor(score / SLOT)
end

-- Check: the score for a due time.
function delays.place(q, due)
  local lowest = due * SLOT
  local highest = lowest + SLOT - 1
  local last = call("ZREVRANGEBYSCORE", q.delayed, clock.text(highest), clock.text(lowest), "WITHSCORES", "LIMIT", "0", "1")
  if #last == 0 then
    return lowest
  end
  return math.min(tonumber(last[2]) + 1, highest)
end

-- The same score for one more, behind others that are not written yet.
function delays.behind(score, others)
  return math.min(score + others, delays.due_of(score) * SLOT + SLOT - 1)
end

-- Write: puts the job there and says so.
function delays.put(q, id, score)
  call("ZADD", q.delayed, clock.text(score), id)
  events.capped(q, "delayed", "jobId", id, "delay", clock.text(delays.due_of(score)))
  signals.delay(q)
end

-- Of those that have come due, by number: the key, and the priority, false for one that is no job. Kept from call to call,
-- only as many as there are ids belong to this one.
local records, priorities = {}, {}

-- The number that was asked for last, was written last, was told of last.
local asked, written, told = 0, 0, 0

local function ask_priorities(q, ids, first)
  local prefix = keys.job(q, "")
  for i = first, #ids do
    local key = prefix .. ids[i]
    records[i], asked = key, i
    priorities[i] = call("HGET", key, "priority")
  end
end

-- Check. A key that holds something else is no job; a record without a priority may be one.
local function read_priorities(q, ids)
  asked = 0
  repeat
    local is_done, err = pcall(ask_priorities, q, ids, asked + 1)
    if not is_done then
      if not shapes.is_wrong_type(err) then
        error(err, 0)
      end
      priorities[asked] = false
    end
  until is_done
  for i = 1, #ids do
    local text = priorities[i]
    if text == "0" then
      priorities[i] = 0
    else
      priorities[i] = text and (tonumber(text) or 0) or jobs.priority(q, ids[i]) or false
    end
  end
end

-- Check: how many, from the first on, may be put where they belong, and what is wrong with the next.
local function count_movable(q, ids)
  local last
  for i = 1, #ids do
    local priority = priorities[i]
    if priority and priority ~= last then
      local is_fine, err = pcall(ready.check, q, priority)
      if not is_fine then
        return i - 1, err
      end
      last = priority
    end
  end
  return #ids, nil
end

-- Write: in two goes, see below.
local function write_all(count)
  for i = 1, count do
    if priorities[i] then
      call("HSET", records[i], "delay", "0")
    end
    written = i
  end
end

local function tell_all(q, ids, count)
  local stream = q.events
  for i = 1, count do
    local id, priority = ids[i], priorities[i]
    if priority then
      call("XADD", stream, "*", "event", "waiting", "jobId", id, "prev", "delayed")
      ready.enqueue(q, id, priority, false)
    end
    told = i
  end
end

-- One after the other: the first that cannot be moved keeps its place and those behind it theirs. A server is quickest at
-- doing the same again: all records are written before the first is told of. `ids` are the first ones of `delayed`.
local function promote(q, ids)
  if #ids == 0 then
    return
  end
  events.check(q)
  read_priorities(q, ids)
  local count, trouble = count_movable(q, ids)
  written, told = 0, 0
  batch_adds.open(q, #ids)
  local is_written, writing_error = pcall(write_all, count)
  local is_told, telling_error = pcall(tell_all, q, ids, written)
  batch_adds.flush(q)
  -- They were read as the first ones.
  if told > 0 then
    call("ZREMRANGEBYRANK", q.delayed, "0", clock.text(told - 1))
  end
  trouble = not is_told and telling_error or not is_written and writing_error or trouble
  if trouble then
    error(trouble, 0)
  end
end

-- Moves what is due to the ready order. An id whose record is gone is dropped: pushed on, it would come
-- back to life as an empty job.
function delays.promote_due(q)
  if q.has_no_delays and not q.has_delay then
    return 0
  end
  -- Mostly there is none, and a number is read quicker than an empty list.
  q.expects_delays = call("ZCARD", q.delayed) > 0
  if not q.expects_delays then
    return 0
  end
  local first = tonumber(call("ZRANGE", q.delayed, "0", "0", "WITHSCORES")[2])
  if not first or first >= (q.now + 1) * SLOT then
    return 0
  end
  local ids = call("ZRANGEBYSCORE", q.delayed, "-inf", clock.text((q.now + 1) * SLOT - 1), "LIMIT", "0", MOST_PER_CALL)
  promote(q, ids)
  return #ids
end

return delays
