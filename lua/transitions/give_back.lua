--- give_back: active -> waiting | prioritized
--- The worker returns the job unfinished (rate limit, shutdown, the handler's wish): it runs next, and neither
--- an attempt nor a stall is charged. One whose handler has not begun (no slot became free in time) is as it was before
--- it was fetched. A handler that steps aside while its job's group is being undone ends it; a job
--- that was interrupted runs again even then, because nobody knows what it has done.
--- @arg   job_id   string
--- @arg   token    string
--- @arg   is_wish  flag     the handler wanted it so
--- @arg   is_new   flag     the job has never begun
--- @reply ok | cancelled | not_found | lease_missing | lease_lost | not_in_state
local bonds = require("lib.bonds")
local events = require("lib.events")
local finish = require("lib.finish")
local jobs = require("lib.jobs")
local ready = require("lib.ready")
local signals = require("lib.signals")

return function(q, arg)
  -- check
  local job, refusal = finish.check(q, arg)
  if not job then
    return refusal
  end
  if arg.is_wish and bonds.is_ending(q, job) then
    return finish.withdraw(q, job, arg.token)
  end
  ready.check(q, job.priority)

  -- write
  if not finish.leave_active(q, job, arg.token) then
    return "not_in_state"
  end
  if job.priority > 0 then
    ready.push_prioritized_front(q, job.id, job.priority)
    -- Without a marker an idle worker would sleep on until its next poll.
    signals.work(q)
  else
    ready.push(q, job.id, true)
  end
  if arg.is_new then
    jobs.forget_start(job)
  end
  events.capped(q, "waiting", "jobId", job.id, "prev", "active")

  -- settle
  if arg.is_wish then
    bonds.waits(q, job)
  end
  return "ok"
end
