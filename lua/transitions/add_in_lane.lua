--- add_in_lane: nothing -> waiting | prioritized | delayed
--- As `add`, for a job that runs in the order of its lane. Until it is its turn it rests in the lane and counts as
--- waiting; with a delay it enters the lane when it is due.
--- @arg   data       bytes
--- @arg   opts       bytes
--- @arg   lane       string
--- @arg   name       string
--- @arg   job_id     string=  empty for an automatic id
--- @arg   timestamp  string=  creation time in ms; empty for the time of the call
--- @arg   delay      string=0 ms after the timestamp; 0 for none
--- @arg   priority   string=0
--- @arg   order      string=  any safe integer; empty for the time of the call
--- @again data opts lane
--- @reply added | numbered | duplicate
local batch_adds = require("lib.batch_adds")
local clock = require("lib.clock")
local events = require("lib.events")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local lane_arrivals = require("lib.lane_arrivals")
local add = require("transitions.add")

local LANE, ORDER = jobs.field.lane, jobs.field.order

-- Their lanes, by the number of the item; kept from call to call, only those of a run that was read belong to this one.
local names = {}

-- The items of a run behind the first say no more than their data, options and lane.
local function read_names(q, arg)
  local argv, at, first = q.argv, q.behind + 3, q.item
  names[first] = arg.lane
  for number = first + 1, first + q.run - 1 do
    names[number], at = argv[at], at + 3
  end
end

-- Check: how many items from this one on are the usual jobs, which have their numbers for ids and the time of the call for
-- their place, and rest behind another one of their lane that is out. The lanes of a run are asked about once.
local function count_resting(q, arg)
  if arg.job_id ~= "" or arg.delay ~= "0" or arg.priority ~= "0" or arg.order ~= "" then
    return 0
  end
  local first, last = q.item, q.item + q.run - 1
  if first > q.laned_to then
    read_names(q, arg)
    lane_arrivals.look(q, names, first, last)
    q.laned_to = last
  end
  return lane_arrivals.count(q, names, first, last)
end

-- Each comes to rest before its record is written: what lies in the place of a lane and is none refuses the job, and nothing
-- of it is there.
local function store_all(q, arg, count, taken, ids)
  local argv, at, name, data, opts = q.argv, q.behind, arg.name, arg.data, arg.opts
  local first, now, prefix, digits = q.item, q.now_text, keys.job(q, ""), clock.digits(taken.last)
  local timestamp = arg.timestamp ~= "" and arg.timestamp or now
  local order = jobs.order_text(now)
  for i = 1, count do
    local item = first + i - 1
    q.item = item
    if i > 1 then
      data, opts, at = argv[at + 1], argv[at + 2], at + 3
    end
    local number = taken.number + 1
    local id, lane = string.format(digits, number), names[item]
    lane_arrivals.rest(q, lane, id, number)
    taken.number = number
    call("HSET", prefix .. id, "name", name, "data", data, "opts", opts, "timestamp", timestamp, "delay", "0",
      "priority", "0", LANE, lane, ORDER, order)
    ids[i] = id
  end
end

return function(q, arg)
  -- check
  events.check(q)
  local count = count_resting(q, arg)
  if count == 0 then
    return add(q, arg)
  end

  -- write. Also where one could not be written, the others before it are told of.
  local taken, first, ids, stream = batch_adds.take_numbers(q), q.item, {}, q.events
  q.first_number = taken.number + 1
  local is_done, err = pcall(store_all, q, arg, count, taken, ids)
  if taken.number - q.first_number >= #ids then
    -- The last one rests and has no record.
    lane_arrivals.forget(q, names[q.item], clock.text(taken.number), taken.number)
  end
  for i = 1, #ids do
    local id = ids[i]
    call("XADD", stream, "*", "event", "added", "jobId", id, "name", arg.name)
    call("XADD", stream, "*", "event", "waiting", "jobId", id, "lane", names[first + i - 1])
  end
  return batch_adds.answer(q, count, is_done, err)
end
