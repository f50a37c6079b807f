--- claim: waiting | prioritized -> active
--- The next ready job becomes this worker's: leased, counted as started, announced. An id without a record
--- (or with something else in its place) is dropped, so that it can never block those behind it. A member of a group
--- that has been cancelled, or has its outcome already, does not run again. A job of a lane whose turn it is not goes
--- back into its lane: it came by a door that knows nothing of lanes.
--- @arg   job_id     string
--- @arg   from       string   wait or prioritized
--- @arg   token      string
--- @arg   lease_ms   string
--- @arg   worker     string   the worker's name; empty for none
--- @reply claimed | ghost | withheld | turned_back
local events = require("lib.events")
local groups = require("lib.groups")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local lanes = require("lib.lanes")
local leases = require("lib.leases")
local shapes = require("lib.shapes")

local STARTED, DEFERRED = jobs.field.attempts_started, jobs.field.deferred_failure
local GROUP, LANE = jobs.field.group, jobs.field.lane

local function drop(q, arg)
  if arg.from == "wait" then
    call("RPOP", q.wait)
  else
    call("ZREM", q.prioritized, arg.job_id)
  end
end

-- A settled member is put where it belongs, a cancelled one is erased.
local function withhold(q, arg, status, job)
  drop(q, arg)
  if status == "cancelled" then
    jobs.erase(q, arg.job_id)
    events.capped(q, "removed", "jobId", arg.job_id, "prev", arg.from)
  else
    call("ZADD", status == "completed" and q.completed or q.failed, q.now_text, arg.job_id)
  end
  if job then
    lanes.removed(q, job)
  end
  return "withheld"
end

-- The job as its lane knows it.
local function in_lane(q, id, flat)
  local job = { id = id, key = keys.job(q, id) }
  for i = 1, #flat, 2 do
    local field, value = flat[i], flat[i + 1]
    if field == LANE then
      job.lane = value
    elseif field == jobs.field.order then
      job.order = value
    elseif field == jobs.field.lane_sequence then
      job.sequence = value
    elseif field == STARTED then
      job.has_run = true
    end
  end
  job.order = job.order or "0"
  return job
end

return function(q, arg)
  -- check
  local id = arg.job_id
  local flat = jobs.read(q, id)
  events.check(q)
  local started, bytes, is_deferred, has_lane, tie = "1", 0, false, false, nil
  for i = 1, flat and #flat or 0, 2 do
    local field = flat[i]
    if field == "data" then
      bytes = #flat[i + 1]
    elseif field == STARTED then
      started = tostring((tonumber(flat[i + 1]) or 0) + 1)
    elseif field == DEFERRED then
      is_deferred = true
    elseif field == LANE then
      has_lane = true
    elseif field == GROUP then
      tie = flat[i + 1]
    end
  end
  local status, statuses
  if tie then
    status, statuses = groups.gate(q, id, tie)
  end
  local is_withheld = status and status ~= "pending" and status ~= "active"
  if is_withheld then
    shapes.check(q, "completed", "failed")
  end
  local job, gate
  if has_lane then
    job = in_lane(q, id, flat)
    gate = lanes.gate(q, job)
    if gate ~= "pass" or is_withheld then
      lanes.check(q, job.lane)
    end
  end
  -- From `wait` the move itself is the first write and fails whole; from `prioritized` it takes two.
  if arg.from ~= "wait" then
    shapes.check(q, "active")
  end

  -- write
  if not flat then
    drop(q, arg)
    return "ghost"
  end
  if is_withheld then
    return withhold(q, arg, status, job)
  end
  if gate == "back" then
    drop(q, arg)
    lanes.turn_back(q, job)
    return "turned_back"
  end
  if arg.from == "wait" then
    call("LMOVE", q.wait, q.active, "RIGHT", "LEFT")
  else
    call("ZREM", q.prioritized, id)
    call("LPUSH", q.active, id)
  end
  if gate == "enter" then
    lanes.let_in(q, job)
  end
  leases.take(q, id, arg.token, arg.lease_ms)
  events.append(q, "active", "jobId", id, "prev", "waiting")
  if arg.worker ~= "" then
    jobs.set(q, id, "processedOn", q.now_text, STARTED, started, jobs.field.processed_by, arg.worker)
  else
    jobs.set(q, id, "processedOn", q.now_text, STARTED, started)
  end

  -- settle
  if status == "pending" then
    call("HSET", statuses, keys.job(q, id), "active")
  end
  return "claimed", flat, bytes, is_deferred
end
