--- finished: whether a job has finished, and with what
--- @arg    job_id   string
--- @reply  missing | unfinished | completed | failed, then the return value or the reason
local keys = require("lib.keys")

return function(q, arg)
  local key = keys.job(q, arg.job_id)
  if call("EXISTS", key) == 0 then
    return { "missing" }
  end
  if call("ZSCORE", q.completed, arg.job_id) then
    return { "completed", call("HGET", key, "returnvalue") or "" }
  end
  if call("ZSCORE", q.failed, arg.job_id) then
    return { "failed", call("HGET", key, "failedReason") or "" }
  end
  return { "unfinished" }
end
