--- add_log: any -> same
--- @call  refuses-when-full
--- @arg   job_id   string
--- @arg   row      string
--- @arg   keep     int      how many rows to keep; 0 for all
--- @reply ok | not_found
local jobs = require("lib.jobs")
local keys = require("lib.keys")

return function(q, arg)
  -- check
  if not jobs.exists(q, arg.job_id) then
    return "not_found"
  end
  local logs = keys.of_job(q, arg.job_id, "logs")

  -- write
  local count = call("RPUSH", logs, arg.row)
  if arg.keep > 0 then
    call("LTRIM", logs, -arg.keep, -1)
    count = math.min(arg.keep, count)
  end
  return "ok", count
end
