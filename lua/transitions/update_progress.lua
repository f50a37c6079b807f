--- update_progress: any -> same
--- @call
--- @arg   job_id     string
--- @arg   progress   bytes
--- @reply ok | not_found
local events = require("lib.events")
local jobs = require("lib.jobs")

return function(q, arg)
  -- check
  events.check(q)
  if not jobs.exists(q, arg.job_id) then
    return "not_found"
  end

  -- write
  jobs.set(q, arg.job_id, "progress", arg.progress)
  events.capped(q, "progress", "jobId", arg.job_id, "data", arg.progress)
  return "ok"
end
