-- How the lanes of a queue behave: one text among its settings, read with the others.

local queue = require("lib.queue")

local lane_rules = {}

-- What the settings of a queue are before anybody says otherwise. It has had no lanes and begins with lines; but somebody
-- may have deleted what was known of lanes that are there, so both places are looked at until then.
local DEFAULT_RULES, FIRST_USED = "1 block continue 0 ls", "l"
-- Where that has happened, lanes that are there may have used anything.
local ALL_USED = "lsodhp"

local RULES = "^(%d+) (%a+) (%a+) (%d+) (%S+)$"

-- The rules that were read last, by their text: a library outlives its calls, and they hardly ever change.
local last_text, last_rules

local function uses(used, letter)
  return string.find(used, letter, 1, true) ~= nil
end

local function read_rules(text)
  local concurrency, on_retry, on_failure, ordering_delay, used = string.match(text, RULES)
  used = used or "odhp"
  concurrency, ordering_delay = tonumber(concurrency) or 1, tonumber(ordering_delay) or 0
  return {
    concurrency = concurrency,
    on_retry = on_retry or "block",
    on_failure = on_failure or "continue",
    ordering_delay = ordering_delay,
    -- Whoever completes is followed by the next one at once, whichever lane it is.
    hands_over = concurrency == 1 and ordering_delay == 0 and not uses(used, "o"),
    used = used,
    uses_own = uses(used, "o"),
    uses_delayed = uses(used, "d"),
    uses_held = uses(used, "h"),
    uses_priority = uses(used, "p"),
    uses_lines = uses(used, "l"),
    uses_sorted = uses(used, "s") or not uses(used, "l"),
  }
end

-- The letters at the end say what has ever been used of the rarely used, so that nobody else asks for it: `o` lanes with
-- something of their own, `d` jobs that wait for their time, `h` lanes that are held back, `p` jobs with a priority, `s`
-- jobs that do not stand in a line. A queue has lines (`l`) if its first lane had one. Not to be changed by who reads it.
function lane_rules.of(q)
  local text = queue.settings(q).lanes or DEFAULT_RULES
  if text ~= last_text then
    last_text, last_rules = text, read_rules(text)
  end
  return last_rules
end

-- By these keys lanes are found.
local INDEX = { lanes = "zset", lane_waiting = "zset", lane_out = "hash", lane_settings = "hash" }

-- Whether lanes are there, for a queue whose settings tell of none: BullMQ's `obliterate` and whoever deletes `meta` leave
-- them. Mostly there are none, which is one command to know. A key that holds something else is nobody's.
function lane_rules.are_left(q)
  if call("EXISTS", q.lanes, q.lane_waiting, q.lane_out, q.lane_settings) == 0 then
    return false
  end
  for name, shape in pairs(INDEX) do
    if call("TYPE", q[name]).ok == shape then
      return true
    end
  end
  return false
end

local function used_so_far(q)
  if queue.settings(q).lanes then
    return lane_rules.of(q).used
  end
  return lane_rules.are_left(q) and ALL_USED or FIRST_USED
end

-- Write: what is told of the rules changes.
function lane_rules.set(q, changes)
  local rules = lane_rules.of(q)
  local text = table.concat({
    string.format("%.0f", changes.concurrency or rules.concurrency),
    changes.on_retry or rules.on_retry,
    changes.on_failure or rules.on_failure,
    string.format("%.0f", changes.ordering_delay or rules.ordering_delay),
    changes.used or used_so_far(q),
  }, " ")
  if text ~= queue.settings(q).lanes then
    call("HSET", q.meta, "yoke.lanes", text)
    queue.change(q, "lanes", text)
  end
end

-- Write: the queue has lanes, and perhaps one of the rarely used keys. From now on a lookup by id, a count and a
-- promotion have to think of them.
function lane_rules.mark(q, letter)
  local used = used_so_far(q)
  if letter and not uses(used, letter) then
    lane_rules.set(q, { used = (used == "-" and "" or used) .. letter })
  elseif not queue.settings(q).lanes then
    lane_rules.set(q, { used = used })
  end
end

return lane_rules
