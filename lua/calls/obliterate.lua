--- obliterate: removes a paused queue and all its jobs
--- Bounded; called again until it says that nothing is left.
--- @arg    is_forced   flag   also with active jobs and open groups
--- @arg    most        int    how many jobs this call may remove
--- @reply  done | more | not_paused | has_active | has_groups
local compensation = require("lib.compensation")
local groups = require("lib.groups")
local items = require("lib.items")
local keys = require("lib.keys")
local lane_rules = require("lib.lane_rules")
local lane_writing = require("lib.lane_writing")
local queue = require("lib.queue")
local record = require("lib.group_record")
local removal = require("lib.removal")
local shapes = require("lib.shapes")

local function empty_list(q, key, most, with_lock)
  local ids = most > 0 and call("LRANGE", key, -most, -1) or {}
  for i = #ids, 1, -1 do
    removal.discard(q, key, true, ids[i])
    if with_lock then
      call("DEL", keys.lock(q, ids[i]))
    end
  end
  return #ids
end

local function empty_zset(q, key, most)
  local ids = most > 0 and call("ZRANGE", key, 0, most - 1) or {}
  for _, id in ipairs(ids) do
    removal.discard(q, key, false, id)
  end
  return #ids
end

local function empty_lanes(q, most)
  local ids = most > 0 and call("ZRANGE", q.lane_waiting, 0, most - 1) or {}
  for _, id in ipairs(ids) do
    removal.discard(q, nil, false, id)
  end
  return #ids
end

-- Entries whose records were gone before.
local function empty_names(q, most)
  local names = most > 0 and call("ZRANGE", q.lanes, 0, most - 1) or {}
  for _, name in ipairs(names) do
    call("DEL", keys.line(q, name), keys.lane(q, name))
    call("ZREM", q.lanes, name)
  end
  return #names
end

local function empty_schedules(q, most)
  local ids = most > 0 and call("ZRANGE", q.schedules, 0, most - 1) or {}
  for _, id in ipairs(ids) do
    call("ZREM", q.schedules, id)
    call("DEL", keys.schedule(q, id))
  end
  return #ids
end

-- A group ends properly before it is forgotten: what it has done is undone.
local function empty_groups(q, most)
  local ids = most > 0 and call("ZRANGE", keys.groups(q), 0, most - 1) or {}
  for _, id in ipairs(ids) do
    local group = record.load(q, id)
    if group and record.is_open(group.state) then
      local members = groups.check_cancel(group)
      if group.state == "ACTIVE" then
        groups.compensate(group, members, "", "queue obliterated")
      end
      compensation.rush(group)
    end
    call("ZREM", keys.groups_of(q, "open"), id)
    record.erase(q, id, group and group.state)
  end
  return #ids
end

local function forget_queue(q)
  local completed, failed = keys.metrics(q, "completed"), keys.metrics(q, "failed")
  call("DEL", q.events, q.stalled_check, q.stalled, q.counter, q.priority_counter, q.marker, q.meta, q.limiter,
    completed, completed .. ":data", failed, failed .. ":data", keys.homes(q), keys.groups_of(q, "marked"),
    q.lane_delayed, q.lane_held, q.lane_out, q.lane_settings, q.lane_waiting, q.lanes)
  for _, suffix in ipairs(keys.obsolete) do
    call("DEL", keys.of_queue(q.root, suffix))
  end
end

return {
  run = function(q, arg)
    -- check
    if not queue.settings(q).is_paused then
      return { "not_paused" }
    end
    if not arg.is_forced and call("LLEN", q.active) > 0 then
      return { "has_active" }
    end
    if not arg.is_forced and call("EXISTS", keys.groups_of(q, "open")) == 1 then
      return { "has_groups" }
    end
    shapes.check(q, unpack(shapes.places))
    shapes.check(q, "schedules")
    local has_lanes = queue.settings(q).lanes or lane_rules.are_left(q)
    if has_lanes then
      shapes.check(q, "lane_waiting", "lane_delayed", "lanes")
    end

    -- write
    local left = arg.most
    left = left - empty_groups(q, left)
    -- Lanes first: one with nothing left in it puts nothing into the ready order.
    if has_lanes then
      lane_rules.mark(q)
      left = left - empty_lanes(q, left)
    end
    -- What was let out meanwhile is met in the ready order.
    lane_writing.flush(q)
    left = left - empty_list(q, q.active, left, true)
    left = left - empty_zset(q, q.delayed, left)
    left = left - empty_schedules(q, left)
    left = left - empty_zset(q, q.completed, left)
    left = left - empty_list(q, q.wait, left)
    left = left - empty_list(q, q.paused, left)
    left = left - empty_zset(q, q.prioritized, left)
    left = left - empty_zset(q, q.failed, left)
    -- Parents left waiting have lost their children with the rest.
    left = left - empty_zset(q, q.waiting_children, left)
    lane_writing.flush(q)
    if has_lanes then
      left = left - empty_names(q, left)
    end
    if left <= 0 then
      return { "more" }
    end
    forget_queue(q)
    return { "done" }
  end,
  render = items.as_is,
}
