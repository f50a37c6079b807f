--- free_lanes: all jobs of lanes become ordinary ones
--- For those who go back to workers that know nothing of lanes. Each lane's jobs keep their order among themselves.
--- Bounded; called again until it says that nothing is left.
--- @arg    most   int      how many jobs this call may move
--- @reply  done | more, how many were moved
local delays = require("lib.delays")
local events = require("lib.events")
local items = require("lib.items")
local jobs = require("lib.jobs")
local lane_state = require("lib.lane_state")
local lane_writing = require("lib.lane_writing")
local ready = require("lib.ready")
local schedules = require("lib.schedules")
local shapes = require("lib.shapes")

local function forget_lane_of(q, id)
  jobs.unset(q, id, jobs.field.lane, jobs.field.order, jobs.field.lane_sequence)
end

-- The jobs of one lane, as far as they go; how many.
local function free_lane(q, name, most)
  local lane = lane_state.open(q, name)
  local moved = 0
  while moved < most do
    local id = lane_state.pop(q, lane)
    if not id then
      break
    end
    local job = jobs.load(q, id)
    if job then
      forget_lane_of(q, id)
      ready.enqueue(q, id, job.priority, false)
    end
    moved = moved + 1
  end
  if lane_state.depth(q, lane) == 0 then
    for _, id in ipairs(lane_state.out(lane)) do
      if jobs.exists(q, id) then
        forget_lane_of(q, id)
      end
    end
    lane_state.close(q, lane)
  end
  return moved
end

local function free_delayed(q, most)
  local rows = most > 0 and call("ZRANGE", q.lane_delayed, 0, most - 1, "WITHSCORES") or {}
  for i = 1, #rows, 2 do
    local id = rows[i]
    local is_there = jobs.exists(q, id)
    local score = delays.place(q, tonumber(rows[i + 1]))
    call("ZREM", q.lane_delayed, id)
    lane_state.set_waiting(q, id, false)
    if is_there then
      forget_lane_of(q, id)
      delays.put(q, id, score)
    end
  end
  return #rows / 2
end

-- Those that schedulers wait for lie in `delayed`, whatever lane they are for, and no lane knows of them. How many there
-- are is up to who made the schedulers; they stay where they are.
local function free_iterations(q)
  local freed = 0
  for _, id in ipairs(schedules.pending(q)) do
    local row = jobs.fields(q, id, jobs.field.lane)
    if row and row[1] then
      forget_lane_of(q, id)
      freed = freed + 1
    end
  end
  return freed
end

return {
  run = function(q, arg)
    -- check
    events.check(q)
    shapes.check(q, "lanes", "lane_out", "lane_settings", "lane_delayed", "lane_held", "lane_waiting", "delayed", "schedules")
    ready.check(q, 0)
    ready.check(q, 1)

    -- write
    local moved = 0
    for _, name in ipairs(call("ZRANGE", q.lanes, 0, arg.most - 1)) do
      moved = moved + free_lane(q, name, arg.most - moved)
    end
    moved = moved + free_delayed(q, arg.most - moved)
    lane_writing.flush(q)
    if call("EXISTS", q.lanes, q.lane_delayed) > 0 then
      return { "more", tostring(moved) }
    end
    moved = moved + free_iterations(q)
    call("DEL", q.lane_settings, q.lane_held, q.lane_out, q.lane_waiting)
    call("HDEL", q.meta, "yoke.lanes", "yoke.laneCursor")
    return { "done", tostring(moved) }
  end,
  render = items.as_is,
}
