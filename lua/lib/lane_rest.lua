-- Who rests in a lane, in order: by place, then by arrival. Nearly all jobs have a number for an id and the time of their
-- arrival for their place. They stand in a line, a list of ids, which costs the least to add to and to take from. All
-- others, with an order or an id of their own, or that come back, lie in a zset by their place. The next one is the first
-- of the line or the first of the zset; a queue says which of the two it has ever used (`lane_rules.of`).

local clock = require("lib.clock")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local lane_rules = require("lib.lane_rules")
local shapes = require("lib.shapes")

local lane_rest = {}

local ORDER = jobs.field.order

-- Digits of the sequence at the start of a member of the zset. Text of one width sorts as the numbers do.
local WIDTH = 16
-- Whole numbers of a size that every server takes for one are printed several times as quick.
local SMALL, LARGE = "%0" .. WIDTH .. "d%s", "%0" .. WIDTH .. ".0f%s"

function lane_rest.member(number, id)
  return string.format(number < 2147483648 and SMALL or LARGE, number, id)
end

-- A job with an automatic id has no sequence of its own: its id is the number.
function lane_rest.member_of(job)
  return lane_rest.member(tonumber(job.sequence or job.id) or 0, job.id)
end

function lane_rest.id_of(member)
  return string.sub(member, WIDTH + 1)
end

-- Whether the job has a number for an id: only such stand in a line.
local function is_numbered(job)
  return not job.sequence or job.sequence == job.id
end

-- Whether a job that comes to rest now comes behind all that stand in the line: only when it is added. That is its place
-- also where the server's clock was put back.
local function stands_in_line(q, job)
  return job.is_new and lane_rules.of(q).uses_lines and job.order == q.now_text and is_numbered(job)
end

-- Write: a new job with this number rests there, behind all whose place is before now. An error has written nothing.
function lane_rest.append(q, name, id, number)
  if lane_rules.of(q).uses_lines then
    call("RPUSH", keys.line(q, name), id)
  else
    call("ZADD", keys.lane(q, name), q.now_text, lane_rest.member(number, id))
  end
end

-- Write: the job, whose place is known, rests there; in front of all others where that is said. Whether it did not before.
function lane_rest.add(q, name, job, is_front)
  if not is_front and stands_in_line(q, job) then
    call("RPUSH", keys.line(q, name), job.id)
    return true
  end
  if lane_rules.of(q).uses_lines then
    lane_rules.mark(q, "s")
  end
  return call("ZADD", keys.lane(q, name), is_front and "-inf" or job.order, lane_rest.member_of(job)) == 1
end

-- Write: an entry, as `lane_rest.range` tells of it, rests there no more; whether it did.
function lane_rest.drop(q, name, id, member)
  if member then
    return call("ZREM", keys.lane(q, name), member) == 1
  end
  return call("LREM", keys.line(q, name), "1", id) == 1
end

-- Write: the same of a job whose place is known. A line is searched from its beginning, and to its end for one that is not
-- there: only where that is said.
function lane_rest.remove(q, name, job, is_searched)
  local rules = lane_rules.of(q)
  return rules.uses_sorted and lane_rest.drop(q, name, job.id, lane_rest.member_of(job))
    or is_searched and rules.uses_lines and is_numbered(job) and lane_rest.drop(q, name, job.id) or false
end

-- How many stand in the line.
function lane_rest.line_length(q, name)
  return lane_rules.of(q).uses_lines and call("LLEN", keys.line(q, name)) or 0
end

-- How many rest there.
function lane_rest.count(q, name)
  local rules = lane_rules.of(q)
  return lane_rest.line_length(q, name) + (rules.uses_sorted and call("ZCARD", keys.lane(q, name)) or 0)
end

-- Check: one that comes may be put where none of the queue has been so far.
function lane_rest.check(q, name)
  if not lane_rules.of(q).uses_sorted then
    call("ZCARD", keys.lane(q, name))
  end
end

-- The place of the first of a line, as text; before all where its record is gone, so that it is passed over, or has none.
local function place_of(q, id)
  local row = jobs.fields(q, id, ORDER)
  return row and tonumber(row[1]) and row[1] or "-inf"
end

local function member_in_line(id)
  return lane_rest.member(tonumber(id) or 0, id)
end

-- Whether one of a line, with this place, goes before one of the zset.
local function goes_before(id, place, other_place, member)
  local order, other = tonumber(place), tonumber(other_place)
  return order < other or (order == other and member_in_line(id) < member)
end

-- The first one: its id, its place as text, its member, and whether it stands in the line; nil for nobody.
function lane_rest.first(q, name)
  local rules = lane_rules.of(q)
  local id = rules.uses_lines and call("LINDEX", keys.line(q, name), "0")
  local sorted = rules.uses_sorted and call("ZRANGE", keys.lane(q, name), "0", "0", "WITHSCORES") or {}
  local member, other_place = sorted[1], sorted[2]
  local place = id and place_of(q, id)
  if id and (not member or goes_before(id, place, other_place, member)) then
    return id, place, member_in_line(id), true
  end
  if member then
    return lane_rest.id_of(member), other_place, member, false
  end
  return nil
end

local function pop_line(q, name)
  return call("LPOP", keys.line(q, name)) or nil
end

local function pop_sorted(q, name)
  local member = call("ZPOPMIN", keys.lane(q, name))[1]
  return member and lane_rest.id_of(member)
end

local function pop_either(q, name)
  if lane_rest.line_length(q, name) == 0 then
    return pop_sorted(q, name)
  end
  local _, _, _, is_in_line = lane_rest.first(q, name)
  return (is_in_line and pop_line or pop_sorted)(q, name)
end

-- A key that holds something else has nobody resting: whoever ends a job must not fail for it.
local function try(pop, q, name)
  local is_done, id = pcall(pop, q, name)
  if not is_done and not shapes.is_wrong_type(id) then
    error(id, 0)
  end
  return is_done and id or nil, is_done
end

-- Write: takes the first of those that rest; its id, or nil.
function lane_rest.pop(q, name)
  local rules = lane_rules.of(q)
  if not rules.uses_lines then
    return (try(pop_sorted, q, name))
  end
  if not rules.uses_sorted then
    return (try(pop_line, q, name))
  end
  local id, is_done = try(pop_either, q, name)
  -- What is wrong with one of the two keeps nobody in the other.
  return id or not is_done and (try(pop_line, q, name) or try(pop_sorted, q, name)) or nil
end

-- Write: the same of many lanes, from `names[first]` to `names[last]`: the ids go into `popped`, by number, and false for
-- nobody. Fails where a key holds something else; `popped.at` is the lane that it was about.
function lane_rest.pop_each(q, names, first, last, popped)
  local rules = lane_rules.of(q)
  if rules.uses_sorted and rules.uses_lines then
    for i = first, last do
      popped.at = i
      popped[i] = lane_rest.pop(q, names[i]) or false
    end
  elseif rules.uses_lines then
    local prefix = keys.line(q, "")
    for i = first, last do
      popped.at = i
      popped[i] = call("LPOP", prefix .. names[i])
    end
  else
    local prefix, id_of = keys.lane(q, ""), lane_rest.id_of
    for i = first, last do
      popped.at = i
      local member = call("ZPOPMIN", prefix .. names[i])[1]
      popped[i] = member and id_of(member) or false
    end
  end
end

-- Ids in a range of those that rest, in their order, and beside each its member; false for one that stands in the line.
function lane_rest.range(q, name, first, last)
  local rules, ids, members = lane_rules.of(q), {}, {}
  local function tell(id, member)
    ids[#ids + 1], members[#members + 1] = id, member
  end
  if not (rules.uses_lines and rules.uses_sorted) then
    local is_in_line = rules.uses_lines
    local key = is_in_line and keys.line(q, name) or keys.lane(q, name)
    for _, entry in ipairs(call(is_in_line and "LRANGE" or "ZRANGE", key, clock.text(first), clock.text(last))) do
      tell(is_in_line and entry or lane_rest.id_of(entry), not is_in_line and entry)
    end
    return ids, members
  end
  if last < 0 then
    last = lane_rest.count(q, name) + last
  end
  -- The first ones of either hold the first ones of both.
  local line = call("LRANGE", keys.line(q, name), "0", clock.text(last))
  local sorted = call("ZRANGE", keys.lane(q, name), "0", clock.text(last), "WITHSCORES")
  local in_line, in_sorted = 1, 1
  for at = 0, last do
    local id, member = line[in_line], sorted[in_sorted]
    if not id and not member then
      break
    end
    local is_in_line = id and (not member or goes_before(id, place_of(q, id), sorted[in_sorted + 1], member))
    if at >= first then
      tell(is_in_line and id or lane_rest.id_of(member), not is_in_line and member)
    end
    if is_in_line then
      in_line = in_line + 1
    else
      in_sorted = in_sorted + 2
    end
  end
  return ids, members
end

return lane_rest
