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
local jobs = require("lib.jobs")
local shapes = require("lib.shapes")
local signals = require("lib.signals")

-- The usual jobs: they have their numbers for ids and wait behind all others. They are `count` items from this one on,
-- which differ in their data alone. The first number, and how many, is the answer.
local function add_plain(q, arg, count)
  -- check
  if not q.can_add then
    events.check(q)
    shapes.check_one(q, "wait")
    q.can_add = true
  end

  -- write
  local name, data, opts, first = arg.name, arg.data, arg.opts, q.item
  local timestamp = arg.timestamp ~= "" and arg.timestamp or q.now_text
  local firsts = q.firsts
  for item = first, first + count - 1 do
    q.item = item
    local number = batch_adds.next_number(q)
    if item == first then
      q.first_number = number
      signals.work(q)
    else
      data = firsts[item]
    end
    local id = clock.text(number)
    jobs.store_plain(q, id, name, data, opts, timestamp)
    events.added(q, id, name)
    batch_adds.push(q, id)
    events.waiting(q, id)
  end
  return "numbered", q.first_number, count
end

return function(q, arg)
  if arg.job_id == "" and arg.delay == "0" and arg.priority == "0" and not arg.is_next and not arg.lane then
    return add_plain(q, arg, q.adding and q.run or 1)
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
