--- ranges: ids of the states asked for
--- @arg    first          int
--- @arg    last           int
--- @arg    is_ascending   flag
--- @rest   states
--- @reply  a list of ids for each
local collections = require("lib.collections")

return function(q, arg, states)
  local ranges = {}
  for i, state in ipairs(states) do
    ranges[i] = collections.range(q, state, arg.first, arg.last, arg.is_ascending)
  end
  return ranges
end
