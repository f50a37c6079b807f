--- update_data: any -> same
--- @call  refuses-when-full
--- @arg   job_id   string
--- @arg   data     bytes
--- @reply ok | not_found
local jobs = require("lib.jobs")

return function(q, arg)
  -- check
  if not jobs.exists(q, arg.job_id) then
    return "not_found"
  end

  -- write
  jobs.set(q, arg.job_id, "data", arg.data)
  return "ok"
end
