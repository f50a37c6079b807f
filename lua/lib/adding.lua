-- How a job enters its queue: what `add` does for one, and a group for all of its members at once. The check is
-- apart from the write, so that many can be checked before the first is written.

local batch_adds = require("lib.batch_adds")
local clock = require("lib.clock")
local delays = require("lib.delays")
local events = require("lib.events")
local jobs = require("lib.jobs")
local lane_rules = require("lib.lane_rules")
local lane_times = require("lib.lane_times")
local lanes = require("lib.lanes")
local ready = require("lib.ready")
local shapes = require("lib.shapes")

local adding = {}

-- Check: whether the id is taken, the job's creation time, and its place among the delayed (false for none); for a job
-- of a lane the time at which it is due.
function adding.check(q, arg)
  events.check(q)
  local is_taken = arg.job_id ~= "" and jobs.is_taken(q, arg.job_id)
  if arg.priority == "0" then
    shapes.check_one(q, "wait")
  else
    ready.check(q, tonumber(arg.priority))
  end
  local timestamp = arg.timestamp ~= "" and arg.timestamp or q.now_text
  local due = arg.delay ~= "0" and not is_taken and tonumber(timestamp) + tonumber(arg.delay)
  if arg.lane then
    lanes.check(q, arg.lane)
    if due then
      shapes.check(q, "lane_delayed")
    end
    return is_taken, timestamp, due
  end
  return is_taken, timestamp, due and delays.place(q, due)
end

-- Write: the job is in the queue; its id. `ties` are further fields of its record, flat.
function adding.write(q, arg, timestamp, score, ties)
  local counter = batch_adds.next_number(q)
  local id = arg.job_id
  if id == "" then
    id = clock.text(counter)
  end
  if arg.lane then
    return adding.write_in_lane(q, arg, id, counter, timestamp, score, ties)
  end
  jobs.store(q, id, arg, timestamp, ties)
  events.added(q, id, arg.name)
  if score then
    delays.put(q, id, score)
    return id
  end
  if arg.priority == "0" then
    ready.push(q, id, arg.is_next)
  else
    ready.push_prioritized(q, id, tonumber(arg.priority))
  end
  events.waiting(q, id)
  return id
end

-- Write: the record of a job of a lane, which lies nowhere yet; its place there. Its number in the queue is its turn among
-- those with the same `orderMs`.
function adding.store_in_lane(q, arg, id, counter, timestamp, ties)
  local order = arg.order ~= "" and arg.order or q.now_text
  local sequence = clock.text(counter)
  ties = ties or {}
  ties[#ties + 1], ties[#ties + 2] = jobs.field.lane, arg.lane
  ties[#ties + 1], ties[#ties + 2] = jobs.field.order, jobs.order_text(order)
  -- An automatic id is that number.
  if id ~= sequence then
    ties[#ties + 1], ties[#ties + 2] = jobs.field.lane_sequence, sequence
  end
  lane_rules.mark(q, arg.priority ~= "0" and "p" or nil)
  jobs.store(q, id, arg, timestamp, ties)
  events.added(q, id, arg.name)
  return order, sequence
end

-- Write: the same job is in the queue.
function adding.write_in_lane(q, arg, id, counter, timestamp, due, ties)
  local order, sequence = adding.store_in_lane(q, arg, id, counter, timestamp, ties)
  if due then
    lane_times.put(q, id, due)
  else
    lanes.enter(q, { id = id, lane = arg.lane, priority = tonumber(arg.priority), order = order, sequence = sequence, is_new = true })
    events.capped(q, "waiting", "jobId", id, "lane", arg.lane)
  end
  return id
end

return adding
