--- fail: active -> failed
--- The last attempt failed, or the failure was final. Retries are other transitions.
--- @arg   job_id      string
--- @arg   token       string
--- @arg   reason      string
--- @arg   stacktrace  string   JSON array; empty leaves what is stored
--- @arg   attempts    int      how many attempts the job may have
--- @arg   keep_count  string   how many failed jobs to keep; empty for all, 0 erases this one
--- @arg   keep_age    string   seconds to keep a failed job; empty for ever
--- @arg   keep_limit  string   how many old ones to delete at most; empty for the default
--- @reply ok | not_found | lease_missing | lease_lost | not_in_state
local events = require("lib.events")
local finish = require("lib.finish")
local jobs = require("lib.jobs")
local retention = require("lib.retention")

return function(q, arg)
  -- check
  local job, refusal = finish.check(q, arg)
  if not job then
    return refusal
  end
  finish.check_end(q, job, "failed")

  -- write
  if not finish.leave_active(q, job, arg.token) then
    return "not_in_state"
  end
  jobs.note_failure(q, job.id, arg.reason, arg.stacktrace)

  -- settle
  local keep = retention.of(arg.keep_count, arg.keep_age, arg.keep_limit)
  finish.record(q, job, "failed", arg.reason, keep)
  if not retention.keeps_none(keep) then
    jobs.unset(q, job.id, jobs.field.deferred_failure)
  end
  events.append(q, "failed", "jobId", job.id, "failedReason", arg.reason, "prev", "active")
  if job.attempts_made >= arg.attempts then
    events.append(q, "retries-exhausted", "jobId", job.id, "attemptsMade", tostring(job.attempts_made))
  end
  return "ok"
end
