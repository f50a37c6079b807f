--- claim: waiting | prioritized -> active
--- The next ready job becomes this worker's: leased, counted as started, announced. An id without a record
--- (or with something else in its place) is dropped, so that it can never block those behind it.
--- @arg   job_id     string
--- @arg   from       string   wait or prioritized
--- @arg   token      string
--- @arg   lease_ms   string
--- @arg   worker     string   the worker's name; empty for none
--- @reply claimed | ghost
local events = require("lib.events")
local jobs = require("lib.jobs")
local leases = require("lib.leases")
local shapes = require("lib.shapes")

local STARTED, DEFERRED = jobs.field.attempts_started, jobs.field.deferred_failure

local function drop(q, arg)
  if arg.from == "wait" then
    call("RPOP", q.wait)
  else
    call("ZREM", q.prioritized, arg.job_id)
  end
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

  -- write
  if not flat then
    drop(q, arg)
    return "ghost"
  end
  local started, bytes, is_deferred = "1", 0, false
  for i = 1, #flat, 2 do
    local field = flat[i]
    if field == "data" then
      bytes = #flat[i + 1]
    elseif field == STARTED then
      started = tostring((tonumber(flat[i + 1]) or 0) + 1)
    elseif field == DEFERRED then
      is_deferred = true
    end
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
  return "claimed", flat, bytes, is_deferred
end
