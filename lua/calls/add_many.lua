--- add_many: adds jobs, each on its own
--- @flags  refuses-when-full
--- @items  add | add_in_lane
--- @reply  items
local batch_adds = require("lib.batch_adds")
local items = require("lib.items")

local transitions = { add = require("transitions.add"), add_in_lane = require("transitions.add_in_lane") }

return {
  run = function(q, _, batch)
    local _, count = items.firsts(q, batch)
    batch_adds.open(q, count)
    local outcome = items.run(q, batch, transitions)
    batch_adds.flush(q)
    return outcome
  end,
  render = items.as_is,
}
