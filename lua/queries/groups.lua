--- groups: ids of the groups at home here, newest first, and how many there are in each state
--- @arg    state   string   empty for all
--- @arg    first   int
--- @arg    last    int
--- @reply  ids; counts of ACTIVE, COMPENSATING, COMPLETED, FAILED, FAILED_COMPENSATION
local keys = require("lib.keys")

local function ids_of(home, arg)
  if arg.state == "" then
    return call("ZREVRANGE", keys.groups(home), arg.first, arg.last)
  end
  if arg.state ~= "ACTIVE" then
    return call("ZREVRANGE", keys.groups_of(home, arg.state), arg.first, arg.last)
  end
  -- Open and not being undone. Open groups come in the order in which they are looked after.
  local active = call("ZDIFF", 2, keys.groups_of(home, "open"), keys.groups_of(home, "COMPENSATING"))
  local page = {}
  local last = arg.last < 0 and #active + arg.last or arg.last
  for i = arg.first, math.min(last, #active - 1) do
    page[#page + 1] = active[i + 1]
  end
  return page
end

return function(home, arg)
  local function count(word)
    return call("ZCARD", keys.groups_of(home, word))
  end
  local undone = count("COMPENSATING")
  return { ids_of(home, arg), { count("open") - undone, undone, count("COMPLETED"), count("FAILED"), count("FAILED_COMPENSATION") } }
end
