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

-- Options begin so, whoever wrote them; a job whose options do not is read by name. And the code of their third letter.
local OPTIONS, THIRD = '{"attempts":', 97
-- What begins with a code above that of a nine is no number, and neither is a text.
local NINE, QUOTE = 57, 34
-- What is JSON and begins like a name.
local JSON_WORDS = { ["true"] = true, ["false"] = true, ["null"] = true }

local function is_options(text)
  return string.find(text, OPTIONS, 1, true) == 1
end

-- Options, and a name that they stood beside which is no JSON for sure: most jobs have the same as others before them. So
-- many are kept.
local MOST_KNOWN = 1000
local name_beside, known_count = {}, 0
-- Found when the first are looked at: what a server has of its own is looked up slowly, and not there yet when it loads this.
local byte

local function are_known(name, options)
  byte = string.byte
  if not string.find(name, "^%a") or JSON_WORDS[name] or not is_options(options) then
    return false
  end
  if known_count == MOST_KNOWN then
    name_beside, known_count = {}, 0
  end
  name_beside[options], known_count = name, known_count + 1
  return true
end

-- A server keeps a record with a longer value in another order.
local LONGEST = 64

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

-- All values without their names: nothing costs less. They are such a job's, in the order in which they were written, if
-- there are as many of them and they look so: delay and priority are none, the first is no JSON, as data, options and
-- numbers are, the third begins like options, and the second neither so nor like a number. `lane` is the one that the job
-- was taken from; where that is not known (nil) whoever asks has to make sure that the job is out of the lane that is told,
-- as it is of no other than its own. Answers as `read_by_name`.
local function read_in_order(key, has_lanes, lane)
  local row = call("HVALS", key)
  local name, data, options, own_lane, count = row[1], row[2], row[3], row[7], #row
  if row[5] == "0" and row[6] == "0" and #data <= LONGEST
    and (count == 8 and has_lanes and (own_lane == lane or not lane) or count == 6 and not lane)
    and (name_beside[options] == name or are_known(name, options)) then
    local first, _, third = byte(data, 1, 3)
    if first and (first > NINE or first == QUOTE) and (third ~= THIRD or not is_options(data)) then
      row[6], row[7], row[8] = own_lane, row[8], nil
      return row, #data, own_lane
    end
  end
  return nil
end

-- What the last one was that a fetch met. A guess that is wrong costs a command or two.
local expects_new = true
-- After one that was not in order, so many are read by name before another is tried.
local DISTRUST = 64
local distrust = 0

-- Such a job's record, the size of its payload and its lane (nil for none); or nil. Behind them the whole record, where
-- it was read. `peeked` is that record, where it was read before. `is_alone`: no other is read with it, and then one
-- command is quicker than two. `is_in_order`: it should have no priority, and then `lane` as above. Fails where the key
-- holds something else.
--
-- The record is name, data, options, timestamp and priority, and lane and place of one in a lane; two empty texts behind
-- those say that its sequence is not its id. The number of values is odd, which that of names and values never is, and at
-- most eight are read: a server builds a longer list anew.
function new_jobs.read(key, has_lanes, peeked, is_alone, is_in_order, lane)
  if expects_new and not peeked then
    local row, bytes, own_lane
    if distrust > 0 then
      distrust = distrust - 1
    elseif is_in_order then
      row, bytes, own_lane = read_in_order(key, has_lanes, lane)
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

return new_jobs
