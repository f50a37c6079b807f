-- The context `q` that every helper takes: a queue's root, its key names, the time of this call, and what
-- this call has read of the queue's settings. Settings are read once; nobody else writes during a call.

local keys = require("lib.keys")

local queue = {}

-- `q.wait`, `q.active` … are built on first use. A library outlives its calls, so the names of the queues in use
-- are kept from call to call; beyond so many queues it forgets them all and begins again.
local MOST_ROOTS = 100
local names_of, root_count = {}, 0
-- What was last read of each queue's settings, flat, and what was made of it: they hardly ever change.
local read_of = {}

local function names(root)
  local known = names_of[root]
  if known then
    return known
  end
  if root_count == MOST_ROOTS then
    names_of, read_of, root_count = {}, {}, 0
  end
  local built = setmetatable({}, {
    __index = function(built, name)
      local suffix = keys.suffix[name]
      local key = suffix and keys.of_queue(root, suffix)
      if key then
        built[name] = key
      end
      return key
    end,
  })
  known = { __index = built }
  names_of[root], root_count = known, root_count + 1
  return known
end

-- Our own keys' layout. A client that meets another one in `meta` must not touch the queue.
queue.layout = "1"
queue.default_max_events = "10000"

-- The fields that nearly every call sets stand here from the beginning: a table that grows is built anew each time.
function queue.open(root, now, now_text)
  return setmetatable({
    root = root, now = now, now_text = now_text,
    -- lib.queue, lib.events, lib.shapes: what this call has read
    settings_read = false, events_length = false, is_trimmed = false, known_shapes = false,
    -- lib.leases, lib.delays
    suspects = false, has_promoted = false,
    -- lib.retention, transitions.add, transitions.claim, transitions.complete
    retention_asked = false, can_add = false, can_claim = false, can_complete = false,
    -- lib.items, lib.batch_ends, lib.batch_claims, lib.batch_adds
    item = 0, run = 1, firsts = false, first_number = 0,
    is_plain = false, ends_one = false, ending = false, claiming = false, adding = false,
    -- lib.lane_state, lib.lanes
    are_lanes_checked = false, known_lanes = false, lane_books = false, lane_released = false, lanes_moved_on = 0,
    -- what it has done, and who has to hear of it
    has_finished = false, has_work = false, has_delay = false, family = false,
  }, names(root))
end

-- Another queue in the same call (a parent's, a member's): same clock, and one context for each queue, because what
-- a context has read of its queue must not be read twice.
function queue.other(q, root)
  if root == q.root then
    return q
  end
  local family = q.family
  if not family then
    family = { [q.root] = q }
    q.family = family
  end
  local other = family[root]
  if not other then
    other = queue.open(root, q.now, q.now_text)
    other.family = family
    family[root] = other
  end
  return other
end

local function is_same(list, other)
  if #list ~= #other then
    return false
  end
  for i = 1, #list do
    if list[i] ~= other[i] then
      return false
    end
  end
  return true
end

local function settings_from(flat)
  local row = {}
  for i = 1, #flat, 2 do
    row[flat[i]] = flat[i + 1]
  end
  return {
    is_paused = row.paused and true or false,
    concurrency = row.concurrency and tonumber(row.concurrency),
    limit_max = row.max and tonumber(row.max),
    limit_duration = row.duration and tonumber(row.duration),
    max_events = row["opts.maxLenEvents"],
    layout = row["yoke.layout"],
    lanes = row["yoke.lanes"],
    keep_groups = row["yoke.keepGroups"],
  }
end

-- Reads the settings once. Cheap to call again. Not to be changed by who gets them: see `queue.change`.
function queue.settings(q)
  local settings = q.settings_read
  if settings then
    return settings
  end
  -- Mostly there are two fields or three: all of them are read quicker than eight that are mostly missing.
  local flat = call("HGETALL", q.meta)
  local last = read_of[q.root]
  if not last or not is_same(flat, last.flat) then
    last = { flat = flat, settings = settings_from(flat) }
    read_of[q.root] = last
  end
  q.settings_read = last.settings
  return last.settings
end

-- This call has written one of them.
function queue.change(q, name, value)
  local changed = {}
  for other, kept in pairs(queue.settings(q)) do
    changed[other] = kept
  end
  changed[name] = value
  q.settings_read = changed
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
