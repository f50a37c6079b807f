--- reclaim: active -> waiting
--- A suspect whose lease is gone runs again, next. Over the limit it is marked to fail when it is fetched, so
--- that retention, parents and events take their normal way.
--- @arg   job_id       string
--- @arg   max_stalls   int
--- @reply ok | ghost | leased | not_in_state
local events = require("lib.events")
local jobs = require("lib.jobs")
local leases = require("lib.leases")
local ready = require("lib.ready")
local schedules = require("lib.schedules")

return function(q, arg)
  -- check
  local id = arg.job_id
  if leases.is_held(q, id) then
    return "leased"
  end
  local job = jobs.load(q, id)
  local is_spared = job and schedules.is_live(q, job.schedule_id)
  events.check(q)
  ready.check(q, 0)

  -- write
  if call("LREM", q.active, 1, id) == 0 then
    return "not_in_state"
  end
  if not job then
    return "ghost"
  end
  local stalls = job.stalled_count + 1
  if stalls > arg.max_stalls and not is_spared then
    jobs.set(q, id, jobs.field.stalled_count, stalls, jobs.field.deferred_failure, "job stalled more than allowable limit")
  else
    jobs.set(q, id, jobs.field.stalled_count, stalls)
  end
  ready.push(q, id, true)
  events.append(q, "waiting", "jobId", id, "prev", "active")
  events.append(q, "stalled", "jobId", id)
  return "ok"
end
