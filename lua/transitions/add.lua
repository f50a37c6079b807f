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
  local adding, firsts, stream, prefix = batch_adds.take_numbers(q), q.firsts, q.events, keys.job(q, "")
  local waiting, pushed, format, digits = adding.waiting, adding.pushed, string.format, clock.digits(adding.last)
  q.first_number = adding.number + 1
  signals.work(q)
  -- Written out, because a function for each line would cost a tenth of the whole.
  for item = first, first + count - 1 do
    q.item = item
    if item > first then
      data = firsts[item]
    end
    local number = adding.number + 1
    adding.number = number
    local id = format(digits, number)
    call("HSET", prefix .. id, "name", name, "data", data, "opts", opts, "timestamp", timestamp, "delay", "0",
      "priority", "0")
    call("XADD", stream, "*", "event", "added", "jobId", id, "name", name)
    pushed = pushed + 1
    waiting[pushed], adding.pushed = id, pushed
    call("XADD", stream, "*", "event", "waiting", "jobId", id)
  end
  adding.is_capped = true
  return "numbered", q.first_number, count
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
