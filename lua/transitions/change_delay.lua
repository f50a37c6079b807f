--- change_delay: delayed -> delayed
--- @call
--- @arg   job_id   string
--- @arg   delay    int      ms from now
--- @reply ok | not_found | not_in_state
local delays = require("lib.delays")
local events = require("lib.events")
local jobs = require("lib.jobs")
local lane_times = require("lib.lane_times")

return function(q, arg)
  -- check
  events.check(q)
  if not jobs.exists(q, arg.job_id) then
    return "not_found"
  end
  local score = delays.place(q, q.now + arg.delay)
  local is_in_lane = lane_times.is_waiting(q, arg.job_id)
  if not is_in_lane and not call("ZSCORE", q.delayed, arg.job_id) then
    return "not_in_state"
  end

  -- write
  jobs.set(q, arg.job_id, "delay", arg.delay)
  if is_in_lane then
    lane_times.put(q, arg.job_id, q.now + arg.delay)
  else
    delays.put(q, arg.job_id, score)
  end
  return "ok"
end
