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

local function drop(q, arg)
  if arg.from == "wait" then
    call("RPOP", q.wait)
  else
    call("ZREM", q.prioritized, arg.job_id)
  end
end

local function read(q, id)
  local flat = jobs.read(q, id)
  if not flat then
    return nil
  end
  local record = {}
  for i = 1, #flat, 2 do
    record[flat[i]] = flat[i + 1]
  end
  return record, flat
end

return function(q, arg)
  -- check
  local id = arg.job_id
  local is_readable, record, flat = pcall(read, q, id)

  -- write
  if not is_readable or not record then
    drop(q, arg)
    return "ghost"
  end
  if arg.from == "wait" then
    call("LMOVE", q.wait, q.active, "RIGHT", "LEFT")
  else
    call("ZREM", q.prioritized, id)
    call("LPUSH", q.active, id)
  end
  leases.take(q, id, arg.token, arg.lease_ms)
  events.append(q, "active", "jobId", id, "prev", "waiting")
  local started = tostring((tonumber(record[jobs.field.attempts_started]) or 0) + 1)
  if arg.worker ~= "" then
    jobs.set(q, id, "processedOn", q.now_text, jobs.field.attempts_started, started, jobs.field.processed_by, arg.worker)
  else
    jobs.set(q, id, "processedOn", q.now_text, jobs.field.attempts_started, started)
  end
  return "claimed", flat, record
end
