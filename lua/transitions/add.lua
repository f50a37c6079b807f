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
local ready = require("lib.ready")
local shapes = require("lib.shapes")

-- The usual job: it has its number for an id and waits behind all others. The number itself is the answer.
local function add_plain(q, arg)
  -- check
  if not q.can_add then
    events.check(q)
    shapes.check_one(q, "wait")
    q.can_add = true
  end

  -- write
  local number = batch_adds.next_number(q)
  local id = clock.text(number)
  jobs.store(q, id, arg, arg.timestamp ~= "" and arg.timestamp or q.now_text)
  events.added(q, id, arg.name)
  ready.push(q, id, false)
  events.capped(q, "waiting", "jobId", id)
  return "numbered", number
end

return function(q, arg)
  if arg.job_id == "" and arg.delay == "0" and arg.priority == "0" and not arg.is_next and not arg.lane then
    return add_plain(q, arg)
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
