--- delay: active -> delayed
--- A failed attempt backs off, or the handler postpones its own job (which costs no attempt).
--- @arg   job_id       string
--- @arg   token        string
--- @arg   delay        int      ms from now
--- @arg   is_attempt   flag     counts as an attempt
--- @arg   reason       string
--- @arg   stacktrace   string   JSON array; empty leaves what is stored
--- @reply ok | not_found | lease_missing | lease_lost | not_in_state
local clock = require("lib.clock")
local delays = require("lib.delays")
local finish = require("lib.finish")
local jobs = require("lib.jobs")
local lanes = require("lib.lanes")
local events = require("lib.events")

return function(q, arg)
  -- check
  local job, refusal = finish.check(q, arg)
  if not job then
    return refusal
  end
  local score = delays.place(q, q.now + arg.delay)
  -- A job of a lane stays out and its lane waits for it, unless failing jobs are to step aside.
  local is_skipped = job.lane and arg.is_attempt and lanes.skips(q)
  if is_skipped then
    lanes.check(q, job.lane)
  end

  -- write
  if not finish.leave_active(q, job, arg.token) then
    return "not_in_state"
  end
  jobs.note_failure(q, job.id, arg.reason, arg.stacktrace)
  if arg.is_attempt then
    jobs.set(q, job.id, jobs.field.attempts_made, tostring(job.attempts_made + 1), "delay", clock.text(arg.delay))
  else
    jobs.set(q, job.id, "delay", clock.text(arg.delay))
  end
  if is_skipped then
    local due = q.now + arg.delay
    lanes.skip(q, job, due)
    events.capped(q, "delayed", "jobId", job.id, "delay", clock.text(due))
  else
    delays.put(q, job.id, score)
  end
  return "ok"
end
