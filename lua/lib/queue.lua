-- The context `q` that every helper takes: a queue's root, its key names, the time of this call, and what
-- this call has read of the queue's settings. Settings are read once; nobody else writes during a call.

local keys = require("lib.keys")

local queue = {}

-- `q.wait`, `q.active` … are built on first use and kept.
local names = {
  __index = function(q, name)
    local suffix = keys.suffix[name]
    if not suffix then
      return nil
    end
    local key = keys.of_queue(q.root, suffix)
    rawset(q, name, key)
    return key
  end,
}

-- Our own keys' layout. A client that meets another one in `meta` must not touch the queue.
queue.layout = "1"
queue.default_max_events = "10000"

function queue.open(root, now)
  return setmetatable({ root = root, now = now, now_text = string.format("%.0f", now) }, names)
end

-- Another queue in the same call (a parent's, a member's): same clock, and one context for each queue, because what
-- a context has read of its queue must not be read twice.
function queue.other(q, root)
  if root == q.root then
    return q
  end
  local family = rawget(q, "family")
  if not family then
    family = { [q.root] = q }
    rawset(q, "family", family)
  end
  local other = family[root]
  if not other then
    other = queue.open(root, q.now)
    rawset(other, "family", family)
    family[root] = other
  end
  return other
end

-- Reads the settings once. Cheap to call again.
function queue.settings(q)
  local settings = rawget(q, "settings_read")
  if settings then
    return settings
  end
  local row = call("HMGET", q.meta, "paused", "concurrency", "max", "duration", "opts.maxLenEvents", "yoke.layout",
    "yoke.lanes", "yoke.keepGroups")
  settings = {
    is_paused = row[1] and true or false,
    concurrency = tonumber(row[2]),
    limit_max = tonumber(row[3]),
    limit_duration = tonumber(row[4]),
    max_events = row[5],
    layout = row[6],
    has_lanes = row[7] and true or false,
    keep_groups = row[8],
  }
  rawset(q, "settings_read", settings)
  return settings
end

-- Paused, or as many active as the queue may have: a push then leaves no marker.
function queue.is_blocked(q)
  local settings = queue.settings(q)
  if settings.is_paused then
    return true
  end
  return settings.concurrency ~= nil and call("LLEN", q.active) >= settings.concurrency
end

return queue
