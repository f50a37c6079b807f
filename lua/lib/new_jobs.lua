-- Records of jobs that have never begun and are tied to nothing but a lane, as nearly all are that a fetch meets. They
-- are read as values in a known order: that costs less than names and values, and less to send.

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

-- Name, data, options, timestamp, delay and priority, and lane, place and sequence ("" for none) of one in a lane. One
-- without a lane has an empty text behind them: the number of values is odd, which that of names and values never is.
-- Nil where there is no such job; its lane comes along.
local function read_values(key, has_lanes)
  local row
  if has_lanes then
    row = call("HMGET", key, "name", "data", "opts", "timestamp", "delay", "priority", LANE, ORDER, SEQUENCE)
  else
    row = call("HMGET", key, "name", "data", "opts", "timestamp", "delay", "priority")
  end
  if not (row[1] and row[2] and row[3] and row[4] and row[5] and row[6]) then
    return nil
  end
  local lane = row[7]
  if not lane then
    row[7], row[8], row[9] = "", nil, nil
    return call("HLEN", key) == 6 and row or nil
  end
  local field_count = row[9] and 9 or 8
  row[9] = row[9] or ""
  return row[8] and call("HLEN", key) == field_count and row or nil, lane
end

-- What the last one was that a fetch met. A guess that is wrong costs a command or two.
local expects_new = true

-- Such a job's record, the size of its payload and its lane (nil for none); or nil. Behind them the whole record, where
-- it was read. `peeked` is that record, where it was read before. Fails where the key holds something else.
function new_jobs.read(key, has_lanes, peeked)
  if expects_new and not peeked then
    local row, lane = read_values(key, has_lanes)
    if row then
      return row, #row[2], lane
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
