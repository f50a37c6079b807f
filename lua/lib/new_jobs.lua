-- Records of jobs that have never begun and are tied to nothing but a lane, as nearly all are that a fetch meets.
-- They are read as values in a known order: that costs less than names and values, and less to send.

local jobs = require("lib.jobs")

local new_jobs = {}

local LANE, ORDER, SEQUENCE = jobs.field.lane, jobs.field.order, jobs.field.lane_sequence

-- The fields that such a job has, and no other, whoever added it; and how long its record is, names and values: without
-- a lane, in one, and in one with a sequence of its own.
local OWN = {
  name = true, data = true, opts = true, timestamp = true, delay = true, priority = true,
  [LANE] = true, [ORDER] = true, [SEQUENCE] = true,
}
local LENGTHS = { [12] = true, [16] = true, [18] = true }

-- A server keeps small records in the order in which they were written and large ones in an order of its own.
local function is_new(flat)
  if not LENGTHS[#flat] then
    return false
  end
  for i = 1, #flat, 2 do
    if not OWN[flat[i]] then
      return false
    end
  end
  return true
end

-- The value of a field that the record has; nil for one that it has not.
local function value_of(flat, field)
  for i = 1, #flat, 2 do
    if flat[i] == field then
      return flat[i + 1]
    end
  end
  return nil
end

-- What a server has of its own is looked up slowly, and is not there yet when it loads this.
local byte
local PLUS, NINE, QUOTE = 43, 57, 34
-- Options begin so; a job whose options do not is read by name. And the code of their third letter.
local ATTEMPTS, OPTIONS, THIRD = '"attempts":', '{"attempts":', 97
-- What is JSON and begins with a letter.
local JSON_WORDS = { ["true"] = true, ["false"] = true, ["null"] = true }
-- No time is as short.
local MOST_DIGITS = 7

local function is_options(text)
  return string.find(text, OPTIONS, 1, true) == 1
end

-- No JSON for sure.
local function is_name(text)
  return string.find(text, "^%a") and not JSON_WORDS[text]
end

-- Options, and a name that they stood beside: most jobs have the same as others before them. So many are kept, of so many
-- bytes: a server does not count what lies here as its memory.
local MOST_KNOWN, LONGEST_KNOWN = 1000, 1000
local name_beside, known_count = {}, 0

local function are_known(name, options)
  if not is_name(name) or not is_options(options) then
    return false
  end
  if #options > LONGEST_KNOWN then
    return true
  elseif known_count == MOST_KNOWN then
    name_beside, known_count = {}, 0
  end
  name_beside[options], known_count = name, known_count + 1
  return true
end

-- Whether three of a job's texts are what they are taken for: the name is no JSON, as all others are, the options begin like
-- options, and the data neither so nor like a number.
local function are_told_apart(name, data, options)
  if name_beside[options] ~= name and not are_known(name, options) then
    return false
  end
  local first, _, third = byte(data, 1, 3)
  return first and (first > NINE or first == QUOTE) and (third ~= THIRD or not is_options(data))
end

-- A server keeps the values of a small record in the order in which they were written, and those of one with a longer value
-- in an order of its own.
local LONGEST = 64

-- The last text that was found to be a priority: those who lie by their priority mostly have that of the one before.
local last_priority = "1"

local function is_priority(text)
  if text ~= last_priority and #text <= MOST_DIGITS and string.find(text, "^[1-9]%d*$") then
    last_priority = text
  end
  return text == last_priority
end

-- Without a lane: the values lie as they were written. Whoever has added the job. Others write their options in any order,
-- and data that begins like ours could lie where options do: but all options say somewhere how many attempts there are. One
-- that was taken from where those with a priority lie has one: that tells the last two apart.
local function lie_as_written(row, has_priority)
  local is_theirs = has_priority and is_priority(row[6]) or not has_priority and row[6] == "0"
  return is_theirs and row[5] == "0" and #row[2] <= LONGEST and #row[4] > MOST_DIGITS
    and are_told_apart(row[1], row[2], row[3]) and not string.find(row[2], ATTEMPTS, 1, true)
end

-- In a lane: where the values of the last one lay, which is mostly where those of the next lie. We have added it, and its
-- options begin like options.
local name_at, data_at, options_at, time_at, delay_at, priority_at, lane_at, order_at = 1, 2, 3, 4, 5, 6, 7, 8

local function lie_alike(row, lane)
  return row[delay_at] == "0" and row[priority_at] == "0" and row[lane_at] == lane and byte(row[order_at]) == PLUS
    and #row[time_at] > MOST_DIGITS and are_told_apart(row[name_at], row[data_at], row[options_at])
end

-- What one is by its looks, of those that are left when the lane and two zeros are found.
local function kind_of(value)
  local code = byte(value) or 0
  if code == PLUS then
    return "order"
  elseif code >= 48 and code <= NINE then
    return "timestamp"
  end
  return is_name(value) and "name" or is_options(value) and "options" or "data"
end

-- Looks where they lie; false where two look the same.
local function find_places(row, lane)
  local places = {}
  for i = 1, #row do
    local value, kind = row[i], nil
    if value == "0" then
      kind = places.delay and "priority" or "delay"
    elseif value == lane and not places.lane then
      kind = "lane"
    else
      kind = kind_of(value)
    end
    if places[kind] then
      return false
    end
    places[kind] = i
  end
  -- Eight of eight kinds.
  name_at, data_at, options_at, time_at = places.name, places.data, places.options, places.timestamp
  delay_at, priority_at, lane_at, order_at = places.delay, places.priority, places.lane, places.order
  return true
end

-- All values without their names: nothing costs less. There are as many as such a job has, which leaves no room for another,
-- and which is which they say themselves. `lane` is the one that the job was taken from; one of which that is not known (nil)
-- and that has one is read by name. Answers as `read_by_name`.
local function read_values(key, lane, has_priority)
  local row = call("HVALS", key)
  byte = byte or string.byte
  if not lane then
    if #row == 6 and lie_as_written(row, has_priority) then
      row[5], row[6] = row[6], nil
      return row, #row[2]
    end
  elseif #row == 8 and (lie_alike(row, lane) or find_places(row, lane) and lie_alike(row, lane)) then
    -- In the list that the server has made: another one for each job would be as much again to clear away.
    local data = row[data_at]
    row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8] =
      row[name_at], data, row[options_at], row[time_at], "0", lane, row[order_at], nil
    return row, #data, lane
  end
  return nil
end

-- The record, the size of its payload and its lane (nil for none). Nil where it is no such job's, or its delay was not over.
local function read_by_name(key, has_lanes)
  local row, lane, delay
  if has_lanes then
    row = call("HMGET", key, "name", "data", "opts", "timestamp", "priority", LANE, ORDER, "delay")
    lane, delay, row[8] = row[6], row[8], nil
  else
    row = call("HMGET", key, "name", "data", "opts", "timestamp", "priority", "delay")
    delay = row[6]
  end
  if delay == "0" and row[1] and row[2] and row[3] and row[4] and row[5] then
    local field_count = call("HLEN", key)
    if not lane and field_count == 6 then
      row[6], row[7] = nil, nil
      return row, #row[2]
    elseif lane and row[7] and field_count == 8 then
      return row, #row[2], lane
    elseif lane and row[7] and field_count == 9 and call("HEXISTS", key, SEQUENCE) == 1 then
      row[8], row[9] = "", ""
      return row, #row[2], lane
    end
  end
  return nil
end

-- What the last one was that a fetch met. A guess that is wrong costs a command or two.
local expects_new = true
-- After one whose values did not tell, so many are read by name before another is tried.
local DISTRUST = 64
local distrust = 0

-- Such a job's record, the size of its payload and its lane (nil for none); or nil. Behind them the whole record, where
-- it was read. `peeked` is that record, where it was read before. `is_alone`: no other is read with it, and then one
-- command is quicker than two. `lane` is the one that it was taken from, as far as that is known; `has_priority`: it was
-- taken from where those with a priority lie. Fails where the key holds something else.
--
-- The record is name, data, options, timestamp and priority, and lane and place of one in a lane; two empty texts behind
-- those say that its sequence is not its id. The number of values is odd, which that of names and values never is, and at
-- most eight are read: a server builds a longer list anew. src/store/fetched-records.ts reads them.
function new_jobs.read(key, has_lanes, peeked, is_alone, has_priority, lane)
  if expects_new and not peeked then
    local row, bytes, own_lane
    if distrust > 0 then
      distrust = distrust - 1
    else
      row, bytes, own_lane = read_values(key, lane, has_priority)
      distrust = row and 0 or DISTRUST
    end
    if not row and not is_alone then
      row, bytes, own_lane = read_by_name(key, has_lanes)
    end
    if row then
      return row, bytes, own_lane
    end
  end
  local flat = peeked or jobs.read_at(key)
  expects_new = flat ~= nil and is_new(flat)
  if not expects_new then
    return nil, nil, nil, flat
  end
  return flat, #(value_of(flat, "data") or ""), value_of(flat, LANE), flat
end

-- Of jobs that a worker gets together most have the same name, options and priority: behind `true` one has only what is its
-- own, and the rest is that of the last one that was told whole. `outcome` tells of `before` others already.
function new_jobs.shorten(outcome, before)
  local records, name, options, priority = outcome.records, outcome.last_name, outcome.last_options, outcome.last_priority
  for slot = 2 * before + 2, 2 * outcome.count, 2 do
    local row = records[slot]
    local own_name, own_options, own_priority = row[1], row[3], row[5]
    -- Names and values are more than seven, and so are those of one with a sequence of its own: they stay as they are.
    if own_name == name and own_options == options and own_priority == priority and not row[8] then
      row[1], row[3], row[4], row[5], row[6], row[7] = true, row[4], row[6], row[7], nil, nil
    elseif not row[8] then
      name, options, priority = own_name, own_options, own_priority
    end
  end
  outcome.last_name, outcome.last_options, outcome.last_priority = name, options, priority
end

return new_jobs
