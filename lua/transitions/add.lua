--- add: nothing -> waiting | prioritized | delayed
--- Stores a job and makes it runnable, now or later. A custom id that exists changes nothing but the counter.
--- @arg   job_id     string   empty for an automatic id
--- @arg   name       string
--- @arg   data       bytes
--- @arg   opts       bytes
--- @arg   timestamp  string   creation time in ms; empty for the time of the call
--- @arg   delay      string   ms after the timestamp; 0 for none
--- @arg   priority   string
--- @arg   is_next    flag     runs before all that waits
--- @reply added | duplicate
local clock = require("lib.clock")
local delays = require("lib.delays")
local events = require("lib.events")
local jobs = require("lib.jobs")
local ready = require("lib.ready")

return function(q, arg)
  -- check
  events.check(q)
  local id = arg.job_id
  local is_duplicate = id ~= "" and jobs.is_taken(q, id)
  local priority = tonumber(arg.priority)
  ready.check(q, priority)
  local timestamp = arg.timestamp ~= "" and arg.timestamp or q.now_text
  local score = arg.delay ~= "0" and not is_duplicate and delays.place(q, tonumber(timestamp) + tonumber(arg.delay))

  -- write
  local counter = call("INCR", q.counter)
  if is_duplicate then
    events.capped(q, "duplicated", "jobId", id)
    return "duplicate", id
  end
  if id == "" then
    id = clock.text(counter)
  end
  arg.timestamp = timestamp
  jobs.store(q, id, arg)
  events.append(q, "added", "jobId", id, "name", arg.name)
  if score then
    delays.put(q, id, score)
  else
    ready.enqueue(q, id, priority, arg.is_next)
    events.capped(q, "waiting", "jobId", id)
  end
  return "added", id
end
