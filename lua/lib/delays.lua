-- Delayed jobs. A score is the due time in ms times 4096, plus a place among those due in the same
-- millisecond, so that they run in the order in which they were delayed.

local batch_adds = require("lib.batch_adds")
local clock = require("lib.clock")
local events = require("lib.events")
local jobs = require("lib.jobs")
local ready = require("lib.ready")
local signals = require("lib.signals")

local delays = {}

local SLOT = 4096
-- A worker's call promotes at most this many, so that Redis is not held by a burst coming due.
local MOST_PER_CALL = "1000"

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

-- One after the other: the first that cannot be moved keeps its place and those behind it theirs.
local function promote(q, ids)
  if #ids == 0 then
    return
  end
  events.check(q)
  batch_adds.open(q, #ids)
  local moved = {}
  local is_done, err = pcall(function()
    for i = 1, #ids do
      local id = ids[i]
      local priority = jobs.priority(q, id)
      if priority then
        ready.check(q, priority)
        ready.enqueue(q, id, priority, false)
        events.append(q, "waiting", "jobId", id, "prev", "delayed")
        jobs.set(q, id, "delay", "0")
      end
      moved[i] = id
    end
  end)
  batch_adds.flush(q)
  if #moved > 0 then
    call("ZREM", q.delayed, unpack(moved))
  end
  if not is_done then
    error(err, 0)
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
