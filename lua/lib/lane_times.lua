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
local MOST_PER_CALL = "500"
-- Lanes that were held back go on in one call until so many jobs have been let out.
local MOST_RELEASED = 1000

local function due_now(q, key)
  return call("ZRANGEBYSCORE", key, "-inf", q.now_text, "LIMIT", "0", MOST_PER_CALL)
end

-- Write: the job comes to rest in its lane, or is forgotten if it is none of any lane. The lane that it came to. It leaves
-- its old place last: where it cannot come to rest it stays there.
local function enter(q, id)
  local job = jobs.load(q, id)
  local name = job and job.lane
  if name then
    lanes.check(q, name)
    lanes.arrive(q, job)
    jobs.set(q, id, "delay", "0")
    events.append(q, "waiting", "jobId", id, "prev", "delayed", "lane", name)
  else
    lane_state.set_waiting(q, id, false)
  end
  call("ZREM", q.lane_delayed, id)
  return name
end

-- All that are due come to rest before the first goes out, so that those of one lane go in its order. Each on its own: a
-- fetch comes this way, and one lane that cannot be read must not keep every worker from its jobs. What cannot be admitted
-- is due again later. The first trouble, or nil.
local function admit(q, ids)
  local found, order, trouble = {}, {}, nil
  for _, id in ipairs(ids) do
    local is_done, name = pcall(enter, q, id)
    if not is_done then
      trouble = trouble or name
      call("ZADD", q.lane_delayed, "XX", clock.text(q.now + lanes.try_again_ms), id)
    elseif name and not found[name] then
      found[name] = true
      order[#order + 1] = name
    end
  end
  for _, name in ipairs(order) do
    local is_done, err = pcall(lanes.release, q, name)
    trouble = trouble or not is_done and err or nil
  end
  return trouble
end

-- The same for whoever asks for it: the others are admitted, and the trouble is told.
local function admit_or_tell(q, ids)
  local trouble = admit(q, ids)
  if trouble then
    error(trouble, 0)
  end
end

local function go_on(q, name)
  lanes.check(q, name)
  call("ZREM", q.lane_held, name)
  return lanes.release(q, name)
end

-- The same of lanes whose first job was held back. Where they let many out, the others are still due at the next call.
local function admit_held(q, names)
  local count = 0
  for _, name in ipairs(names) do
    local is_done, released = pcall(go_on, q, name)
    if is_done then
      count = count + released
    else
      call("ZADD", q.lane_held, clock.text(q.now + lanes.try_again_ms), name)
    end
    if count >= MOST_RELEASED then
      break
    end
  end
end

function lane_times.promote_due(q)
  local rules = lane_rules.of(q)
  if rules.uses_delayed then
    local ids = due_now(q, q.lane_delayed)
    if #ids > 0 then
      events.check(q)
      lane_state.check_keys(q)
      admit(q, ids)
    end
  end
  if rules.uses_held then
    admit_held(q, due_now(q, q.lane_held))
  end
end

-- Check: whether the job waits there for its time.
function lane_times.is_waiting(q, id)
  return queue.settings(q).lanes and lane_rules.of(q).uses_delayed and call("ZSCORE", q.lane_delayed, id) and true or false
end

-- Write: the job enters its lane now.
function lane_times.promote(q, id)
  admit_or_tell(q, { id })
end

-- The same for many, earliest first; how many there were.
function lane_times.promote_many(q, most)
  local ids = call("ZRANGE", q.lane_delayed, 0, most - 1)
  admit_or_tell(q, ids)
  return #ids
end

-- Write: the job, which is nowhere or waits for its time, is due then.
function lane_times.put(q, id, due)
  lanes.postpone(q, id, due)
  events.capped(q, "delayed", "jobId", id, "delay", clock.text(due))
end

return lane_times
