-- What is ready to run: the `wait` list (tail runs next), then the `prioritized` zset (lowest score first).

local batch_adds = require("lib.batch_adds")
local shapes = require("lib.shapes")
local signals = require("lib.signals")

local ready = {}

-- A priority's band of scores. Priorities stay below 2^21, so every score is exact in a double.
local BAND = 0x100000000
ready.band = BAND

-- Check: a job of this priority can be put there.
function ready.check(q, priority)
  if priority > 0 then
    shapes.check(q, "prioritized")
    shapes.check_number(q, "priority_counter")
  else
    shapes.check_one(q, "wait")
  end
end

function ready.push(q, id, is_next)
  if is_next then
    call("RPUSH", q.wait, id)
  else
    batch_adds.push(q, id)
  end
  signals.work(q)
end

function ready.push_prioritized(q, id, priority)
  local turn = call("INCR", q.priority_counter) % BAND
  call("ZADD", q.prioritized, string.format("%.0f", priority * BAND + turn), id)
  signals.work(q)
end

-- In front of all others of its priority.
function ready.push_prioritized_front(q, id, priority)
  call("ZADD", q.prioritized, string.format("%.0f", priority * BAND), id)
end

function ready.enqueue(q, id, priority, is_next)
  if priority > 0 then
    ready.push_prioritized(q, id, priority)
  else
    ready.push(q, id, is_next)
  end
end

return ready
