--- set_lane: pauses or resumes one lane, or gives it a concurrency of its own
--- @arg    lane          string
--- @arg    pauses        flag
--- @arg    resumes       flag     also a lane that has halted
--- @arg    concurrency   string   empty leaves it, 0 goes back to the queue's
--- @reply  changed | same
local items = require("lib.items")
local lane_rules = require("lib.lane_rules")
local lane_state = require("lib.lane_state")
local lanes = require("lib.lanes")
local shapes = require("lib.shapes")

return {
  run = function(q, arg)
    -- check
    shapes.check(q, "lane_settings")
    lanes.check(q, arg.lane)
    local lane = lane_state.open(q, arg.lane)
    local changes, count = {}, 0
    local function change(name, value)
      if (lane[name] or false) ~= value then
        changes[name] = value
        count = count + 1
      end
    end
    if arg.pauses then
      change("is_paused", true)
    end
    if arg.resumes then
      change("is_paused", false)
      change("is_halted", false)
    end
    if arg.concurrency ~= "" then
      local concurrency = tonumber(arg.concurrency)
      change("own_concurrency", concurrency > 0 and concurrency or false)
    end

    -- write
    if count == 0 then
      return { "same" }
    end
    lane_rules.mark(q)
    lane_state.set_own(q, lane, changes)

    -- settle
    lanes.release(q, arg.lane)
    return { "changed" }
  end,
  render = items.as_is,
}
