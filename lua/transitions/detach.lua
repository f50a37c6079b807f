--- detach: any -> same
--- A child leaves its parent; if it was the last one the parent waited for, the parent becomes ready.
--- @call
--- @arg   job_id       string
--- @arg   parent_key   string
--- @reply ok | unrelated | not_found | parent_missing
local flows = require("lib.flows")
local jobs = require("lib.jobs")
local keys = require("lib.keys")

return function(q, arg)
  -- check
  if not jobs.exists(q, arg.job_id) then
    return "not_found"
  end
  if call("EXISTS", arg.parent_key) == 0 then
    return "parent_missing"
  end
  local job_key = keys.job(q, arg.job_id)
  if call("SISMEMBER", arg.parent_key .. keys.tail.dependencies, job_key) == 0 then
    return "unrelated"
  end

  -- settle
  flows.child_removed(q, job_key, arg.parent_key, false)
  jobs.unset(q, arg.job_id, "parentKey", "parent")
  return "ok"
end
