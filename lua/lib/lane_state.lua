-- One lane as a call knows it, and how it lies in the store: who is out, who rests, what it has of its own. The rules
-- by which jobs move are in lanes.lua.

local jobs = require("lib.jobs")
local keys = require("lib.keys")
local queue = require("lib.queue")
local ready = require("lib.ready")
local shapes = require("lib.shapes")

local lane_state = {}

-- Digits of the sequence at the start of a member. Text of one width sorts as the numbers do.
local WIDTH = 16

-- How the lanes of this queue behave; read once per call.
function lane_state.settings(q)
  local settings = rawget(q, "lane_rules")
  if not settings then
    local row = call("HMGET", q.meta, "yoke.laneConcurrency", "yoke.laneOnRetry", "yoke.laneOnFailure", "yoke.orderingDelayMs")
    settings = {
      concurrency = tonumber(row[1]) or 1,
      skips = row[2] == "skip",
      halts = row[3] == "halt",
      ordering_delay = tonumber(row[4]) or 0,
      has_own = call("HLEN", q.lane_settings) > 0,
    }
    rawset(q, "lane_rules", settings)
  end
  return settings
end

-- Ids of any text, one after the other, each behind its length.
local function ids_of(text)
  local ids, at = {}, 1
  while text and at <= #text do
    local length, from = string.match(text, "^(%d+):()", at)
    if not length then
      break
    end
    at = from + tonumber(length)
    ids[#ids + 1] = string.sub(text, from, at - 1)
  end
  return ids
end

local function text_of(ids)
  if #ids == 1 then
    return #ids[1] .. ":" .. ids[1]
  end
  local parts = {}
  for i, id in ipairs(ids) do
    parts[i] = #id .. ":" .. id
  end
  return table.concat(parts)
end

-- What one lane has of its own: `p` paused, `h` halted, digits for its concurrency.
local function read_own(lane, text)
  lane.is_paused = text and string.find(text, "p", 1, true) ~= nil or false
  lane.is_halted = text and string.find(text, "h", 1, true) ~= nil or false
  lane.own_concurrency = text and tonumber(string.match(text, "%d+"))
end

-- The lane as this call knows it. Nobody else writes meanwhile, so it is read once.
function lane_state.open(q, name)
  local known = rawget(q, "known_lanes")
  if not known then
    known = {}
    rawset(q, "known_lanes", known)
  end
  local lane = known[name]
  if not lane then
    local settings = lane_state.settings(q)
    lane = { name = name, key = keys.lane(q, name), out = ids_of(call("HGET", q.lane_out, name)) }
    if settings.has_own then
      read_own(lane, call("HGET", q.lane_settings, name))
    end
    lane.concurrency = lane.own_concurrency or settings.concurrency
    known[name] = lane
  end
  return lane
end

function lane_state.is_blocked(lane)
  return lane.is_paused or lane.is_halted
end

-- How many rest in the lane.
function lane_state.depth(lane)
  if not lane.resting then
    lane.resting = call("ZCARD", lane.key)
  end
  return lane.resting
end

-- Follows what the call itself has added or taken.
function lane_state.count(lane, by)
  if lane.resting then
    lane.resting = lane.resting + by
  end
end

-- Check: the keys that lanes have in common.
function lane_state.check_keys(q)
  if not rawget(q, "are_lanes_checked") then
    queue.settings(q)
    shapes.check(q, "lane_waiting", "lanes", "wait")
    -- Mostly none of these exists, and one question answers for all.
    if call("EXISTS", q.lane_settings, q.lane_delayed, q.lane_held, q.prioritized, q.priority_counter) > 0 then
      shapes.check(q, "lane_settings", "lane_delayed", "lane_held")
      ready.check(q, 1)
    end
    rawset(q, "are_lanes_checked", true)
  end
end

-- Check: all that a lane may have to write when a job of it comes, goes or changes.
function lane_state.check(q, name)
  lane_state.check_keys(q)
  lane_state.depth(lane_state.open(q, name))
end

-- The queue has lanes: from now on a lookup by id, a count and a promotion have to think of them.
function lane_state.mark(q)
  local settings = queue.settings(q)
  if not settings.has_lanes then
    settings.has_lanes = true
    call("HSET", q.meta, "yoke.lanes", "1")
  end
end

function lane_state.member_of(job)
  return string.format("%0" .. WIDTH .. ".0f", tonumber(job.sequence) or 0) .. job.id
end

function lane_state.id_of(member)
  return string.sub(member, WIDTH + 1)
end

-- Where the job stands in its lane, read where the transition did not know it.
function lane_state.know_place(q, job)
  if not job.order then
    local row = jobs.fields(q, job.id, jobs.field.order, jobs.field.lane_sequence) or {}
    job.order, job.sequence = row[1] or "0", row[2] or "0"
  end
end

function lane_state.position(lane, id)
  for i, other in ipairs(lane.out) do
    if other == id then
      return i
    end
  end
  return nil
end

function lane_state.drop(lane, id)
  local at = lane_state.position(lane, id)
  if at then
    table.remove(lane.out, at)
    lane.is_changed = true
  end
  return at ~= nil
end

-- Writes down who is out. A lane with nobody left, neither out nor resting, leaves nothing behind; one that is
-- stopped stays listed, or nobody would find it.
function lane_state.save(q, lane)
  if lane.is_changed then
    lane.is_changed = false
    if #lane.out > 0 then
      call("HSET", q.lane_out, lane.name, text_of(lane.out))
    else
      call("HDEL", q.lane_out, lane.name)
    end
  end
  if #lane.out == 0 and lane_state.depth(lane) == 0 and not lane_state.is_blocked(lane) then
    call("ZREM", q.lanes, lane.name)
    if lane_state.settings(q).ordering_delay > 0 then
      call("ZREM", q.lane_held, lane.name)
    end
  end
end

-- Takes the first of those that rest; its id, or nil.
function lane_state.pop(q, lane)
  local first = call("ZPOPMIN", lane.key)
  if not first[1] then
    lane.resting = 0
    return nil
  end
  lane_state.count(lane, -1)
  local id = lane_state.id_of(first[1])
  call("ZREM", q.lane_waiting, id)
  return id
end

-- Write: nothing is left of the lane, whatever is out.
function lane_state.close(q, lane)
  lane.out, lane.is_changed = {}, false
  call("HDEL", q.lane_out, lane.name)
  call("HDEL", q.lane_settings, lane.name)
  call("ZREM", q.lane_held, lane.name)
  call("ZREM", q.lanes, lane.name)
end

-- Settle: somebody removed a resting job without knowing of lanes.
function lane_state.forget_resting(q, lane, member)
  if call("ZREM", lane.key, member) == 1 then
    lane_state.count(lane, -1)
  end
  call("ZREM", q.lane_waiting, lane_state.id_of(member))
end

-- Write: what the lane has of its own. Told what changes; nothing left leaves no field.
function lane_state.set_own(q, lane, changes)
  for name, value in pairs(changes) do
    lane[name] = value
  end
  local text = (lane.is_paused and "p" or "") .. (lane.is_halted and "h" or "")
    .. (lane.own_concurrency and tostring(lane.own_concurrency) or "")
  if text == "" then
    call("HDEL", q.lane_settings, lane.name)
  else
    call("HSET", q.lane_settings, lane.name, text)
    lane_state.settings(q).has_own = true
  end
  lane.concurrency = lane.own_concurrency or lane_state.settings(q).concurrency
  if lane_state.is_blocked(lane) then
    call("ZADD", q.lanes, "0", lane.name)
    -- What this call has let out of it has to pass the gate again.
    rawset(q, "lane_released", nil)
  end
end

return lane_state
