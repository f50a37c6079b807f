--- check_lanes: compares what lanes believe with what is, a bounded number of lanes and of their jobs per call
--- @arg    after          string   the lane to go on behind; empty for the first
--- @arg    most           int      lanes; fewer where they have many jobs
--- @arg    most_resting   int      resting jobs of each lane that are looked at
--- @arg    heals          flag     puts right what it finds
--- @reply  where to go on (empty after the last lane), how many lanes were checked, and as one text lane, job id and word for each finding
local events = require("lib.events")
local items = require("lib.items")
local lane_upkeep = require("lib.lane_upkeep")
local lane_state = require("lib.lane_state")
local shapes = require("lib.shapes")

return {
  run = function(q, arg)
    -- check
    events.check(q)
    lane_state.check_keys(q)
    shapes.check(q, "lane_out", "active", "paused", "prioritized", "delayed", "waiting_children", "completed", "failed")

    -- write
    local found, following, count = lane_upkeep.check(q, arg.after, arg.most, arg.most_resting, arg.heals)
    return { following, tostring(count), items.text(found) }
  end,
  render = items.as_is,
}
