--- signal: puts the markers where the state of the queue wants them
--- For a worker that popped a marker and cannot act on it: somebody else must be woken.
--- @reply  nothing
local items = require("lib.items")
local signals = require("lib.signals")

return {
  run = function(q)
    if call("LLEN", q.wait) > 0 or call("ZCARD", q.prioritized) > 0 then
      signals.work(q)
    end
    signals.delay(q)
    return {}
  end,
  render = items.as_is,
}
