--- limit: for how long the rate limit holds
--- @arg    max   string   the maximum to count against; empty for the queue's own
--- @reply  ms; 0 not limited, -2 no counter, -1 a counter without an end
local queue = require("lib.queue")

return function(q, arg)
  local max = tonumber(arg.max) or queue.settings(q).limit_max
  local ttl = call("PTTL", q.limiter)
  if not max then
    return { ttl }
  end
  if max > (tonumber(call("GET", q.limiter)) or 0) then
    return { 0 }
  end
  return { math.max(ttl, 0) }
end
