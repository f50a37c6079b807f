-- What blocked workers are woken by. A call that pushes a hundred jobs needs one marker, so transitions only
-- say that there is work, and the markers are written once, when the call ends.

local queue = require("lib.queue")

local signals = {}

-- Something may be runnable now; no marker while the queue is paused or full.
function signals.work(q)
  if not rawget(q, "has_work") then
    rawset(q, "has_work", "unless_blocked")
  end
end

-- After a fetch the next idle worker is woken whatever the state: it looks for itself.
function signals.work_always(q)
  rawset(q, "has_work", "always")
end

-- The earliest due time may have changed.
function signals.delay(q)
  rawset(q, "has_delay", true)
end

local function next_due(q)
  local first = call("ZRANGE", q.delayed, "0", "0", "WITHSCORES")
  return first[2] and tonumber(first[2]) / 4096
end

-- The earliest due time in ms, or nil.
signals.next_due = next_due

function signals.flush(q)
  local has_work = rawget(q, "has_work")
  if has_work == "always" or (has_work and not queue.is_blocked(q)) then
    call("ZADD", q.marker, "0", "0")
  end
  if rawget(q, "has_delay") then
    local due = next_due(q)
    if due then
      call("ZADD", q.marker, due, "1")
    end
  end
  local others = rawget(q, "others")
  if others then
    for _, other in pairs(others) do
      signals.flush(other)
    end
  end
end

return signals
