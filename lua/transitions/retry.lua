--- retry: active -> waiting | prioritized
--- An attempt failed and the next one may start at once. Where its group is being undone, the job fails instead.
--- @arg   job_id      string
--- @arg   token       string
--- @arg   is_next     flag     the job was added last-in first-out
--- @arg   reason      string
--- @arg   stacktrace  string   JSON array; empty leaves what is stored
--- @arg   attempts    int      how many attempts the job may have
--- @arg   keep_count  string   what is kept of failed jobs, should this be its end
--- @arg   keep_age    string
--- @arg   keep_limit  string
--- @reply ok | failed | not_found | lease_missing | lease_lost | not_in_state
local bonds = require("lib.bonds")
local events = require("lib.events")
local finish = require("lib.finish")
local jobs = require("lib.jobs")
local lanes = require("lib.lanes")
local ready = require("lib.ready")
local fail = require("transitions.fail")

return function(q, arg)
  -- check
  local job, refusal = finish.check(q, arg)
  if not job then
    return refusal
  end
  if bonds.is_ending(q, job) then
    local word = fail(q, arg)
    return word == "ok" and "failed" or word
  end
  ready.check(q, job.priority)
  local is_skipped = job.lane and lanes.skips(q)
  if is_skipped then
    lanes.check(q, job.lane)
  end

  -- write
  if not finish.leave_active(q, job, arg.token) then
    return "not_in_state"
  end
  jobs.note_failure(q, job.id, arg.reason, arg.stacktrace)
  if is_skipped then
    lanes.skip(q, job)
  else
    ready.enqueue(q, job.id, job.priority, arg.is_next)
  end
  jobs.set(q, job.id, jobs.field.attempts_made, tostring(job.attempts_made + 1))
  events.capped(q, "waiting", "jobId", job.id, "prev", "active")

  -- settle
  bonds.waits(q, job)
  return "ok"
end
