--- delay: active -> delayed
--- A failed attempt backs off, or the handler postpones its own job (which costs no attempt). Where the job's group
--- is being undone, the failed attempt was the last, and the postponed job is taken out.
--- @arg   job_id       string
--- @arg   token        string
--- @arg   delay        int      ms from now
--- @arg   is_attempt   flag     counts as an attempt
--- @arg   reason       string
--- @arg   stacktrace   string   JSON array; empty leaves what is stored
--- @arg   attempts     int      how many attempts the job may have
--- @arg   keep_count   string   what is kept of failed jobs, should this be its end
--- @arg   keep_age     string
--- @arg   keep_limit   string
--- @reply ok | failed | cancelled | not_found | lease_missing | lease_lost | not_in_state
local bonds = require("lib.bonds")
local clock = require("lib.clock")
local delays = require("lib.delays")
local events = require("lib.events")
local finish = require("lib.finish")
local jobs = require("lib.jobs")
local lanes = require("lib.lanes")
local shapes = require("lib.shapes")
local fail = require("transitions.fail")

return function(q, arg)
  -- check
  local job, refusal = finish.check(q, arg)
  if not job then
    return refusal
  end
  if bonds.is_ending(q, job) then
    if not arg.is_attempt then
      return finish.withdraw(q, job, arg.token)
    end
    local word = fail(q, arg)
    return word == "ok" and "failed" or word
  end
  local score = delays.place(q, q.now + arg.delay)
  -- A job of a lane stays out and its lane waits for it, unless failing jobs are to step aside.
  local is_skipped = job.lane and arg.is_attempt and lanes.skips(q)
  if is_skipped then
    lanes.check(q, job.lane)
    shapes.check(q, "lane_delayed")
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

  -- settle
  bonds.waits(q, job)
  return "ok"
end
