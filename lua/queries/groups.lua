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
  -- Open and not being undone. `open` is in the order in which groups are looked after; the list knows their age.
  local open = call("ZINTER", 2, keys.groups(home), keys.groups_of(home, "open"), "WEIGHTS", 1, 0)
  local is_undone = {}
  for _, id in ipairs(call("ZRANGE", keys.groups_of(home, "COMPENSATING"), 0, -1)) do
    is_undone[id] = true
  end
  local active = {}
  for i = #open, 1, -1 do
    if not is_undone[open[i]] then
      active[#active + 1] = open[i]
    end
  end
  local first = arg.first < 0 and math.max(#active + arg.first, 0) or arg.first
  local last = arg.last < 0 and #active + arg.last or math.min(arg.last, #active - 1)
  local page = {}
  for i = first, last do
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
