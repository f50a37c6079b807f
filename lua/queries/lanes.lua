--- lanes: the lanes that have jobs or are stopped, by name
--- @arg    first   int
--- @arg    last    int
--- @reply  how many there are, then for each: name, how many rest, the order of the first of them, paused, halted, its own concurrency, ids that are out …
local jobs = require("lib.jobs")
local lane_rest = require("lib.lane_rest")
local lane_state = require("lib.lane_state")

local function describe(q, name)
  local lane = lane_state.open(q, name)
  local first = lane_rest.first(q, name)
  local row = first and jobs.fields(q, first, jobs.field.order) or {}
  return {
    name, lane_state.depth(q, lane), row[1] or "", lane.is_paused and "1" or "", lane.is_halted and "1" or "",
    lane.own_concurrency and tostring(lane.own_concurrency) or "", unpack(lane_state.out(lane)),
  }
end

return function(q, arg)
  local rows = { call("ZCARD", q.lanes) }
  for _, name in ipairs(call("ZRANGE", q.lanes, arg.first, arg.last)) do
    rows[#rows + 1] = describe(q, name)
  end
  return rows
end
