-- Everybody is told when the last job of a queue has ended.

local events = require("lib.events")
local lane_writing = require("lib.lane_writing")

local emptiness = {}

local function is_empty(q)
  lane_writing.show_released(q)
  return call("LLEN", q.wait) == 0 and call("LLEN", q.active) == 0 and call("ZCARD", q.prioritized) == 0
end

-- Settle: for a call that has fetched nothing. Fails where the ready order is something else.
function emptiness.tell(q)
  if q.has_finished and is_empty(q) then
    events.append(q, "drained")
  end
end

return emptiness
