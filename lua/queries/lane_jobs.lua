--- lane_jobs: the jobs of one lane, those that are out first, then those that rest, in their order
--- @arg    lane    string
--- @arg    first   int
--- @arg    last    int      -1 for all
--- @reply  id, record, id, record …
local jobs = require("lib.jobs")
local lane_rest = require("lib.lane_rest")
local lane_state = require("lib.lane_state")

return function(q, arg)
  local lane = lane_state.open(q, arg.lane)
  local out_ids = lane_state.out(lane)
  local out = #out_ids
  local last = arg.last < 0 and out + lane_state.depth(q, lane) + arg.last or arg.last
  local rows = {}
  local function tell(id)
    local flat = jobs.read(q, id)
    if flat then
      rows[#rows + 1], rows[#rows + 2] = id, flat
    end
  end
  for i = arg.first + 1, math.min(last + 1, out) do
    tell(out_ids[i])
  end
  if last >= out then
    for _, id in ipairs((lane_rest.range(q, arg.lane, math.max(arg.first - out, 0), last - out))) do
      tell(id)
    end
  end
  return rows
end
