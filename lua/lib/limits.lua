-- Rate limit and global concurrency: how many jobs may start now.

local shapes = require("lib.shapes")

local limits = {}

-- Milliseconds until the window ends, where `max` starts have been counted; 0 if a job may start. A counter
-- without a time to live never limits.
function limits.remaining_ms(q, max)
  if not max then
    return 0
  end
  shapes.check_number(q, "limiter")
  if max > (tonumber(call("GET", q.limiter)) or 0) then
    return 0
  end
  local ttl = call("PTTL", q.limiter)
  if ttl == 0 then
    call("DEL", q.limiter)
    return 0
  end
  return math.max(ttl, 0)
end

-- The queue-wide maximum wins over the worker's; the worker's duration wins over the queue's. Odd, but
-- every client of the queue has to count alike. The worker's are text, empty for none.
function limits.of(settings, worker_max, worker_duration)
  local max = settings.limit_max or (worker_max ~= "" and tonumber(worker_max)) or nil
  return max, max and (tonumber(worker_duration) or settings.limit_duration)
end

-- How many jobs may start, once `remaining_ms` has said that one may. A full counter then has no end of its own
-- and never limits.
function limits.room(q, max)
  if not max then
    return math.huge
  end
  local started = tonumber(call("GET", q.limiter)) or 0
  return started < max and max - started or math.huge
end

function limits.count_start(q, duration)
  if call("INCR", q.limiter) == 1 then
    call("PEXPIRE", q.limiter, math.floor(math.abs(duration or 0)))
  end
end

return limits
