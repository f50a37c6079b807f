--- promote: delayed -> waiting | prioritized
--- A delayed job becomes runnable now.
--- @call
--- @arg   job_id   string
--- @reply ok | not_in_state
local events = require("lib.events")
local jobs = require("lib.jobs")
local lane_times = require("lib.lane_times")
local lanes = require("lib.lanes")
local ready = require("lib.ready")

return function(q, arg)
  -- check
  events.check(q)
  local job = jobs.load(q, arg.job_id)
  local is_in_lane = job and lane_times.is_waiting(q, job.id)
  if not job or not is_in_lane and not call("ZSCORE", q.delayed, job.id) then
    return "not_in_state"
  end
  ready.check(q, job.priority)
  if is_in_lane and job.lane then
    lanes.check(q, job.lane)
  end

  -- write
  if is_in_lane then
    lane_times.promote(q, job.id)
    return "ok"
  end
  call("ZREM", q.delayed, job.id)
  ready.enqueue(q, job.id, job.priority, false)
  events.append(q, "waiting", "jobId", job.id, "prev", "delayed")
  jobs.set(q, job.id, "delay", 0)
  return "ok"
end
