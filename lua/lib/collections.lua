-- The collections a job can lie in, by the names that people ask for.

local queue = require("lib.queue")

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

-- Jobs that rest in lanes are waiting, and those that wait there for their time are delayed. All of them are in one
-- zset, those whose time has not come first. The ranks that belong to a state: from, and how many; nil for none.
local function in_lanes(q, state)
  if LISTS[state] ~= "wait" and state ~= "delayed" or not queue.settings(q).lanes then
    return nil
  end
  local not_yet = call("ZCARD", q.lane_delayed)
  if state == "delayed" then
    return 0, not_yet
  end
  return not_yet, math.max(call("ZCARD", q.lane_waiting) - not_yet, 0)
end

local function count(q, state, key, is_list)
  if not is_list then
    return call("ZCARD", key)
  end
  local length = call("LLEN", key)
  -- Very old clients kept a marker at the end of these lists.
  if length > 0 and state ~= "active" and string.sub(call("LINDEX", key, -1), 1, 2) == "0:" then
    length = length - 1
  end
  return length
end

function collections.count(q, state)
  local key, is_list = collections.of(q, state)
  if not key then
    return 0
  end
  local _, laned = in_lanes(q, state)
  return count(q, state, key, is_list) + (laned or 0)
end

local function reversed(ids)
  local turned = {}
  for i = #ids, 1, -1 do
    turned[#turned + 1] = ids[i]
  end
  return turned
end

local function range(key, is_list, first, last, is_ascending)
  if not is_list then
    return call(is_ascending and "ZRANGE" or "ZREVRANGE", key, first, last)
  end
  if not is_ascending then
    return call("LRANGE", key, first, last)
  end
  local from = last == -1 and 0 or -(last + 1)
  local to = first == -1 and 0 or -(first + 1)
  return reversed(call("LRANGE", key, from, to))
end

-- A range of those in lanes: `count_in_lanes` from rank `from` on.
local function range_in_lanes(q, from, count_in_lanes, first, last, is_ascending)
  first, last = math.max(first, 0), math.min(last, count_in_lanes - 1)
  if first > last then
    return {}
  end
  if is_ascending then
    return call("ZRANGE", q.lane_waiting, from + first, from + last)
  end
  local top = from + count_in_lanes - 1
  return reversed(call("ZRANGE", q.lane_waiting, top - last, top - first))
end

-- Ids of a range. Lists run from newest to next; ascending is next first. What is in lanes follows.
function collections.range(q, state, first, last, is_ascending)
  local key, is_list = collections.of(q, state)
  if not key then
    return {}
  end
  local from, laned = in_lanes(q, state)
  if not laned or laned == 0 then
    return range(key, is_list, first, last, is_ascending)
  end
  local before = count(q, state, key, is_list)
  first = first < 0 and math.max(first + before + laned, 0) or first
  last = last < 0 and last + before + laned or last
  local ids = first < before and last >= first and range(key, is_list, first, math.min(last, before - 1), is_ascending) or {}
  for _, id in ipairs(range_in_lanes(q, from, laned, first - before, last - before, is_ascending)) do
    ids[#ids + 1] = id
  end
  return ids
end

return collections
