--- counts: how many jobs are in each of the states asked for
--- @rest   states
--- @reply  a count for each
local collections = require("lib.collections")

return function(q, _, states)
  local counts = {}
  for i, state in ipairs(states) do
    counts[i] = collections.count(q, state)
  end
  return counts
end
