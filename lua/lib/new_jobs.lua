-- Records of jobs that have never begun and are tied to nothing but a lane, as nearly all are that a fetch meets.
-- Several are read as values in a known order: that costs less than names and values, and less to send.

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

-- What the last one was that a fetch met. A guess that is wrong costs a command or two.
local expects_new = true

-- Such a job's record, the size of its payload and its lane (nil for none); or nil. Behind them the whole record, where
-- it was read. `peeked` is that record, where it was read before. `is_alone`: no other is read with it, and then one
-- command is quicker than two. Fails where the key holds something else.
--
-- Several are read as name, data, options, timestamp and priority, and lane and place of one in a lane; two empty texts
-- behind those say that its sequence is not its id. The number of values is odd, which that of names and values never is,
-- and at most eight are read: a server builds a longer list anew. No such job where its delay was not over.
function new_jobs.read(key, has_lanes, peeked, is_alone)
  if expects_new and not peeked and not is_alone then
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
  end
  local flat = peeked or jobs.read_at(key)
  expects_new = flat ~= nil and is_new(flat)
  if not expects_new then
    return nil, nil, nil, flat
  end
  return flat, #(value_of(flat, "data") or ""), value_of(flat, LANE), flat
end

return new_jobs
