--- release_dedup: any -> same
--- The deduplication id becomes free if this job still stands for it.
--- @call
--- @arg   job_id     string
--- @arg   dedup_id   string
--- @reply ok | unrelated
local keys = require("lib.keys")

return function(q, arg)
  -- check
  local holder = keys.dedup_holder(q, arg.dedup_id)
  if call("GET", holder) ~= arg.job_id then
    return "unrelated"
  end

  -- write
  call("DEL", holder)
  return "ok"
end
