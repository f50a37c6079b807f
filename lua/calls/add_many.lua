--- add_many: adds jobs, each on its own
--- @flags  refuses-when-full
--- @items  add | add_in_lane
--- @reply  items
local items = require("lib.items")
local pending = require("lib.pending")

local transitions = { add = require("transitions.add"), add_in_lane = require("transitions.add_in_lane") }

return {
  run = function(q, _, batch)
    pending.open_adds(q, items.count(batch))
    local outcome = items.run(q, batch, transitions)
    pending.flush_adds(q)
    return outcome
  end,
  render = items.as_is,
}
