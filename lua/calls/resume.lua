--- resume: workers fetch again
--- Jobs that an older client parked in the `paused` list come back, a bounded number per call.
--- @arg    is_first   flag   the first of several calls; only it announces the resumption
--- @reply  how many parked jobs are left
local events = require("lib.events")
local items = require("lib.items")
local queue = require("lib.queue")
local shapes = require("lib.shapes")
local signals = require("lib.signals")

local BATCH = 7000

local function unpark(q)
  if call("EXISTS", q.paused) == 0 then
    return 0
  end
  if call("EXISTS", q.wait) == 0 then
    call("RENAME", q.paused, q.wait)
    return 0
  end
  call("RPUSH", q.wait, unpack(call("LRANGE", q.paused, 0, BATCH - 1)))
  call("LTRIM", q.paused, BATCH, -1)
  return call("LLEN", q.paused)
end

return {
  run = function(q, arg)
    -- check
    events.check(q)
    shapes.check(q, "wait", "paused", "prioritized", "delayed")

    -- write
    call("HDEL", q.meta, "paused")
    queue.change(q, "is_paused", false)
    local left = unpark(q)
    if call("LLEN", q.wait) > 0 or call("ZCARD", q.prioritized) > 0 then
      signals.work_always(q)
    else
      signals.delay(q)
    end
    if arg.is_first then
      events.append(q, "resumed")
    end
    return { tostring(left) }
  end,
  render = items.as_is,
}
