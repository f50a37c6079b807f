--- change_delay: delayed -> delayed
--- @call
--- @arg   job_id   string
--- @arg   delay    int      ms from now
--- @reply ok | not_found | not_in_state
local delays = require("lib.delays")
local events = require("lib.events")
local jobs = require("lib.jobs")

return function(q, arg)
  -- check
  events.check(q)
  if not jobs.exists(q, arg.job_id) then
    return "not_found"
  end
  local score = delays.place(q, q.now + arg.delay)
  if not call("ZSCORE", q.delayed, arg.job_id) then
    return "not_in_state"
  end

  -- write
  jobs.set(q, arg.job_id, "delay", arg.delay)
  delays.put(q, arg.job_id, score)
  return "ok"
end
