-- What lanes wait for by the clock: jobs that enter their lane when they are due, and lanes whose first job is held
-- back by the ordering delay.

local clock = require("lib.clock")
local events = require("lib.events")
local jobs = require("lib.jobs")
local lane_rules = require("lib.lane_rules")
local lane_state = require("lib.lane_state")
local lanes = require("lib.lanes")
local queue = require("lib.queue")

local lane_times = {}

-- One call takes at most this many, so that Redis is not held by a burst coming due.
local MOST_PER_CALL = "1000"

local function due_now(q, key)
  return call("ZRANGEBYSCORE", key, "-inf", q.now_text, "LIMIT", "0", MOST_PER_CALL)
end

-- All that are due come to rest before the first goes out, so that those of one lane go in its order.
local function admit(q, ids)
  local found, order = {}, {}
  for _, id in ipairs(ids) do
    local job = jobs.load(q, id)
    if job and job.lane then
      lanes.check(q, job.lane)
    end
    call("ZREM", q.lane_delayed, id)
    if job and job.lane then
      lanes.arrive(q, job)
      jobs.set(q, id, "delay", "0")
      events.append(q, "waiting", "jobId", id, "prev", "delayed", "lane", job.lane)
      if not found[job.lane] then
        found[job.lane] = true
        order[#order + 1] = job.lane
      end
    else
      lane_state.set_waiting(q, id, false)
    end
  end
  for _, name in ipairs(order) do
    lanes.release(q, name)
  end
end

function lane_times.promote_due(q)
  if lane_rules.of(q).uses_delayed then
    local ids = due_now(q, q.lane_delayed)
    if #ids > 0 then
      events.check(q)
      admit(q, ids)
    end
  end
  if lane_rules.of(q).uses_held then
    for _, name in ipairs(due_now(q, q.lane_held)) do
      lanes.check(q, name)
      call("ZREM", q.lane_held, name)
      lanes.release(q, name)
    end
  end
end

-- Check: whether the job waits there for its time.
function lane_times.is_waiting(q, id)
  return queue.settings(q).lanes and lane_rules.of(q).uses_delayed and call("ZSCORE", q.lane_delayed, id) and true or false
end

-- Write: the job enters its lane now.
function lane_times.promote(q, id)
  admit(q, { id })
end

-- The same for many, earliest first; how many there were.
function lane_times.promote_many(q, most)
  local ids = call("ZRANGE", q.lane_delayed, 0, most - 1)
  admit(q, ids)
  return #ids
end

-- Write: the job, which is nowhere or waits for its time, is due then.
function lane_times.put(q, id, due)
  lanes.postpone(q, id, due)
  events.capped(q, "delayed", "jobId", id, "delay", clock.text(due))
end

return lane_times
