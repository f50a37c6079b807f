-- What blocked workers are woken by. A call that pushes a hundred jobs needs one marker, so transitions only
-- say that there is work, and the markers are written once, when the call ends.

local lane_rules = require("lib.lane_rules")
local queue = require("lib.queue")

local signals = {}

-- Something may be runnable now; no marker while the queue is paused or full.
function signals.work(q)
  if not q.has_work then
    q.has_work = "unless_blocked"
  end
end

-- After a fetch the next idle worker is woken whatever the state: it looks for itself.
function signals.work_always(q)
  q.has_work = "always"
end

-- The earliest due time may have changed.
function signals.delay(q)
  q.has_delay = true
end

local function first_score(key)
  return tonumber(call("ZRANGE", key, "0", "0", "WITHSCORES")[2])
end

local function next_due(q)
  local first = first_score(q.delayed)
  local due = first and first / 4096
  local rules = queue.settings(q).lanes and lane_rules.of(q)
  if rules and (rules.uses_delayed or rules.uses_held) then
    for _, key in ipairs({ q.lane_delayed, q.lane_held }) do
      local other = first_score(key)
      due = other and due and math.min(due, other) or other or due
    end
  end
  return due
end

-- The earliest due time in ms, or nil.
signals.next_due = next_due

local function flush(q)
  local has_work = q.has_work
  if has_work == "always" or (has_work and not queue.is_blocked(q)) then
    call("ZADD", q.marker, "0", "0")
  end
  if q.has_delay then
    local due = next_due(q)
    if due then
      call("ZADD", q.marker, due, "1")
    end
  end
end

-- Of this queue and of all others that the call has touched.
function signals.flush(q)
  local family = q.family
  if not family then
    flush(q)
    return
  end
  for _, member in pairs(family) do
    -- Each on its own: the others' workers must not sleep on because of one.
    pcall(flush, member)
  end
end

return signals
