--- promote: delayed -> waiting | prioritized
--- A delayed job becomes runnable now.
--- @call
--- @arg   job_id   string
--- @reply ok | not_in_state
local events = require("lib.events")
local jobs = require("lib.jobs")
local ready = require("lib.ready")

return function(q, arg)
  -- check
  events.check(q)
  local job = jobs.load(q, arg.job_id)
  if not job or not call("ZSCORE", q.delayed, job.id) then
    return "not_in_state"
  end
  ready.check(q, job.priority)

  -- write
  call("ZREM", q.delayed, job.id)
  ready.enqueue(q, job.id, job.priority, false)
  events.append(q, "waiting", "jobId", job.id, "prev", "delayed")
  jobs.set(q, job.id, "delay", 0)
  return "ok"
end
