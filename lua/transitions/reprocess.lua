--- reprocess: completed | failed -> waiting | prioritized
--- A finished job runs again, with its data and its history of failures.
--- @call
--- @arg   job_id          string
--- @arg   from            string   completed or failed
--- @arg   is_next         flag     the job was added last-in first-out
--- @arg   resets_made     flag     forget the attempts made
--- @arg   resets_started  flag     forget the attempts started
--- @reply ok | not_found | not_in_state | group_member | compensation
local bonds = require("lib.bonds")
local events = require("lib.events")
local jobs = require("lib.jobs")
local lanes = require("lib.lanes")
local ready = require("lib.ready")

return function(q, arg)
  -- check
  events.check(q)
  local job = jobs.load(q, arg.job_id)
  if not job then
    return "not_found"
  end
  local set = arg.from == "completed" and q.completed or q.failed
  if not call("ZSCORE", set, job.id) then
    return "not_in_state"
  end
  ready.check(q, job.priority)
  bonds.check(q, job)
  local refusal = bonds.retry_refusal(job)
  if refusal then
    return refusal
  end

  -- write
  call("ZREM", set, job.id)
  local forgotten = { "finishedOn", "processedOn", arg.from == "completed" and "returnvalue" or "failedReason" }
  if arg.resets_made then
    forgotten[#forgotten + 1] = jobs.field.attempts_made
  end
  if arg.resets_started then
    forgotten[#forgotten + 1] = jobs.field.attempts_started
  end
  jobs.unset(q, job.id, unpack(forgotten))
  if job.lane then
    lanes.enter(q, job)
  else
    ready.enqueue(q, job.id, job.priority, arg.is_next)
  end
  events.capped(q, "waiting", "jobId", job.id, "prev", arg.from)

  -- settle
  bonds.reprocessed(q, job, arg.from)
  return "ok"
end
