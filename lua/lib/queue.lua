-- The context `q` that every helper takes: a queue's root, its key names, the time of this call, and what
-- this call has read of the queue's settings. Settings are read once; nobody else writes during a call.

local keys = require("lib.keys")

local queue = {}

-- A library outlives its calls, so the contexts of the queues in use are kept from call to call; beyond so many queues
-- it forgets them all and begins again.
local MOST_ROOTS = 100
local contexts, context_count = {}, 0
-- What was last read of each queue's settings, as one text, and what was made of it: they hardly ever change.
local read_of = {}

-- What one call knows of a queue. Every field stands here, but for the names of keys and what is kept on purpose
-- (`adding_kept`, `lane_out_kept`, `expects_delays`): a call finds nothing else that another has left.
local function clear(q)
  -- lib.queue, lib.events, lib.shapes: what this call has read
  q.settings_read = false
  q.events_length = false
  q.is_trimmed = false
  q.known_shapes = false
  -- lib.leases, lib.batch_ends, lib.delays
  q.suspects = false
  q.has_no_delays = false
  q.has_promoted = false
  -- lib.retention, transitions.add, transitions.claim, transitions.complete
  q.retention_asked = false
  q.can_add = false
  q.can_claim = false
  q.can_complete = false
  -- lib.items, lib.batch_ends, lib.batch_claims, lib.batch_adds
  q.item = 0
  q.run = 1
  q.argv = false
  q.behind = 0
  q.firsts = false
  q.first_number = 0
  q.is_plain = false
  q.ends_one = false
  q.ending = false
  q.ended_count = 0
  q.claiming = false
  q.adding = false
  -- lib.lane_state, lib.lanes, lib.lane_handovers, transitions.add_in_lane
  q.are_lanes_checked = false
  q.known_lanes = false
  q.lane_books = false
  q.lane_released = false
  q.laned_to = 0
  q.lanes_moved_on = 0
  q.handed_count = 0
  q.followed_count = 0
  q.shown_count = 0
  -- what it has done, and who has to hear of it
  q.has_finished = false
  q.has_work = false
  q.has_delay = false
  q.family = false
  -- lib.group_care, lib.group_record, lib.compensation
  q.told_ends = false
  q.takes_groups = false
  q.wait_length = false
  q.looks_after = false
  q.takes_members_of = false
end

local FIELDS = {
  -- `q.wait`, `q.active` … are built on first use.
  __index = function(q, name)
    local suffix = keys.suffix[name]
    local key = suffix and keys.of_queue(q.root, suffix)
    if key then
      rawset(q, name, key)
    end
    return key
  end,
  __newindex = function(_, name)
    error("lib.queue clears no field " .. name, 2)
  end,
}

local function context(root)
  if context_count == MOST_ROOTS then
    contexts, read_of, context_count = {}, {}, 0
  end
  local q = { root = root, now = 0, now_text = "", adding_kept = false, lane_out_kept = false, expects_delays = false }
  clear(q)
  contexts[root], context_count = q, context_count + 1
  return setmetatable(q, FIELDS)
end

-- Our own keys' layout. A client that meets another one in `meta` must not touch the queue.
queue.layout = "1"
queue.default_max_events = "10000"

-- One context of each queue serves one call after the other: to clear it costs less than to make it.
function queue.open(root, now, now_text)
  local q = contexts[root]
  if q then
    clear(q)
  else
    q = context(root)
  end
  q.now, q.now_text = now, now_text
  return q
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
  local text, last = table.concat(flat, "\0"), read_of[q.root]
  if not last or last.text ~= text then
    last = { text = text, settings = settings_from(flat) }
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
