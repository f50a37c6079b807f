--- give_back: active -> waiting | prioritized
--- The worker returns the job unfinished (rate limit, shutdown, the handler's wish): it runs next, and neither
--- an attempt nor a stall is charged.
--- @arg   job_id   string
--- @arg   token    string
--- @reply ok | not_found | lease_missing | lease_lost | not_in_state
local events = require("lib.events")
local finish = require("lib.finish")
local ready = require("lib.ready")
local signals = require("lib.signals")

return function(q, arg)
  -- check
  local job, refusal = finish.check(q, arg)
  if not job then
    return refusal
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
  events.capped(q, "waiting", "jobId", job.id, "prev", "active")
  return "ok"
end
