--- claim: waiting | prioritized -> active
--- The next ready job becomes this worker's: leased, counted as started, announced. An id without a record
--- (or with something else in its place) is dropped, so that it can never block those behind it. A member of a group
--- that has been cancelled, or has its outcome already, does not run again.
--- @arg   job_id     string
--- @arg   from       string   wait or prioritized
--- @arg   token      string
--- @arg   lease_ms   string
--- @arg   worker     string   the worker's name; empty for none
--- @reply claimed | ghost | withheld
local events = require("lib.events")
local groups = require("lib.groups")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local leases = require("lib.leases")
local shapes = require("lib.shapes")

local STARTED, DEFERRED, GROUP = jobs.field.attempts_started, jobs.field.deferred_failure, jobs.field.group

local function drop(q, arg)
  if arg.from == "wait" then
    call("RPOP", q.wait)
  else
    call("ZREM", q.prioritized, arg.job_id)
  end
end

-- A settled member is put where it belongs, a cancelled one is erased.
local function withhold(q, arg, status)
  drop(q, arg)
  if status == "cancelled" then
    jobs.erase(q, arg.job_id)
    events.capped(q, "removed", "jobId", arg.job_id, "prev", arg.from)
  else
    call("ZADD", status == "completed" and q.completed or q.failed, q.now_text, arg.job_id)
  end
  return "withheld"
end

return function(q, arg)
  -- check
  local id = arg.job_id
  local flat = jobs.read(q, id)
  events.check(q)
  -- From `wait` the move itself is the first write and fails whole; from `prioritized` it takes two.
  if arg.from ~= "wait" then
    shapes.check(q, "active")
  end

  local started, bytes, is_deferred, tie = "1", 0, false, nil
  for i = 1, flat and #flat or 0, 2 do
    local field = flat[i]
    if field == "data" then
      bytes = #flat[i + 1]
    elseif field == STARTED then
      started = tostring((tonumber(flat[i + 1]) or 0) + 1)
    elseif field == DEFERRED then
      is_deferred = true
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

  -- write
  if not flat then
    drop(q, arg)
    return "ghost"
  end
  if is_withheld then
    return withhold(q, arg, status)
  end
  if arg.from == "wait" then
    call("LMOVE", q.wait, q.active, "RIGHT", "LEFT")
  else
    call("ZREM", q.prioritized, id)
    call("LPUSH", q.active, id)
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
