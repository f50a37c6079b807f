--- remove_lane: removes the jobs of one lane that nobody runs, and what the lane has of its own
--- Bounded; called again until it says that nothing is left. Jobs that wait for their time have not entered the lane,
--- and the iteration that a scheduler waits for stays. Groups that lose a member are undone.
--- @arg    lane   string
--- @arg    most   int      how many jobs this call may remove
--- @reply  done | more, how many were removed
local items = require("lib.items")
local lane_rest = require("lib.lane_rest")
local lane_state = require("lib.lane_state")
local lanes = require("lib.lanes")
local removal = require("lib.removal")
local shapes = require("lib.shapes")

-- Those that are out and that no worker has.
local function idle_out(q, lane)
  local ids = {}
  for _, id in ipairs(lane_state.out(lane)) do
    if not call("LPOS", q.active, id) then
      ids[#ids + 1] = id
    end
  end
  return ids
end

-- 1 if the job was there and nobody runs it.
local function remove(q, id, is_resting)
  local plan = removal.plan_with_lane(q, id, is_resting)
  if not plan or not plan.job then
    return 0
  end
  removal.remove(plan)
  return 1
end

-- Removes these of those that rest: how many jobs, and how many stay because a scheduler waits for them.
local function empty(q, lane, ids, members)
  local removed, kept = 0, 0
  for i, id in ipairs(ids) do
    if removal.is_kept(q, id) then
      kept = kept + 1
    elseif remove(q, id, true) == 1 then
      removed = removed + 1
    else
      -- Its record is gone.
      lane_state.drop_resting(q, lane, id, members[i])
    end
  end
  return removed, kept
end

return {
  run = function(q, arg)
    -- check
    shapes.check(q, "lane_settings")
    lanes.check(q, arg.lane)
    local lane = lane_state.open(q, arg.lane)
    local resting, members = lane_rest.range(q, arg.lane, 0, arg.most - 1)
    local idle = idle_out(q, lane)

    -- write
    -- First those that rest: the end of one that is out would let the next out. So would a member's, by that of another.
    local was_paused = lane.is_paused
    lane.is_paused = true
    local removed, kept = empty(q, lane, resting, members)
    lane.is_paused = was_paused
    if kept < #resting and lane_state.depth(q, lane) > kept then
      return { "more", tostring(removed) }
    end
    for _, id in ipairs(idle) do
      removed = removed + (removal.is_kept(q, id) and 0 or remove(q, id, false))
    end
    lane_state.set_own(q, lane, { is_paused = false, is_halted = false, own_concurrency = false })

    -- settle
    lanes.release(q, arg.lane)
    return { "done", tostring(removed) }
  end,
  render = items.as_is,
}
