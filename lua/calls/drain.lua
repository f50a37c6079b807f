--- drain: removes what waits, and what is delayed where asked
--- The pending iterations of schedulers stay. Bounded; called again until nothing is left.
--- @arg    with_delayed   flag
--- @arg    most           int    how many jobs this call may remove
--- @reply  how many were removed
local items = require("lib.items")
local lanes = require("lib.lanes")
local queue = require("lib.queue")
local removal = require("lib.removal")
local shapes = require("lib.shapes")

-- Walks a list from its tail, past what stays.
local function drain_list(q, key, most)
  local removed, kept = 0, 0
  while removed < most do
    local ids = call("LRANGE", key, removed - kept - most, -kept - 1)
    if #ids == 0 then
      break
    end
    for i = #ids, 1, -1 do
      if removal.is_kept(q, ids[i]) then
        kept = kept + 1
      else
        removal.discard(q, key, true, ids[i])
        removed = removed + 1
      end
    end
  end
  return removed
end

-- `at` is where to begin; what rests in lanes has no collection that it is to be taken from (`from` is nil).
local function drain_zset(q, key, from, at, most)
  local removed = 0
  while removed < most do
    local ids = call("ZRANGE", key, at, at + most - removed - 1)
    if #ids == 0 then
      break
    end
    for _, id in ipairs(ids) do
      if removal.is_kept(q, id) then
        at = at + 1
      else
        removed = removed + (removal.discard(q, from, false, id) and 1 or 0)
      end
    end
  end
  return removed
end

-- What waits for its time comes first there.
local function drain_lanes(q, with_delayed, most)
  return drain_zset(q, q.lane_waiting, nil, with_delayed and 0 or call("ZCARD", q.lane_delayed), most)
end

return {
  run = function(q, arg)
    -- check
    shapes.check(q, "wait", "paused", "delayed", "prioritized")
    local has_lanes = queue.settings(q).lanes
    if has_lanes then
      shapes.check(q, "lane_waiting", "lane_delayed")
    end

    -- write
    -- Lanes before all else: one with nothing left in it puts nothing into the ready order while that is drained.
    local removed = has_lanes and drain_lanes(q, arg.with_delayed, arg.most) or 0
    lanes.push_all(q)
    removed = removed + drain_list(q, q.wait, arg.most - removed)
    removed = removed + drain_list(q, q.paused, arg.most - removed)
    if arg.with_delayed then
      removed = removed + drain_zset(q, q.delayed, q.delayed, 0, arg.most - removed)
    end
    removed = removed + drain_zset(q, q.prioritized, q.prioritized, 0, arg.most - removed)
    return { tostring(removed) }
  end,
  render = items.as_is,
}
