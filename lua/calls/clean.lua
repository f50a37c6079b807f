--- clean: removes jobs of one state that are older than a moment
--- @arg    state    string   wait, paused, active, delayed, prioritized, completed or failed
--- @arg    cutoff   string   ms
--- @arg    limit    int      look at this many at most; 0 for all
--- @arg    most     int      how many jobs this call may remove
--- @reply  ids
local events = require("lib.events")
local items = require("lib.items")
local jobs = require("lib.jobs")
local lanes = require("lib.lanes")
local leases = require("lib.leases")
local queue = require("lib.queue")
local removal = require("lib.removal")
local schedules = require("lib.schedules")
local shapes = require("lib.shapes")

-- The moment a job's age is counted from, by the state it is in.
local function age_of(job, state)
  if state == "prioritized" then
    return job.timestamp
  end
  if state == "delayed" then
    return job.processed_on or job.timestamp
  end
  return job.finished_on or job.processed_on or job.timestamp
end

local function is_due(q, id, state, cutoff)
  local job = jobs.load(q, id)
  if not job then
    return true
  end
  if state == "active" and leases.is_held(q, id) then
    return false
  end
  if schedules.is_pending(q, id, job.schedule_id) then
    return false
  end
  local since = age_of(job, state)
  return not since or since <= cutoff
end

-- Ranges are counted in 32 bits on some servers; more than that is no limit.
local MOST_IN_RANGE = 2147483647

local function candidates(q, key, arg)
  if arg.state == "completed" or arg.state == "failed" then
    local most = arg.limit > 0 and math.min(arg.limit, arg.most) or arg.most
    return call("ZRANGEBYSCORE", key, "-inf", arg.cutoff, "LIMIT", 0, most), true
  end
  if arg.state == "delayed" or arg.state == "prioritized" then
    return call("ZRANGE", key, 0, arg.limit > 0 and arg.limit - 1 or -1), false
  end
  return call("LRANGE", key, arg.limit > 0 and -arg.limit or 0, -1), false
end

-- Ids that are read at once.
local STEP = 1000

-- What rests in lanes is waiting, and what waits there for its time is delayed. How many were looked at.
local function clean_lanes(q, arg, cleaned)
  if arg.state ~= "wait" and arg.state ~= "delayed" or not queue.settings(q).lanes then
    return 0
  end
  local not_yet = call("ZCARD", q.lane_delayed)
  local most = arg.state == "wait" and MOST_IN_RANGE - not_yet or not_yet
  if arg.limit > 0 then
    most = math.min(most, arg.limit)
  end
  -- What goes leaves its place to the one behind it; what stays is passed over.
  local looked, at = 0, arg.state == "wait" and not_yet or 0
  while looked < most and #cleaned < arg.most do
    local ids = call("ZRANGE", q.lane_waiting, at, at + math.min(STEP, most - looked) - 1)
    if #ids == 0 then
      break
    end
    for _, id in ipairs(ids) do
      if #cleaned >= arg.most then
        break
      end
      looked = looked + 1
      if not is_due(q, id, arg.state, tonumber(arg.cutoff)) then
        at = at + 1
      elseif removal.discard(q, nil, false, id) then
        cleaned[#cleaned + 1] = id
      else
        -- The end of one before it has let it out: it rests there no more.
        looked = looked - 1
      end
    end
  end
  return looked
end

local function told(q, cleaned)
  events.append(q, "cleaned", "count", #cleaned)
  return cleaned
end

return {
  run = function(q, arg)
    -- check
    events.check(q)
    shapes.check(q, arg.state)

    -- write
    if arg.limit > MOST_IN_RANGE then
      arg.limit = 0
    end
    local cleaned = {}
    -- First those that rest in lanes: the end of one that is out lets the next out.
    local looked = clean_lanes(q, arg, cleaned)
    if #cleaned >= arg.most or arg.limit > 0 and looked >= arg.limit then
      return told(q, cleaned)
    end
    arg.limit = arg.limit > 0 and arg.limit - looked or 0
    -- What was let out meanwhile is met in the ready order.
    lanes.push_all(q)
    local is_list = arg.state == "wait" or arg.state == "paused" or arg.state == "active"
    local key = q[arg.state]
    local ids, is_sure = candidates(q, key, arg)
    -- Lists are walked from the tail: the oldest first.
    for i = is_list and #ids or 1, is_list and 1 or #ids, is_list and -1 or 1 do
      if #cleaned >= arg.most then
        break
      end
      local id = ids[i]
      if is_sure or is_due(q, id, arg.state, tonumber(arg.cutoff)) then
        removal.discard(q, key, is_list, id)
        cleaned[#cleaned + 1] = id
      end
    end
    return told(q, cleaned)
  end,
  render = items.as_is,
}
