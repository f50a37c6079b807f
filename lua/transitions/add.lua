--- add: nothing -> waiting | prioritized | delayed
--- Stores a job and makes it runnable, now or later. A custom id that exists changes nothing but the counter.
--- @arg   job_id     string   empty for an automatic id
--- @arg   name       string
--- @arg   data       bytes
--- @arg   opts       bytes
--- @arg   timestamp  string=  creation time in ms; empty for the time of the call
--- @arg   delay      string=0 ms after the timestamp; 0 for none
--- @arg   priority   string=0
--- @arg   is_next    flag=    runs before all that waits
--- @again data
--- @reply added | numbered | duplicate
local adding = require("lib.adding")
local batch_adds = require("lib.batch_adds")
local clock = require("lib.clock")
local events = require("lib.events")
local keys = require("lib.keys")
local shapes = require("lib.shapes")
local signals = require("lib.signals")

-- A server is quickest at doing the same again: all records are written before the first is told of.
local function store_all(q, arg, count, taken)
  local name, data, opts, first = arg.name, arg.data, arg.opts, q.item
  local timestamp = arg.timestamp ~= "" and arg.timestamp or q.now_text
  local firsts, prefix = q.firsts, keys.job(q, "")
  local waiting, pushed, format, digits = taken.waiting, taken.pushed, string.format, clock.digits(taken.last)
  for item = first, first + count - 1 do
    q.item = item
    if item > first then
      data = firsts[item]
    end
    local number = taken.number + 1
    taken.number = number
    local id = format(digits, number)
    call("HSET", prefix .. id, "name", name, "data", data, "opts", opts, "timestamp", timestamp, "delay", "0",
      "priority", "0")
    pushed = pushed + 1
    waiting[pushed], taken.pushed = id, pushed
  end
end

-- The usual jobs: they have their numbers for ids and wait behind all others. They are `count` items from this one on,
-- which differ in their data alone. The first number, and how many, is the answer.
local function add_plain(q, arg, count)
  -- check
  if not q.can_add then
    events.check(q)
    shapes.check_one(q, "wait")
    q.can_add = true
  end

  -- write. Also where one could not be written, the others before it are told of.
  local taken = batch_adds.take_numbers(q)
  local waiting, before, name, stream = taken.waiting, taken.pushed, arg.name, q.events
  q.first_number = taken.number + 1
  signals.work(q)
  local is_done, err = pcall(store_all, q, arg, count, taken)
  for i = before + 1, taken.pushed do
    local id = waiting[i]
    call("XADD", stream, "*", "event", "added", "jobId", id, "name", name)
    call("XADD", stream, "*", "event", "waiting", "jobId", id)
  end
  return batch_adds.answer(q, count, is_done, err)
end

return function(q, arg)
  if arg.job_id == "" and arg.delay == "0" and arg.priority == "0" and not arg.is_next and not arg.lane then
    return add_plain(q, arg, q.run)
  end

  -- check
  local is_duplicate, timestamp, score = adding.check(q, arg)

  -- write
  if is_duplicate then
    batch_adds.next_number(q)
    events.capped(q, "duplicated", "jobId", arg.job_id)
    return "duplicate", arg.job_id
  end
  return "added", adding.write(q, arg, timestamp, score)
end
