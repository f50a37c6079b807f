--- add_many: adds jobs, each on its own
--- @flags  refuses-when-full
--- @items  add | add_in_lane
--- @reply  items
local items = require("lib.items")

local transitions = { add = require("transitions.add"), add_in_lane = require("transitions.add_in_lane") }

return {
  run = function(q, _, batch)
    return items.run(q, batch, transitions)
  end,
  render = items.as_is,
}
