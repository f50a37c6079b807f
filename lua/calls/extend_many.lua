--- extend_many: renews the leases of one worker
--- @items  extend
--- @reply  items
local items = require("lib.items")

local transitions = { extend = require("transitions.extend") }

return {
  run = function(q, _, batch)
    items.firsts(q, batch)
    return items.run(q, batch, transitions)
  end,
  render = items.as_is,
}
