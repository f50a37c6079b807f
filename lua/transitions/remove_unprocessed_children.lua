--- remove_unprocessed_children: any -> same
--- The children that have neither started nor failed are removed with all below them.
--- @call
--- @arg   job_id   string
--- @reply ok
local removal = require("lib.removal")

return function(q, arg)
  -- check
  local plans = removal.plan_unprocessed(q, arg.job_id)

  -- settle
  for _, plan in ipairs(plans) do
    removal.remove(plan)
  end
  return "ok"
end
