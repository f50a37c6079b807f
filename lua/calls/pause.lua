--- pause: workers fetch nothing more until the queue is resumed
--- @reply  nothing
local events = require("lib.events")
local items = require("lib.items")
local queue = require("lib.queue")

return {
  run = function(q)
    -- check
    events.check(q)

    -- write
    call("HSET", q.meta, "paused", 1)
    call("DEL", q.marker)
    events.append(q, "paused")
    queue.change(q, "is_paused", true)
    return {}
  end,
  render = items.as_is,
}
