-- The collections a job can lie in, by the names that people ask for.

local collections = {}

local LISTS = { wait = "wait", waiting = "wait", paused = "paused", active = "active" }
local ZSETS = {
  completed = "completed", failed = "failed", delayed = "delayed", prioritized = "prioritized",
  ["waiting-children"] = "waiting_children", ["repeat"] = "schedules",
}

-- The key of a state and whether it is a list; nil for a word that is no state.
function collections.of(q, state)
  if LISTS[state] then
    return q[LISTS[state]], true
  end
  return ZSETS[state] and q[ZSETS[state]], false
end

function collections.count(q, state)
  local key, is_list = collections.of(q, state)
  if not key then
    return 0
  end
  if not is_list then
    return call("ZCARD", key)
  end
  local count = call("LLEN", key)
  -- Very old clients kept a marker at the end of these lists.
  if count > 0 and state ~= "active" and string.sub(call("LINDEX", key, -1), 1, 2) == "0:" then
    count = count - 1
  end
  return count
end

-- Ids of a range. Lists run from newest to next; ascending is next first.
function collections.range(q, state, first, last, is_ascending)
  local key, is_list = collections.of(q, state)
  if not key then
    return {}
  end
  if not is_list then
    return call(is_ascending and "ZRANGE" or "ZREVRANGE", key, first, last)
  end
  if not is_ascending then
    return call("LRANGE", key, first, last)
  end
  local from = last == -1 and 0 or -(last + 1)
  local to = first == -1 and 0 or -(first + 1)
  local ids = call("LRANGE", key, from, to)
  local reversed = {}
  for i = #ids, 1, -1 do
    reversed[#reversed + 1] = ids[i]
  end
  return reversed
end

return collections
