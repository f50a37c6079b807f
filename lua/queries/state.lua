--- state: which state a job is in
--- @arg    job_id   string
--- @reply  the state, or unknown
local jobs = require("lib.jobs")

local NAMES = { wait = "waiting", paused = "waiting" }

return function(q, arg)
  local place = jobs.place(q, arg.job_id)
  return { place and (NAMES[place] or place) or "unknown" }
end
