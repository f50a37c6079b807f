-- Appends to the queue's event stream. `capped` trims while it adds; `append` leaves trimming to the next
-- capped add or finish, as other readers of the stream expect.

local queue = require("lib.queue")

local events = {}

-- The cap is stored with the queue so that every client trims alike; the first writer sets the default.
local function max_events(q)
  local most = queue.settings(q).max_events
  if not most then
    most = queue.default_max_events
    call("HSET", q.meta, "opts.maxLenEvents", most)
    queue.change(q, "max_events", most)
  end
  return most
end

function events.append(q, name, ...)
  call("XADD", q.events, "*", "event", name, ...)
end

-- The same for those that every job has: a list of any length is passed on more slowly.
function events.added(q, id, name)
  call("XADD", q.events, "*", "event", "added", "jobId", id, "name", name)
end

function events.completed(q, id, result)
  call("XADD", q.events, "*", "event", "completed", "jobId", id, "returnvalue", result, "prev", "active")
end

-- The same for the only end of a call, told before anything else of it is written; trims while it adds, but where this call
-- has not read the cap: then the next fetch does. Answers with the entry, to take it back by; false where there is no
-- stream yet, for one that was made could not be taken back.
function events.completed_first(q, id, result)
  local most = q.settings_read and q.settings_read.max_events
  if not most then
    return call("XADD", q.events, "NOMKSTREAM", "*", "event", "completed", "jobId", id, "returnvalue", result, "prev", "active")
  end
  q.is_trimmed = true
  return call("XADD", q.events, "NOMKSTREAM", "MAXLEN", "~", most, "*", "event", "completed", "jobId", id, "returnvalue", result, "prev", "active")
end

-- In a call that adds many, the last one of them trims for all.
local function is_capped_later(q)
  local adding = q.adding
  if not adding then
    return false
  end
  adding.is_capped = true
  return true
end

function events.capped(q, name, ...)
  if is_capped_later(q) then
    call("XADD", q.events, "*", "event", name, ...)
  else
    call("XADD", q.events, "MAXLEN", "~", max_events(q), "*", "event", name, ...)
  end
end

-- The same for the one that nearly every added job has.
function events.waiting(q, id)
  if is_capped_later(q) then
    call("XADD", q.events, "*", "event", "waiting", "jobId", id)
  else
    call("XADD", q.events, "MAXLEN", "~", max_events(q), "*", "event", "waiting", "jobId", id)
  end
end

-- Approximate trimming drops whole nodes of the stream, and a node holds up to this many events: before there are
-- as many too many, it mostly finds nothing to drop.
local NODE = 100

-- The cap hardly ever changes: its text is read once.
local last_most, trims_above = false, 0

-- Once per call is enough.
function events.trim(q)
  if not q.is_trimmed then
    q.is_trimmed = true
    local most = max_events(q)
    local length = q.events_length
    if most ~= last_most then
      last_most, trims_above = most, tonumber(most) + NODE
    end
    if not length or length > trims_above then
      call("XTRIM", q.events, "MAXLEN", "~", most)
    end
  end
end

-- A check-read: refuses with an error before anything is written if the stream's key holds something else. The
-- length it brings tells later whether there is anything to trim.
function events.check(q)
  if not q.events_length then
    q.events_length = call("XLEN", q.events)
  end
end

return events
